"""The broker as a child process.

Its life: `start` returns when the broker has said that it is ready; `stop` asks it to end and waits.
The child never outlives this process, not even after SIGKILL: the child's standard input is a pipe
that nobody writes to, and the child stops when the pipe ends. The child has a session of its own,
so that Ctrl-C in a terminal reaches this process alone, which then stops things in their order.

Threads: one `BrokerProcess` is used from one thread.
"""

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
from typing import IO, Final, Self

from duolog.runtime.errors import BrokerUnavailable

START_TIMEOUT_S: Final = 30.0
STOP_TIMEOUT_S: Final = 10.0

# -P: a directory called "duolog" in the user's working directory is not imported.
BROKER_PROGRAM: Final = (sys.executable, "-P", "-m", "duolog", "broker", "--stop-with-stdin")

_READY_LINE: Final = re.compile(rb"^duolog broker ready on (\S+:\d+)$")
_LOG_TAIL_BYTES: Final = 2000


class BrokerProcess:
    """A broker in a process of its own, over one data directory.

    Args:
        data_dir: where the broker keeps its log; made if it is missing.
        listen: `HOST:PORT`; port 0 takes a free one.
        settings: broker settings by name, as texts.
        log_path: where the broker's own log lines go; by default beside the data directory.
        program: what is started, before `--data`, `--listen` and `--set`.
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
        """`HOST:PORT` of the broker that was started last."""
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
        """Start the broker and wait until it takes connections.

        Raises:
            BrokerUnavailable: it ended, or was not ready in time; the detail has its last words.
        """
        assert not self.running, "the broker runs already"
        self.data_dir.mkdir(parents=True, exist_ok=True)
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
        """Ask the broker to end and wait; kill it when it does not.

        Returns:
            Its exit status (negative: the signal that ended it), or None if it did not run.
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
        """End the broker with SIGKILL: what a crash of its process looks like."""
        if self._process is not None:
            self._process.kill()
            self._reap()

    def restart(self) -> None:
        """Stop the broker if it runs and start it anew, on the address that it had."""
        self.stop()
        self._listen = self._address or self._listen
        self.start()

    def _command(self) -> list[str]:
        command = [*self._program, "--data", str(self.data_dir), "--listen", self._listen]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        return command

    def _wait_until_ready(self, deadline: float) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        line = _read_line(self._process.stdout, deadline)
        if match := _READY_LINE.match(line):
            return match[1].decode()
        ended = time.monotonic() < deadline
        raise BrokerUnavailable(
            "the broker did not start" if ended else "the broker was not ready in time",
            detail=self._last_words(),
            hint=f"Its log is {self.log_path}.",
        )

    def _last_words(self) -> str:
        tail = self.log_path.read_bytes()[-_LOG_TAIL_BYTES:]
        return tail.decode(errors="replace").strip()

    def _reap(self) -> int:
        assert self._process is not None
        status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        return status


def _read_line(pipe: IO[bytes], deadline: float) -> bytes:
    """Return the first line without its end; less when the pipe or the time ends before it."""
    line = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                break
            byte = os.read(pipe.fileno(), 1)
            if not byte:
                break
            line += byte
    return bytes(line.rstrip(b"\n"))
