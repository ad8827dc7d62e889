"""Match regular expressions of clients in a helper process, so that none blocks the broker.

    match ─▶ thread ─ lines of JSON ─▶ helper process
      done ◀─ loop ◀─ thread ◀────────────────┘

A thread alone does not suffice: the binding of RE2 holds the interpreter's lock while it compiles,
and an expression of 30 KB can take 6 s to compile. One job may use `PROCESSOR_S` of processor time;
the next one starts a new process if this one was ended for that reason. A process that got no
processor time at all for `_STILL_S` is stopped by something else, such as SIGSTOP: it is killed,
too.

Threads: `match` and `close` belong to the loop; the process belongs to a thread of its own.
"""

import json
import logging
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from duolog.broker.event_loop.background import BesideTheLoop
from duolog.core.errors import KafkaError
from duolog.core.operating_system.proc_files import processor_ns
from duolog.core.units import KIB
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Loop

logger = logging.getLogger(__name__)

WORKER_COMMAND: Final = (sys.executable, "-P", str(Path(__file__).with_name("worker.py")))
PROCESSOR_S: Final = 10.0
_STILL_S: Final = 60.0
_TEXTS_BYTES: Final = 64 * KIB
"""So much is encoded in one piece, and holds the interpreter's lock for less than a millisecond."""

Done = Callable[[frozenset[str] | None, Exception | None], None]
"""Takes the texts that match, or the reason why there is no result."""


class InvalidExpression(KafkaError):
    """An expression that RE2 refuses, or that takes too long."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, code=ErrorCode.INVALID_REGULAR_EXPRESSION)


class HelperFailed(KafkaError):
    """The helper process could not be started, or ended for a reason of its own; try again."""

    def __init__(self, reason: object) -> None:
        super().__init__(
            f"helper process for regular expressions failed: {reason}",
            code=ErrorCode.COORDINATOR_NOT_AVAILABLE,
            retriable=True,
        )


class Expressions:
    """Matches expressions, one after the other."""

    def __init__(self, loop: "Loop", processor_s: float = PROCESSOR_S) -> None:
        self._beside = BesideTheLoop(loop)
        self._helper = _Helper(processor_s)

    @property
    def pid(self) -> int | None:
        """The helper process, or None if there is none."""
        return self._helper.pid

    def match(self, pattern: str, texts: Iterable[str], done: Done) -> None:
        """Find the texts that `pattern` matches as a whole, and pass them to `done` on the loop.

        `done` gets an `InvalidExpression` if the pattern is invalid or takes too long, and a
        `HelperFailed` if the process fails. `texts` is read on the thread.
        """
        self._beside.call(lambda: self._helper.match(pattern, texts), done)

    def close(self) -> None:
        """End the helper process, at work or not."""
        self._helper.kill()
        self._beside.close()
        self._helper.collect()


class _Helper:
    """The process, as its thread sees it; `kill` belongs to the loop."""

    def __init__(self, processor_s: float) -> None:
        self._processor_s = processor_s
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def match(self, pattern: str, texts: Iterable[str]) -> frozenset[str]:
        try:
            if self._process is not None and self._process.poll() is not None:
                self.collect()  # It was killed while it had nothing to do.
            reason = self._ask({"pattern": pattern, "processor_s": self._processor_s})
            if reason is not None:
                raise InvalidExpression(str(reason))
            found: list[str] = []
            for some in _pieces(texts):
                indexes = self._ask(some)
                assert isinstance(indexes, list)
                found += (some[index] for index in indexes)
        except (OSError, EOFError) as error:
            raise self._ended(pattern) or HelperFailed(error) from error
        return frozenset(found)

    def kill(self) -> None:
        """Kill the process, and start no other one."""
        with self._starting:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    def collect(self) -> int | None:
        """Wait for the end of the process; return its exit code, or None if there is none."""
        with self._starting:
            process, self._process = self._process, None
        if process is None:
            return None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()
        process.stdout.close()
        return process.returncode

    def _ask(self, asked: object) -> object:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        _await_output(process)
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the process ended")
        answer: object = json.loads(line)
        return answer

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._starting:
            if self._closed:
                raise EOFError("the broker stops")
            self._process = process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                [*WORKER_COMMAND, str(os.getpid())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        logger.info("started the process that matches expressions", extra={"pid": process.pid})
        return process

    def _ended(self, pattern: str) -> InvalidExpression | None:
        """Collect the process; return an error if the expression took too long."""
        if sys.platform == "win32":
            raise AssertionError("the broker does not run on Windows")
        if self.collect() != -signal.SIGPROF:
            return None
        logger.warning(
            "ended an expression that took too long",
            extra={"pattern": pattern[:100], "processor_s": self._processor_s},
        )
        return InvalidExpression(f"it takes more than {self._processor_s:g} s of processor time")


def _await_output(process: "subprocess.Popen[bytes]") -> None:
    """Return when there is something to read, or the end; kill a process that makes no progress."""
    assert process.stdout is not None
    if sys.platform == "win32":
        raise AssertionError("the broker does not run on Windows")
    ready = select.poll()
    ready.register(process.stdout, select.POLLIN)
    ran_before = -1
    while not ready.poll(_STILL_S * 1000):
        ran = processor_ns(process.pid)
        if ran == ran_before:
            logger.warning("killed a hung process", extra={"pid": process.pid})
            process.kill()
            return
        ran_before = -1 if ran is None else ran


def _pieces(texts: Iterable[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    size = 0
    for text in texts:
        piece.append(text)
        size += len(text)
        if size >= _TEXTS_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
