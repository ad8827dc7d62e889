"""Run a server of Duolog as a child process.

`start` returns when the server has reported that it is ready; `stop` asks it to exit and waits. The
child never outlives this process, even after SIGKILL: its standard input is a pipe, and it stops
when the pipe closes. A secret is the first line of the pipe, where no list of processes shows it.
The child has a session of its own, so that Ctrl-C in a terminal reaches only this process, which
then stops everything in order.

Threads: use a `ServerProcess` from one thread, except for `kill`.
"""

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar, Final, Self

from duolog.core.errors import DuologError
from duolog.runtime.errors import BrokerUnavailable
from duolog.security.clients.profiles import PROFILE_VARIABLE, PROPERTIES_VARIABLE
from duolog.security.logins.inner import InnerLogin

START_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 10.0

_LOG_TAIL_BYTES: Final = 2000


class ServerProcess(ABC):
    """A server in its own process.

    Args:
        listen: `HOST:PORT`; port 0 chooses a free port. The port is kept for the next start.
        log_path: file for the server's output; None for the standard error of this process.
    """

    kind: ClassVar[str]
    """What the server is called in messages."""
    ready_line: ClassVar[re.Pattern[bytes]]
    """The line that it prints when it is ready; the first group is its address, or its URL."""
    unavailable: ClassVar[type[DuologError]] = BrokerUnavailable

    def __init__(self, listen: str, log_path: Path | None) -> None:
        self._listen = listen
        self._log_path = log_path
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._line = bytearray()
        """The part that has been read of the line that the program writes now."""
        self._owed = 0
        """Answers that the program has not given."""

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command that starts the server."""

    def secret(self) -> bytes:
        """Return a line for the server's standard input; nothing by default."""
        return b""

    def prepare(self) -> None:
        """Do what must be done before each start."""
        return

    def address_in(self, line: bytes) -> str | None:
        """Return the address in the ready line; empty if more lines follow, None if it is not one.

        A line is empty if the program has ended, or if the time is up.
        """
        match = self.ready_line.match(line)
        return match and match[1].decode()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server does not run"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start the server and wait until it accepts connections.

        Raises:
            DuologError: of the class `unavailable`: it exited, or was not ready in time. The detail
                has the end of its log.
        """
        assert not self.running, f"the {self.kind} runs already"
        self.prepare()
        self._line.clear()
        self._owed = 0
        with contextlib.ExitStack() as opened:
            log = None if self._log_path is None else opened.enter_context(_opened(self._log_path))
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                self.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env=environment_of_child(),
            )
        try:
            self._tell(self.secret())
            self._address = self._wait_until_ready(time.monotonic() + timeout_s)
        except BaseException:
            self.kill()
            raise

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int | None:
        """Ask the server to exit and wait; kill it after the timeout.

        Returns:
            Its exit status (negative: the signal that ended it), or None if it was not running.
        """
        if self._process is None:
            return None
        if self.running:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        return self._reap()

    def kill(self) -> None:
        """Kill the server with SIGKILL, as in a crash of the process."""
        if self._process is not None:
            self._process.kill()
            self._reap()

    def restart(self) -> None:
        """Stop the server if it is running, and start it again on the same address."""
        self.stop()
        self._listen = _host_and_port(self._address) or self._listen
        self.start()

    def ask(self, line: bytes, timeout_s: float = START_TIMEOUT_S) -> bytes:
        """Write a line to the program's standard input and return the line that it answers.

        Only for programs that read it, which the commands of Duolog do not. After a call that was
        not answered in time, the next one waits for that answer, too, and drops it.

        Raises:
            DuologError: of the class `unavailable`: the program has ended, or did not answer in
                time; the detail has the end of its log.
        """
        answer = b""
        if self._process is not None and self.running:
            assert self._process.stdin is not None
            deadline = time.monotonic() + timeout_s
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(line + b"\n")
                self._process.stdin.flush()
                self._owed += 1
                while self._owed and (answer := self._next_line(deadline)):
                    self._owed -= 1
        if not answer:
            raise self.unavailable(
                f"the {self.kind} does not answer", detail=self.log_tail(), hint=self._hint
            )
        return answer

    def log_tail(self) -> str:
        """Return the end of the program's log; empty if it has none."""
        if self._log_path is None:
            return ""
        tail = self._log_path.read_bytes()[-_LOG_TAIL_BYTES:]
        return tail.decode(errors="replace").strip()

    def _tell(self, secret: bytes) -> None:
        if secret:
            assert self._process is not None
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # It has ended; its output has the reason.
                self._process.stdin.write(secret + b"\n")
                self._process.stdin.flush()

    @property
    def _hint(self) -> str:
        return "" if self._log_path is None else f"See its log, {self._log_path}."

    def _wait_until_ready(self, deadline: float) -> str:
        address: str | None = ""
        while address == "":
            address = self.address_in(self._next_line(deadline))
        if address is not None:
            return address
        ended = time.monotonic() < deadline
        problem = "did not start" if ended else "was not ready in time"
        raise self.unavailable(
            f"the {self.kind} {problem}", detail=self.log_tail(), hint=self._hint
        )

    def _next_line(self, deadline: float) -> bytes:
        """Return the next line without its newline; empty if the pipe closes or the time is up."""
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while not self._line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return b""
                byte = os.read(pipe, 1)
                if not byte:
                    return b""
                self._line += byte
        line = bytes(self._line[:-1])
        self._line.clear()
        return line

    def _reap(self) -> int:
        assert self._process is not None
        status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        return status


class ServerOverBrokers(ServerProcess):
    """A server over the topics of some brokers: a schema registry, a SQL server.

    Args:
        bootstrap_servers: brokers of the cluster.
        listen: `HOST:PORT`; port 0 chooses a free port.
        arguments: further arguments of its command.
        log_path: file for the server's output; None for the standard error of this process.
        login: its login at a broker that runs it.
    """

    program: ClassVar[tuple[str, ...]]
    """The command, before its options."""

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
        assert self._address, f"the {self.kind} was never started"
        return self._address

    def command(self) -> list[str]:
        """Return the command with the brokers and the address."""
        servers = ("--bootstrap-servers", self._bootstrap_servers, "--listen", self._listen)
        login = () if self._login is None else ("--login-from-stdin", "--cluster-users")
        return [*self.program, *servers, *login, *self._arguments]

    def secret(self) -> bytes:
        """Return the password at the broker."""
        return b"" if self._login is None else self._login.password.encode()


def environment_of_child() -> dict[str, str]:
    """Return the environment without client settings: those are for another cluster.

    A server connects to the broker that this process has started, if to any.
    """
    without = {PROPERTIES_VARIABLE, PROFILE_VARIABLE}
    return {name: value for name, value in os.environ.items() if name not in without}


def _host_and_port(address: str) -> str:
    """Return `HOST:PORT` of an address, which may be a URL.

    Example:
        >>> _host_and_port("127.0.0.1:9092"), _host_and_port("https://127.0.0.1:8088/sql")
        ('127.0.0.1:9092', '127.0.0.1:8088')
    """
    return address.rpartition("://")[2].partition("/")[0]


def _opened(path: Path) -> IO[bytes]:
    return path.open("ab")
