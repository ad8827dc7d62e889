"""Run the schema registry as a child process, see `server_process.py`.

`RegistryOfBroker` is the registry that `duolog broker --registry` starts. It is a process and not a
thread of the broker: it has a core of its own, and cannot end the broker by a crash.
"""

import logging
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from duolog.core.errors import DuologError
from duolog.runtime.errors import RegistryUnavailable
from duolog.runtime.server_process import ServerProcess
from duolog.security.logins.inner import InnerLogin

logger = logging.getLogger(__name__)

# -P: do not import a directory called "duolog" in the user's working directory.
REGISTRY_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "registry", "--stop-with-stdin")

_RESTART_S: Final = 1.0
_STOP_S: Final = 15.0


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
    ready_line = re.compile(rb"^duolog registry ready on http://(\S+:\d+)$")
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
        return f"http://{self._address}"

    def command(self) -> list[str]:
        """Return the command with the brokers and the address."""
        servers = ("--bootstrap-servers", self._bootstrap_servers, "--listen", self._listen)
        login = () if self._login is None else ("--login-from-stdin", "--cluster-users")
        return [*REGISTRY_PROGRAM, *servers, *login, *self._arguments]

    def secret(self) -> bytes:
        """Return the password at the broker."""
        return b"" if self._login is None else self._login.password.encode()


class RegistryOfBroker:
    """A registry that runs as long as its broker.

    If it does not start, the broker stops: the user asked for both. If it ends later, it is started
    again.

    Args:
        listen: `HOST:PORT` of the registry.
        arguments: further arguments of `duolog registry`.
        report: called with the line that the registry is ready.
        users: settings of users and rights, for a broker with an authorizer.
    """

    def __init__(
        self,
        listen: str,
        arguments: Sequence[str],
        report: Callable[[str], None],
        users: Mapping[str, str] | None = None,
    ) -> None:
        self._listen = listen
        self._arguments = tuple(arguments)
        self._report = report
        self._users = users or {}
        self.user_info = ""
        """Name and password by which the broker may ask the registry; empty if it needs none."""
        self.url: str | None = None
        """The address for clients of this machine; None until the registry is ready."""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(
        self,
        bootstrap_servers: str,
        failed: Callable[[], None],
        login: InnerLogin | None = None,
    ) -> None:
        """Start the registry in the background; call `failed` if it does not start."""
        arguments = self._arguments
        if login is not None:
            self.user_info = f"{login.user}:{login.password}"
            for name, value in self._users.items():
                arguments += ("--set", f"{name}={value}")
        process = RegistryProcess(bootstrap_servers, self._listen, arguments, login=login)
        self._thread = threading.Thread(
            target=self._run, args=(process, failed), name="registry", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop the registry and wait for it."""
        self._stopping.set()
        if self._thread is not None:
            # A registry that is still starting takes some tenths of a second, or waits for the
            # broker. It ends with this process in any case.
            self._thread.join(_STOP_S)

    def _run(self, process: RegistryProcess, failed: Callable[[], None]) -> None:
        try:
            process.start()
        except DuologError as error:
            # The registry has written the reason itself.
            logger.warning("the broker stops with its registry", extra={"reason": error.one_line()})
            failed()
            return
        self.url = process.url
        self._report(f"duolog registry ready on {process.url}")
        while not self._stopping.wait(_RESTART_S):
            if not process.running:
                logger.warning("registry has ended; starting it again")
                try:
                    process.restart()
                except DuologError as error:
                    logger.warning("registry did not start", extra={"reason": error.one_line()})
        process.stop()
