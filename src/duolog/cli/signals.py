"""Signals that end a command in order, through its `finally` blocks and `with` statements."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from duolog.cli.errors import Terminated
from duolog.core.errors import DuologError

if TYPE_CHECKING:
    from duolog.runtime.application import Application


def end_in_order_on_signals() -> None:
    """Let SIGTERM raise `Terminated` in the main thread, and Ctrl-C raise KeyboardInterrupt.

    Called again after Spark was started: PySpark puts a handler of its own in, which cancels all
    jobs in the middle of whatever the main thread is doing.
    """
    signal.signal(signal.SIGTERM, _raise_terminated)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def end_by_event() -> Iterator[threading.Event]:
    """Let the first Ctrl-C or SIGTERM set an event, for work that must not be torn in the middle of a call.

    Behind the block the signal ends the command, as `end_in_order_on_signals` has it; a second one does so at once.
    What the work fails of once it was told is of the signal's making, and not said.
    """
    told = threading.Event()
    first: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        first.append(number)
        end_in_order_on_signals()
        told.set()

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, note)
    try:
        yield told
    except DuologError:
        if not first:
            raise
    finally:
        end_in_order_on_signals()
    if first:
        raise Terminated if first[0] == signal.SIGTERM else KeyboardInterrupt


def say_stopping(application: "Application | None") -> None:
    """Tell that an end has begun, and why it takes long if it does."""
    click.echo("stopping …", err=True)
    if application is not None and application.ends_late:
        click.echo(
            "keeping what Java has loaded, for quicker starts: this once it takes a while\n"
            "Ctrl-C leaves it out",
            err=True,
        )


def _raise_terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
