"""Run the SQL server as a child process, see `server_process.py`.

`SqlServerOfBroker` is the server that `duolog start` starts.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from duolog.runtime.errors import ServerUnavailable
from duolog.runtime.registry_process import RegistryOfBroker
from duolog.runtime.server_of_broker import ServerOfBroker
from duolog.runtime.server_process import ServerOverBrokers, ServerProcess
from duolog.security.logins.inner import InnerLogin

# -P: do not import a directory called "duolog" in the user's working directory.
SERVER_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "server", "--stop-with-stdin")


class SqlServerProcess(ServerOverBrokers):
    """A SQL server in its own process."""

    kind = "server"
    program = SERVER_PROGRAM
    ready_line = re.compile(rb"^duolog server ready on (https?://\S+)$")
    unavailable = ServerUnavailable
    console_line: ClassVar[re.Pattern[bytes]] = re.compile(rb"^duolog console: (https?://\S+)$")
    _ready: str | None = None
    console = ""
    """The address of the console of the last start, with its token if there are no users."""

    def prepare(self) -> None:
        """Forget the lines of the last start."""
        self._ready = None

    def address_in(self, line: bytes) -> str | None:
        """Return the URL of the server, after the line of its console."""
        if self._ready is None:
            self._ready = super().address_in(line)
            return None if self._ready is None else ""
        match = self.console_line.match(line)
        self.console = match[1].decode() if match else ""
        return self._ready if match else None


class SqlServerOfBroker(ServerOfBroker):
    """The SQL server of a broker.

    Args:
        listen: `HOST:PORT` of the server.
        arguments: further arguments of `duolog server`.
        report: called with the line that the server is ready.
        registry: the broker's own registry, for SQL; None if there is none.
        users: settings of users and rights, for a broker with an authorizer.
    """

    kind = "server"

    def __init__(
        self,
        listen: str,
        arguments: Sequence[str],
        report: Callable[[str], None],
        registry: RegistryOfBroker | None = None,
        users: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(report)
        self._listen = listen
        self._arguments = tuple(arguments)
        self._registry = registry
        self._users = users or {}

    def process(self, bootstrap_servers: str, login: InnerLogin | None) -> ServerProcess:
        """Return the process of the server; with a registry on a free port, wait for its port."""
        arguments = self._arguments
        if self._registry is not None and (url := self._registry.address()) is not None:
            arguments += ("--registry", url)
        if login is not None:
            if self._registry is not None:
                arguments += ("--registry-of-broker",)
            for name, value in self._users.items():
                arguments += ("--set", f"{name}={value}")
        return SqlServerProcess(bootstrap_servers, self._listen, arguments, login=login)

    def url_of(self, process: ServerProcess) -> str:
        """Return the URL of the server."""
        assert isinstance(process, SqlServerProcess)
        return process.url

    def lines(self, process: ServerProcess) -> tuple[str, ...]:
        """Return the line of the server, and that of its console."""
        assert isinstance(process, SqlServerProcess)
        return (*super().lines(process), f"duolog console: {process.console}")
