"""The process that compacts, as the broker sees it: started when there is work, ended when idle.

It is asked and answers by lines. When it dies, waiting callers get an error, and the next job
restarts it. It ends with the broker: its standard input does, and the kernel kills it where that
can be asked for.

Thread: the broker's loop.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from duolog.core.operating_system.polling import READ
from duolog.log.compaction.job import STOP, Answer, CompactionJob, decode_answer

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Loop

logger = logging.getLogger(__name__)

WORKER_COMMAND: Final = (sys.executable, "-P", "-m", "duolog.log.compaction.worker")
_READ_BYTES: Final = 64 * 1024
_STOP_SECONDS: Final = 5.0


class CleanerProcess:
    """Runs one job at a time.

    `on_answer` is called with each answer; `on_death` when the process ends with a job at hand.
    """

    def __init__(
        self, loop: "Loop", on_answer: Callable[[Answer], None], on_death: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._on_answer = on_answer
        self._on_death = on_death
        self._process: subprocess.Popen[bytes] | None = None
        self._lines = b""
        self._busy = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def run(self, job: CompactionJob) -> None:
        """Give a job to the process, which is started if need be.

        Raises:
            OSError: it cannot be started.
        """
        if self._process is None:
            self._start()
        self._busy = True
        self.say(job.encode())

    def say(self, line: str) -> None:
        """Send a line."""
        process = self._process
        if process is None or process.stdin is None:
            return
        with suppress(BrokenPipeError):  # It died; its standard output shows it.
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()

    def cancel(self) -> None:
        """End the job at hand; the process goes with it, as it may be in the midst of a segment."""
        self._end(kill=True)

    def close(self) -> None:
        """End the process; idle or not."""
        self.say(STOP)
        self._end(kill=self._busy)

    def _start(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [*WORKER_COMMAND, str(os.getpid())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        if sys.platform == "win32":
            raise AssertionError("the broker does not run on Windows")
        descriptor = self._process.stdout.fileno()
        os.set_blocking(descriptor, False)
        self._lines = b""
        self._loop.register(descriptor, READ, self._on_readable)
        logger.info("started the compaction process", extra={"pid": self._process.pid})

    def _on_readable(self, _events: int) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            data = os.read(self._process.stdout.fileno(), _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            busy = self._busy
            self._end(kill=True)
            if busy:
                self._on_death()
            return
        *lines, self._lines = (self._lines + data).split(b"\n")
        for line in lines:
            if self._busy:
                self._on_answer(decode_answer(line.decode()))

    def finished(self) -> None:
        """Note that the job is done: if the process ends now, no caller waits for it."""
        self._busy = False

    def _end(self, *, kill: bool) -> None:
        process, self._process = self._process, None
        self._busy = False
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        self._loop.unregister(process.stdout.fileno())
        if kill:
            process.kill()
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
