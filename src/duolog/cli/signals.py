"""Signals that end a command in order, through its `finally` blocks and `with` statements."""

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
    """Let SIGTERM raise `Terminated` in the main thread, and Ctrl-C raise KeyboardInterrupt.

    Called again after Spark was started: PySpark puts a handler of its own in, which cancels all
    jobs in the middle of whatever the main thread is doing.
    """
    signal.signal(signal.SIGTERM, _raise_terminated)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def end_by_event(hurry: Callable[[], None] | None = None) -> Iterator[threading.Event]:
    """Let the first Ctrl-C or SIGTERM set an event, for work that must not be torn in the middle of a call.

    Behind the block the signal ends the command, as `end_in_order_on_signals` has it. A second one calls `hurry`, from
    another thread, after which the work ends soon; without it, and at a third one, the command ends at once.
    What the work fails of once it was told is of the signal's making, and not said.
    """
    told = threading.Event()
    # Handlers interrupt whatever the main thread is doing, with whatever lock it holds: putting here needs none.
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
    """Tell that an end has begun."""
    emit("stopping …")


def _raise_terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
