"""A process that calls functions for the kernel, until its standard input ends: `python -m duolog.functions.worker`.

    to it    kind (1 define, 2 call, 3 begin, 4 run, 5 answer), number of the function, length: 4 bytes each; the pickled
             function, or rows; of a processor what `processors.wire` says
    from it  length, 4 bytes; a line for each row, as `Called.lines` writes them; -1: another row is done; -2, length: a
             question of a processor, which waits for the answer; -3: threads hang, so that the process is of no more use

Look-ups are under way while others are asked for; replies keep the order of the requests. What functions print, and what they log, goes to standard error, from where the kernel takes it. The memory that the
process may take is bounded by `DUOLOG_MEMORY_BYTES`: beyond it a function gets a MemoryError, for one record.

A child that a function has forked has the pipes too. It ends where it would tell or ask something: two that answer would
put every later answer at the record before its own. Signals to a whole group of processes, by a terminal or a supervisor,
are not for it: it ends with who asks it, and not in the middle of a record, which would count as one that ended it.

Source: the kernel's `PythonWorker`.
"""

import contextlib
import logging
import os
import pickle
import resource
import select
import signal
import struct
import sys
import threading
from types import FrameType
from typing import BinaryIO, Final

from duolog.core.errors import StatementError
from duolog.core.raised import raised
from duolog.functions.called import Called
from duolog.functions.processors.serving import Processors
from duolog.functions.side_by_side import SideBySide
from duolog.plan.processors import Definition

_DEFINE: Final = 1
_CALL: Final = 2
_BEGIN: Final = 3
_HEADER: Final = struct.Struct(">iii")
_LENGTH: Final = struct.Struct(">i")
_PROGRESS: Final = _LENGTH.pack(-1)
_QUESTION: Final = _LENGTH.pack(-2)
_WORN: Final = _LENGTH.pack(-3)
_TOLD_AFTER_S: Final = 0.5
_LAST_MOMENT_S: Final = 1.0
_PARENT_DEATH_SIGNAL: Final = 1


class _Progress:
    """Tells now and then that a row is done, so that a slow one is known from one that never ends."""

    def __init__(self, replies: BinaryIO) -> None:
        self._replies = replies
        self._lock = threading.Lock()
        self._calling = threading.Event()
        self.done = 0
        self._begun = 0
        self._is_forked = False
        os.register_at_fork(after_in_child=self._note_fork)
        threading.Thread(target=self._tell, daemon=True).start()

    def _note_fork(self) -> None:
        self._is_forked = True

    def ensure_not_forked(self) -> None:
        """End a process that is not the one that the kernel has started, and that came as far as to speak for it."""
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

    def wear_out(self) -> None:
        with self._lock:
            self._replies.write(_WORN)

    def _tell(self) -> None:
        told = 0
        pause = threading.Event()
        while True:
            self._calling.wait()
            pause.wait(_TOLD_AFTER_S)
            with self._lock:
                if self._calling.is_set() and self.done != told:
                    told = self.done
                    self._replies.write(_PROGRESS)
                    self._replies.flush()


def main() -> None:
    requests = os.fdopen(os.dup(0), "rb", 1 << 16)
    replies = os.fdopen(os.dup(1), "wb", 1 << 16)
    # A function that reads finds nothing, and what one prints is no reply.
    with open(os.devnull) as nothing:  # noqa: PTH123 - a device
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    for of_a_group in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A handler, as what a function starts would inherit that they are ignored.
        signal.signal(of_a_group, _is_for_others)
    memory = int(os.environ.get("DUOLOG_MEMORY_BYTES", "0"))
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    _die_with_parent(signal.SIGKILL)
    threading.Thread(target=_end_with, args=(requests.fileno(),), daemon=True).start()
    serve(requests, replies)


def _is_for_others(_number: int, _frame: FrameType | None) -> None:
    pass


def _die_with_parent(number: int) -> None:
    """Have the system send a signal, or with 0 none, when the thread ends that has started this process.

    No thread here could see to it while a function in C holds the interpreter, for ever it may be.
    """
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes  # noqa: PLC0415 - not each Python has it

        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, number, 0, 0, 0)


def _end_with(requests: int) -> None:
    """End the process when nobody can ask it any more, also in the middle of a function that never returns."""
    ended = select.poll()
    ended.register(requests, 0)  # Of its own accord it tells of an end, and only of that.
    ended.poll()
    threading.Event().wait(_LAST_MOMENT_S)
    os._exit(1)


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until there are no more; then processors are closed."""
    functions: dict[int, Called] = {}
    lookups: dict[int, SideBySide] = {}
    progress = _Progress(replies)

    serving = threading.get_ident()

    def ask(question: bytes) -> bytes:
        if threading.get_ident() != serving:
            raise StatementError(
                "a store is asked in a thread of a processor's own",
                detail="The engine answers while it waits for a call, and nobody else.",
                hint="Ask it in init, process or a callback, and give the thread what it found.",
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
                lookups[number] = SideBySide(
                    functions[number], progress.note, progress.end, progress.wear_out
                )
            lookups[number].begin(payload)
        elif kind == _CALL:
            progress.end(functions[number].lines(payload, progress.note))
        elif kind == _BEGIN:
            progress.end(processors.begin(number, payload))
        else:
            progress.end(processors.run(number, payload, progress.note))
    _die_with_parent(0)  # A moment is left to close what there is.
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
        return f"-{raised(error)}".encode(errors="replace")
    return b"+"


if __name__ == "__main__":
    main()
