"""Process that calls functions for the kernel until its standard input ends.

Start it with `python -m duolog.functions.worker`.

    input    kind (1 define, 2 call, 3 begin, 4 run, 5 answer), number of the function, length:
             4 bytes each; then the pickled function, or rows; for processors see `processors.wire`
    output   length, 4 bytes, then a line for each row, see `Called.lines`
             -1: another row is done
             -2, length: a question of a processor, which waits for the answer
             -3: threads hang, replace the process

Look-ups run concurrently over several requests; replies are in the order of the requests. Output
and logs of functions are written to standard error, which the kernel reads. `DUOLOG_MEMORY_BYTES`
limits the memory of the process: beyond it a function gets a MemoryError, for one record.

A child process that a function forked also has the pipes. It exits before it would write to them:
with two writers, every later answer would be assigned to the wrong record. Signals to the whole
process group, from a terminal or a supervisor, are ignored: the process ends when the kernel does,
and not while processing a record, which would be counted as the cause.

Source: the kernel's `PythonWorker`.
"""

import logging
import os
import pickle
import signal
import struct
import sys
import threading
from types import FrameType
from typing import BinaryIO, Final

from duolog.core.errors import StatementError
from duolog.core.exception_text import describe_exception
from duolog.core.operating_system.limits import limit_memory
from duolog.core.operating_system.processes import await_end_of, kill_with_parent, outlive_parent
from duolog.functions.called import Called
from duolog.functions.concurrent_lookups import ConcurrentLookups
from duolog.functions.processors.serving import Processors
from duolog.plan.processors import Definition

_DEFINE: Final = 1
_CALL: Final = 2
_BEGIN: Final = 3
_HEADER: Final = struct.Struct(">iii")
_LENGTH: Final = struct.Struct(">i")
_PROGRESS: Final = _LENGTH.pack(-1)
_QUESTION: Final = _LENGTH.pack(-2)
_WORN: Final = _LENGTH.pack(-3)
_REPORT_AFTER_S: Final = 0.5
_LAST_MOMENT_S: Final = 1.0
_SIGNALS_OF_A_GROUP: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class _Progress:
    """Reports finished rows, to distinguish slow functions from those that never return."""

    def __init__(self, replies: BinaryIO) -> None:
        self._replies = replies
        self._lock = threading.Lock()
        self._calling = threading.Event()
        self.done = 0
        self._begun = 0
        self._is_forked = False
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=self._note_fork)
        threading.Thread(target=self._report, daemon=True).start()

    def _note_fork(self) -> None:
        self._is_forked = True

    def ensure_not_forked(self) -> None:
        """Exit if this process was forked by a function."""
        if self._is_forked:
            print(f"process {os.getpid()}, which a function has forked, ends with that", flush=True)  # noqa: T201
            os._exit(0)

    def note(self, _count: int) -> None:
        self.ensure_not_forked()
        self.done += 1

    def begin(self) -> None:
        with self._lock:
            self._begun += 1
            self._calling.set()

    def end(self, reply: bytes) -> None:
        self.ensure_not_forked()
        with self._lock:
            self._begun -= 1
            if self._begun <= 0:
                self._calling.clear()
            self._replies.write(_LENGTH.pack(len(reply)) + reply)
            self._replies.flush()

    def ask(self, question: bytes) -> None:
        self.ensure_not_forked()
        with self._lock:
            self._replies.write(_QUESTION + _LENGTH.pack(len(question)) + question)
            self._replies.flush()

    def mark_worn(self) -> None:
        with self._lock:
            self._replies.write(_WORN)

    def _report(self) -> None:
        reported = 0
        pause = threading.Event()
        while True:
            self._calling.wait()
            pause.wait(_REPORT_AFTER_S)
            with self._lock:
                if self._calling.is_set() and self.done != reported:
                    reported = self.done
                    self._replies.write(_PROGRESS)
                    self._replies.flush()


def main() -> None:
    requests = os.fdopen(os.dup(0), "rb", 1 << 16)
    replies = os.fdopen(os.dup(1), "wb", 1 << 16)
    # Functions find their standard input empty, and their output is not a reply.
    with open(os.devnull) as nothing:  # noqa: PTH123 - a device
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    for of_a_group in _SIGNALS_OF_A_GROUP:
        # A handler, because child processes would inherit SIG_IGN.
        signal.signal(of_a_group, _is_for_others)
    memory = int(os.environ.get("DUOLOG_MEMORY_BYTES", "0"))
    if memory:
        limit_memory(memory)
    # No thread in this process could do so while a C function holds the interpreter lock, possibly
    # forever.
    kill_with_parent()
    threading.Thread(target=_end_with, args=(requests.fileno(),), daemon=True).start()
    serve(requests, replies)


def _is_for_others(_number: int, _frame: FrameType | None) -> None:
    pass


def _end_with(requests: int) -> None:
    """End the process when its input is closed, even while a function does not return."""
    await_end_of(requests)
    threading.Event().wait(_LAST_MOMENT_S)
    os._exit(1)


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the input ends, then close the processors."""
    functions: dict[int, Called] = {}
    lookups: dict[int, ConcurrentLookups] = {}
    progress = _Progress(replies)

    serving = threading.get_ident()

    def ask(question: bytes) -> bytes:
        if threading.get_ident() != serving:
            raise StatementError(
                "a store is accessed in a thread of the processor",
                detail="The engine only answers while it waits for a call.",
                hint="Read the store in init, process or a callback, and pass the value to the "
                "thread.",
            )
        progress.ask(question)
        _kind, _number, length = _HEADER.unpack(requests.read(_HEADER.size))
        return requests.read(length)

    processors = Processors(ask)
    while header := requests.read(_HEADER.size):
        kind, number, length = _HEADER.unpack(header)
        payload = requests.read(length)
        progress.begin()
        if kind == _DEFINE:
            progress.end(_defined(functions, processors, number, payload))
        elif kind == _CALL and functions[number].looks_up:
            if number not in lookups:
                lookups[number] = ConcurrentLookups(
                    functions[number], progress.note, progress.end, progress.mark_worn
                )
            lookups[number].begin(payload)
        elif kind == _CALL:
            progress.end(functions[number].lines(payload, progress.note))
        elif kind == _BEGIN:
            progress.end(processors.begin(number, payload))
        else:
            progress.end(processors.run(number, payload, progress.note))
    outlive_parent()  # Leave a moment to close processors.
    processors.close()


def _defined(
    functions: dict[int, Called], processors: Processors, number: int, pickled: bytes
) -> bytes:
    try:
        defined = pickle.loads(pickled)  # noqa: S301 - of the user's own process
        if isinstance(defined, Definition):
            processors.define(number, defined)
        else:
            functions[number] = Called(defined)
    except Exception as error:  # noqa: BLE001 - a user's module may raise anything
        return f"-{describe_exception(error)}".encode(errors="replace")
    return b"+"


if __name__ == "__main__":
    main()
