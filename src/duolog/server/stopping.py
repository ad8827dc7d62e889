"""Signals that stop a server, or make it read its certificate again.

The first SIGTERM or SIGINT sets an event; a second one ends the process at once.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

_SIGNALLED: Final = 128
"""A shell adds it to the number of the signal that ended a process."""


def stop_on_signals(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    """Return an event that is set by the first signal."""
    stopping = asyncio.Event()

    def stop(number: int) -> None:
        if stopping.is_set():
            # A second signal means that the user does not want to wait.
            os._exit(_SIGNALLED + number)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    return stopping


def reload_on_signal(loop: asyncio.AbstractEventLoop, reload: Callable[[], None]) -> None:
    """Call `reload` for each SIGHUP, on systems that have it."""
    if sys.platform != "win32":
        loop.add_signal_handler(signal.SIGHUP, reload)
