"""Signals that end a command in order, through its `finally` blocks and `with` statements."""

import signal
from types import FrameType
from typing import NoReturn

from duolog.cli.errors import Terminated


def end_in_order_on_signals() -> None:
    """Let SIGTERM raise `Terminated` in the main thread, and Ctrl-C raise KeyboardInterrupt.

    Called again after Spark was started: PySpark puts a handler of its own in, which cancels all
    jobs in the middle of whatever the main thread is doing.
    """
    signal.signal(signal.SIGTERM, _raise_terminated)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _raise_terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
