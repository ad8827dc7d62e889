"""Servers that run as long as the broker which starts them: a schema registry, a SQL server.

Each is a process and not a thread of the broker: it has a core of its own, and cannot end the
broker by a crash. See `duolog.broker.companion` for their login.
"""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from duolog.core.errors import DuologError
from duolog.runtime.server_process import ServerProcess
from duolog.security.logins.inner import InnerLogin

logger = logging.getLogger(__name__)

_RESTART_S: Final = 1.0
_STOP_S: Final = 15.0


class ServerOfBroker(ABC):
    """A server of a broker.

    If it does not start, the broker, or the command that starts it for another broker, stops: the
    user asked for both. If it ends later, it is started again.

    Args:
        report: called with the line that the server is ready.
    """

    kind: ClassVar[str]
    """What the server is called in messages."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self.url: str | None = None
        """The address for clients of this machine; None until the server is ready."""
        self._stopping = threading.Event()
        self._ready_or_failed = threading.Event()
        self._thread: threading.Thread | None = None

    @abstractmethod
    def process(self, bootstrap_servers: str, login: InnerLogin | None) -> ServerProcess:
        """Return the process of the server, not started yet; called once, on its own thread."""

    @abstractmethod
    def url_of(self, process: ServerProcess) -> str:
        """Return the URL of a process that is ready."""

    def lines(self, process: ServerProcess) -> tuple[str, ...]:
        """Return what is reported of a process that is ready."""
        return (f"duolog {self.kind} ready on {self.url_of(process)}",)

    def start(
        self,
        bootstrap_servers: str,
        failed: Callable[[], None],
        login: InnerLogin | None = None,
    ) -> None:
        """Start the server in the background; call `failed` if it does not start."""
        self._thread = threading.Thread(
            target=self._run,
            args=(bootstrap_servers, failed, login),
            name=self.kind,
            daemon=True,
        )
        self._thread.start()

    def wait_ready(self) -> str | None:
        """Wait until the server is ready, and return its URL; None if it did not start."""
        self._ready_or_failed.wait()
        return self.url

    def stop(self) -> None:
        """Stop the server and wait for it."""
        self._stopping.set()
        self._ready_or_failed.set()
        if self._thread is not None:
            # A server that is still starting takes some tenths of a second, or waits for the
            # broker. It ends with this process in any case.
            self._thread.join(_STOP_S)

    def _run(
        self, bootstrap_servers: str, failed: Callable[[], None], login: InnerLogin | None
    ) -> None:
        process = self.process(bootstrap_servers, login)
        if self._stopping.is_set():
            return
        try:
            process.start()
        except (DuologError, OSError) as error:
            # The server has written the reason itself, if there was memory for its process.
            logger.warning(
                "stopping, because a server did not start",
                extra={"server": self.kind, "reason": _reason(error)},
            )
            self._ready_or_failed.set()
            failed()
            return
        url = self.url_of(process)
        self.url = local_url(url)
        self._ready_or_failed.set()
        for line in self.lines(process):
            self._report(line)
        while not self._stopping.wait(_RESTART_S):
            if not process.running:
                logger.warning("server has ended; starting it again", extra={"server": self.kind})
                try:
                    process.restart()
                except (DuologError, OSError) as error:
                    logger.warning(
                        "server did not start",
                        extra={"server": self.kind, "reason": _reason(error)},
                    )
        process.stop()


class ServersOfBroker:
    """Several servers of one broker, stopped in the reverse order of their start."""

    def __init__(self, servers: Sequence[ServerOfBroker]) -> None:
        self._servers = tuple(servers)

    def start(
        self,
        bootstrap_servers: str,
        failed: Callable[[], None],
        login: InnerLogin | None = None,
    ) -> None:
        """Start all servers in the background; see `ServerOfBroker.start`."""
        for server in self._servers:
            server.start(bootstrap_servers, failed, login)

    def stop(self) -> None:
        """Stop all servers, the last one first: it may be a client of those before it."""
        for server in reversed(self._servers):
            server.stop()


def local_url(url: str) -> str:
    """Return the URL by which this machine reaches a server that listens on all addresses.

    The certificate of a server has the addresses of loopback, and not `0.0.0.0`.

    Example:
        >>> local_url("https://0.0.0.0:8081"), local_url("http://[::]:1"), local_url("http://a:1")
        ('https://127.0.0.1:8081', 'http://[::1]:1', 'http://a:1')
    """
    return url.replace("://0.0.0.0:", "://127.0.0.1:").replace("://[::]:", "://[::1]:")


def _reason(error: DuologError | OSError) -> str:
    return error.one_line() if isinstance(error, DuologError) else str(error)
