"""Servers that a broker starts: their addresses, and starts that fail."""

import threading

import pytest

from duolog.core.errors import DuologError
from duolog.runtime.errors import ServerUnavailable
from duolog.runtime.registry_process import RegistryOfBroker
from duolog.runtime.server_of_broker import ServerOfBroker
from duolog.runtime.server_process import ServerProcess
from duolog.runtime.sql_server_process import SqlServerOfBroker, SqlServerProcess
from duolog.security.logins.inner import InnerLogin
from waiting import DEADLINE_S


@pytest.mark.parametrize(
    ("listen", "more", "address"),
    [
        ("127.0.0.1:8081", (), "http://127.0.0.1:8081"),
        ("0.0.0.0:8081", (), "http://127.0.0.1:8081"),
        ("0.0.0.0:8081", ("--tls-cert", "server.pem"), "https://127.0.0.1:8081"),
        ("[::]:8081", ("--tls-cert", "server.pem"), "https://[::1]:8081"),
        ("10.0.0.7:8081", (), "http://10.0.0.7:8081"),
    ],
)
def test_the_sql_server_asks_a_registry_by_an_address_of_its_certificate(
    listen: str, more: tuple[str, ...], address: str
) -> None:
    registry = RegistryOfBroker(listen, more, print)
    server = SqlServerOfBroker("127.0.0.1:8088", (), print, registry)

    command = server.process("127.0.0.1:9092", None).command()

    assert command[command.index("--registry") + 1] == address


class Failing(SqlServerProcess):
    """A process that cannot be started."""

    error: BaseException

    def start(self, timeout_s: float = 0.0) -> None:
        del timeout_s
        raise self.error


class Server(ServerOfBroker):
    kind = "server"

    def __init__(self, error: BaseException) -> None:
        super().__init__(print)
        self._error = error

    def process(self, bootstrap_servers: str, login: InnerLogin | None) -> ServerProcess:
        del login
        made = Failing(bootstrap_servers)
        made.error = self._error
        return made

    def url_of(self, process: ServerProcess) -> str:
        raise AssertionError(process)


@pytest.mark.parametrize(
    "error", [ServerUnavailable("the server did not start"), OSError(12, "Cannot allocate memory")]
)
def test_a_server_that_does_not_start_stops_its_broker(error: DuologError | OSError) -> None:
    failed = threading.Event()
    server = Server(error)

    server.start("127.0.0.1:9092", failed.set)

    assert failed.wait(DEADLINE_S)
    assert server.wait_ready() is None
    server.stop()
