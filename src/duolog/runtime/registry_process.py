"""Run the schema registry as a child process, see `server_process.py`.

`RegistryOfBroker` is the registry that `duolog broker --registry` starts.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from duolog.runtime.errors import RegistryUnavailable
from duolog.runtime.server_of_broker import ServerOfBroker, local_url
from duolog.runtime.server_process import ServerOverBrokers, ServerProcess
from duolog.security.logins.inner import InnerLogin

# -P: do not import a directory called "duolog" in the user's working directory.
REGISTRY_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "registry", "--stop-with-stdin")


class RegistryProcess(ServerOverBrokers):
    """A schema registry in its own process; its brokers keep the schemas."""

    kind = "registry"
    program = REGISTRY_PROGRAM
    ready_line = re.compile(rb"^duolog registry ready on (https?://\S+:\d+)$")
    unavailable = RegistryUnavailable


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
