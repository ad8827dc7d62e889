"""Run the broker as a child process.

`start` returns when the broker has reported that it is ready; `stop` asks it to exit and waits. The
child never outlives this process, even after SIGKILL: its standard input is a pipe that is never
written to, and it stops when the pipe closes. It has a session of its own, so that Ctrl-C in a
terminal reaches only this process, which then stops everything in order.

Threads: use a `BrokerProcess` from one thread.
"""

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from duolog.core.operating_system.support import ensure_broker_supported
from duolog.runtime.errors import BrokerUnavailable

START_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 10.0

# -P: do not import a directory called "duolog" in the user's working directory.
BROKER_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "broker", "--stop-with-stdin")

_READY_LINE: Final = re.compile(rb"^duolog broker ready on (\S+:\d+)$")
_LOG_TAIL_BYTES: Final = 2000


class BrokerProcess:
    """A broker in its own process, over one data directory.

    Args:
        data_dir: directory of the broker's log; created if missing.
        listen: `HOST:PORT`; port 0 chooses a free port.
        settings: broker settings by name, as strings.
        log_path: file for the broker's output; by default next to the data directory.
        program: the command, before `--data`, `--listen` and `--set`.
    """

    def __init__(
        self,
        data_dir: Path | str,
        listen: str = "127.0.0.1:0",
        settings: Mapping[str, str] | None = None,
        *,
        log_path: Path | None = None,
        program: Sequence[str] = BROKER_PROGRAM,
    ) -> None:
        self.data_dir = Path(data_dir).resolve()
        log_path = log_path or self.data_dir.with_name(f"{self.data_dir.name}.log")
        self.log_path = log_path.resolve()
        self._listen = listen
        self._settings = dict(settings or {})
        self._program = tuple(program)
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._line = bytearray()
        """The part that has been read of the line that the program writes now."""
        self._owed = 0
        """Answers that the program has not given."""

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
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` of the last start."""
        assert self._address, "the broker was never started"
        return self._address

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker does not run"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start the broker and wait until it accepts connections.

        Raises:
            BrokerUnavailable: it exited or was not ready in time; the detail has the end of its
                log.
            ConfigError: the broker does not run on this system.
        """
        ensure_broker_supported()
        assert not self.running, "the broker runs already"
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._line.clear()
        self._owed = 0
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._address = self._wait_until_ready(time.monotonic() + timeout_s)
        except BaseException:
            self.kill()
            raise

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int | None:
        """Ask the broker to exit and wait; kill it after the timeout.

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
        """Kill the broker with SIGKILL, as in a crash of the process."""
        if self._process is not None:
            self._process.kill()
            self._reap()

    def restart(self) -> None:
        """Stop the broker if it is running, and start it again on the same address."""
        self.stop()
        self._listen = self._address or self._listen
        self.start()

    def ask(self, line: bytes, timeout_s: float = START_TIMEOUT_S) -> bytes:
        """Write a line to the program's standard input and return the line that it answers.

        Only for programs that read it, which `duolog broker` does not. After a call that was not
        answered in time, the next one waits for that answer, too, and drops it.

        Raises:
            BrokerUnavailable: the program has ended, or did not answer in time; the detail has the
                end of its log.
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
            raise BrokerUnavailable(
                "the broker does not answer",
                detail=self.log_tail(),
                hint=f"See its log, {self.log_path}.",
            )
        return answer

    def log_tail(self) -> str:
        """Return the end of the program's log."""
        tail = self.log_path.read_bytes()[-_LOG_TAIL_BYTES:]
        return tail.decode(errors="replace").strip()

    def _command(self) -> list[str]:
        command = [*self._program, "--data", str(self.data_dir), "--listen", self._listen]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        return command

    def _wait_until_ready(self, deadline: float) -> str:
        line = self._next_line(deadline)
        if match := _READY_LINE.match(line):
            return match[1].decode()
        ended = time.monotonic() < deadline
        raise BrokerUnavailable(
            "the broker did not start" if ended else "the broker was not ready in time",
            detail=self.log_tail(),
            hint=f"See its log, {self.log_path}.",
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
