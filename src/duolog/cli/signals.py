"""Signals that end a command in order, through its `finally` blocks and `with` statements."""

import signal
from types import FrameType
from typing import NoReturn

from duolog.cli.errors import Terminated


def end_in_order_on_sigterm() -> None:
    """Let SIGTERM raise `Terminated` in the main thread, as Ctrl-C raises KeyboardInterrupt."""
    signal.signal(signal.SIGTERM, _raise_terminated)


def _raise_terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
