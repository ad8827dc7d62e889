"""Run the SQL server as a child process, see `server_process.py`.

`SqlServerOfBroker` is the server that `duolog start` starts.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from duolog.runtime.errors import ServerUnavailable
from duolog.runtime.registry_process import RegistryOfBroker
from duolog.runtime.server_of_broker import ServerOfBroker
from duolog.runtime.server_process import ServerProcess
from duolog.security.logins.inner import InnerLogin

# -P: do not import a directory called "duolog" in the user's working directory.
SERVER_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "server", "--stop-with-stdin")


class SqlServerProcess(ServerProcess):
    """A SQL server in its own process.

    Args:
        bootstrap_servers: brokers of the cluster.
        listen: `HOST:PORT`; port 0 chooses a free port.
        arguments: further arguments of `duolog server`.
        log_path: file for the server's output; None for the standard error of this process.
        login: its login at a broker that runs it.
    """

    kind = "server"
    ready_line = re.compile(rb"^duolog server ready on (https?://\S+)$")
    unavailable = ServerUnavailable

    def __init__(
        self,
        bootstrap_servers: str,
        listen: str = "127.0.0.1:0",
        arguments: Sequence[str] = (),
        *,
        log_path: Path | None = None,
        login: InnerLogin | None = None,
    ) -> None:
        super().__init__(listen, log_path)
        self._login = login
        self._bootstrap_servers = bootstrap_servers
        self._arguments = tuple(arguments)

    @property
    def url(self) -> str:
        """The URL of the last start."""
        assert self._address, "the server was never started"
        return self._address

    def command(self) -> list[str]:
        """Return the command with the brokers and the address."""
        servers = ("--bootstrap-servers", self._bootstrap_servers, "--listen", self._listen)
        login = () if self._login is None else ("--login-from-stdin", "--cluster-users")
        return [*SERVER_PROGRAM, *servers, *login, *self._arguments]

    def secret(self) -> bytes:
        """Return the password at the broker."""
        return b"" if self._login is None else self._login.password.encode()


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
            for name, value in self._users.items():
                arguments += ("--set", f"{name}={value}")
        return SqlServerProcess(bootstrap_servers, self._listen, arguments, login=login)

    def url_of(self, process: ServerProcess) -> str:
        """Return the URL of the server."""
        assert isinstance(process, SqlServerProcess)
        return process.url
