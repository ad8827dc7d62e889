"""Run the schema registry as a child process, see `server_process.py`.

`RegistryOfBroker` is the registry that `duolog broker --registry` starts.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from duolog.runtime.errors import RegistryUnavailable
from duolog.runtime.server_of_broker import ServerOfBroker, local_url
from duolog.runtime.server_process import ServerProcess
from duolog.security.logins.inner import InnerLogin

# -P: do not import a directory called "duolog" in the user's working directory.
REGISTRY_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "registry", "--stop-with-stdin")


class RegistryProcess(ServerProcess):
    """A schema registry in its own process.

    Args:
        bootstrap_servers: brokers of the cluster that keeps the schemas.
        listen: `HOST:PORT`; port 0 chooses a free port.
        arguments: further arguments of `duolog registry`.
        log_path: file for the registry's output; None for the standard error of this process.
        login: its login at a broker that runs it.
    """

    kind = "registry"
    ready_line = re.compile(rb"^duolog registry ready on (https?://\S+:\d+)$")
    unavailable = RegistryUnavailable

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
        assert self._address, "the registry was never started"
        return self._address

    def command(self) -> list[str]:
        """Return the command with the brokers and the address."""
        servers = ("--bootstrap-servers", self._bootstrap_servers, "--listen", self._listen)
        login = () if self._login is None else ("--login-from-stdin", "--cluster-users")
        return [*REGISTRY_PROGRAM, *servers, *login, *self._arguments]

    def secret(self) -> bytes:
        """Return the password at the broker."""
        return b"" if self._login is None else self._login.password.encode()


class RegistryOfBroker(ServerOfBroker):
    """The registry of a broker.

    Args:
        listen: `HOST:PORT` of the registry.
        arguments: further arguments of `duolog registry`.
        report: called with the line that the registry is ready.
        users: settings of users and rights, for a broker with an authorizer.
    """

    kind = "registry"

    def __init__(
        self,
        listen: str,
        arguments: Sequence[str],
        report: Callable[[str], None],
        users: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(report)
        self._listen = listen
        self._arguments = tuple(arguments)
        self._users = users or {}
        self.user_info = ""
        """Name and password by which the broker may ask the registry; empty if it needs none."""

    def address(self) -> str | None:
        """Return the URL for this machine; None if there is none.

        Waits for it if port 0 selects a free port.
        """
        if self._listen.endswith(":0"):
            return self.wait_ready()
        scheme = "https" if "--tls-cert" in self._arguments else "http"
        return local_url(f"{scheme}://{self._listen}")

    def process(self, bootstrap_servers: str, login: InnerLogin | None) -> ServerProcess:
        """Return the process of the registry."""
        arguments = self._arguments
        if login is not None:
            self.user_info = f"{login.user}:{login.password}"
            for name, value in self._users.items():
                arguments += ("--set", f"{name}={value}")
        return RegistryProcess(bootstrap_servers, self._listen, arguments, login=login)

    def url_of(self, process: ServerProcess) -> str:
        """Return the URL of the registry."""
        assert isinstance(process, RegistryProcess)
        return process.url
