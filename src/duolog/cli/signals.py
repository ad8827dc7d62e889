"""Turn signals into exceptions or events, so that a command stops through its `finally` blocks.

A signal handler interrupts a thread that may hold a lock, so it must not acquire one: `Event.set`
in a handler would wait for the thread that it interrupted.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import NoReturn

from duolog.cli.errors import Terminated
from duolog.cli.terminal.logging_setup import emit
from duolog.core.errors import DuologError


def end_in_order_on_signals() -> None:
    """Make SIGTERM raise `Terminated` and Ctrl-C raise KeyboardInterrupt in the main thread.

    Call this again after starting Spark: PySpark installs a handler that cancels all jobs, whatever
    the main thread is doing.
    """
    signal.signal(signal.SIGTERM, _raise_terminated)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def end_by_event(hurry: Callable[[], None] | None = None) -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C or SIGTERM sets instead of raising.

    For work that must not be interrupted in the middle of a call. After the block, the signal ends
    the command as with `end_in_order_on_signals`. A second signal calls `hurry` from another
    thread, to make the work finish soon. A third signal, or the second one without `hurry`, ends
    the command at once. Errors raised after the first signal are attributed to it and not reported.
    """
    told = threading.Event()
    # A handler may interrupt the main thread while it holds any lock; SimpleQueue.put needs none.
    coming: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
    first: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        first.append(number)
        if len(first) == 1:
            coming.put(told.set)
        else:
            assert hurry is not None
            coming.put(hurry)
        if hurry is None or len(first) > 1:
            end_in_order_on_signals()

    def pass_on() -> None:
        while (call := coming.get()) is not None:
            call()

    thread = threading.Thread(target=pass_on, name="signals", daemon=True)
    thread.start()
    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, note)
    try:
        yield told
    except DuologError:
        if not first:
            raise
    finally:
        coming.put(None)
        end_in_order_on_signals()
    if first:
        raise Terminated if first[0] == signal.SIGTERM else KeyboardInterrupt


def announce_stopping() -> None:
    """Report that the command is stopping."""
    emit("stopping …")


def _raise_terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
