import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from conformance.kafka.certificates import Authority
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.connection import LOST_S, Connection, ensure_reachable
from duolog.core.addresses import split_address
from duolog.core.errors import ConfigError, KafkaError
from duolog.runtime.broker_probe import ensure_reachable as probe_reachable
from duolog.runtime.errors import BrokerUnavailable
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity
from unit.runtime.fake_broker import serving


class ClientError:
    """librdkafka's error for a broker that went away, as its callback brings it."""

    def code(self) -> int:
        return -195


class Now:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server


def address(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


def free_address() -> str:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return address(server)


def test_one_reachable_server_is_enough(listening: socket.socket) -> None:
    ensure_reachable(f"{free_address()},{address(listening)}")


def test_unreachable_servers_are_reported_at_once_with_the_reason_of_each() -> None:
    first, second = free_address(), free_address()
    began = time.monotonic()

    with pytest.raises(KafkaError) as caught:
        ensure_reachable(f"{first},{second}")

    assert time.monotonic() - began < 14
    assert caught.value.code == -195
    assert f"{first}: connection refused; {second}: connection refused" in caught.value.detail


def test_a_listener_that_requires_a_login_is_reported_at_once() -> None:
    with serving() as broker:
        broker.authenticates = True
        with pytest.raises(KafkaError) as caught:
            ensure_reachable(broker.address)

    assert caught.value.detail.endswith("closes the connection of a client that has not logged in")
    assert "--client-properties" in caught.value.hint


@pytest.mark.parametrize("text", ["host:port", ":9092", "host:70000", "a:b:c"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a broker address"):
        ensure_reachable(text)


def test_a_port_may_be_left_out() -> None:
    assert split_address("kafka") == ("kafka", 9092)
    assert split_address("[::1]") == ("::1", 9092)


def test_a_lost_connection_and_its_return_are_reported_once(
    listening: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    now = Now()
    server = address(listening)
    listening.close()
    connection = Connection(server, now)

    connection.suspect(ClientError())
    for now.s in (0.0, 1.0, 2.0):
        connection.look()
    with serving(int(server.rpartition(":")[2])):
        now.s = 3.0
        connection.look()
        now.s = 4.0
        connection.look()

    reported = capsys.readouterr().err.splitlines()
    assert len(reported) == 2
    assert "lost the connection" in reported[0]
    assert "answers again" in reported[1]


def test_a_connection_that_stays_lost_ends_the_command() -> None:
    now = Now()
    connection = Connection(free_address(), now)
    connection.suspect(ClientError())
    connection.look()

    now.s = LOST_S

    with pytest.raises(KafkaError, match="no broker answers"):
        connection.look()


def test_a_closed_idle_connection_is_not_reported_as_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving() as broker:
        connection = Connection(broker.address)

        connection.suspect(ClientError())
        connection.look()

    assert capsys.readouterr().err == ""


def test_a_broker_that_hangs_is_lost_though_its_connections_are_accepted(
    listening: socket.socket, capsys: pytest.CaptureFixture[str]
) -> None:
    """`consume` waited without a word."""
    connection = Connection(address(listening), answer_s=0.1)

    connection.suspect(ClientError())
    connection.look()

    assert "lost the connection" in (reported := capsys.readouterr().err)
    assert "accepts connections but does not answer" in reported


TLS = [
    ClientSecurity("SSL"),
    ClientSecurity("SASL_SSL", "PLAIN", username="ann", password="p"),  # noqa: S106 - of no one
]


@pytest.mark.parametrize("security", TLS, ids=["SSL", "SASL_SSL"])
def test_a_broker_with_tls_is_not_lost(
    security: ClientSecurity,
    listening: socket.socket,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Such a broker closes unencrypted connections; the client used to end 30 s after one idle connection."""
    with shaking_hands(listening, tmp_path):
        connection = Cluster.of(Brokers(address(listening), security)).connection()

        connection.suspect(ClientError())
        connection.look()

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("security", TLS, ids=["SSL", "SASL_SSL"])
def test_a_broker_without_tls_is_named_to_a_client_with_tls(security: ClientSecurity) -> None:
    with serving() as broker, pytest.raises(BrokerUnavailable) as caught:
        probe_reachable(Brokers(broker.address, security), patience_s=0.1)

    assert "TLS handshake" in caught.value.detail
    assert "security.protocol" in caught.value.hint


@contextmanager
def shaking_hands(server: socket.socket, directory: Path) -> Iterator[None]:
    """Answer the first connection as a broker with TLS."""
    server.settimeout(60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Authority(directory).sign("broker"))

    def answer() -> None:
        connection, _ = server.accept()
        with connection, context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(1024)

    thread = Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        thread.join()
