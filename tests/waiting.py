"""Wait until something holds, for as long as a slow machine needs.

A test never sleeps for a fixed time and then asserts: it waits for an event of the code under test or, where there
is none, asks again and again with `wait_until`. The deadline bounds a test that would fail anyway, and is far above
what a busy machine needs. `tests/architecture/test_waiting.py` counts all other sleeps and short deadlines.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

DEADLINE_S: Final = 60
_INTERVAL_S: Final = 0.01

Found = TypeVar("Found")


def wait_until(holds: Callable[[], Found], what: str, deadline_s: float = DEADLINE_S) -> Found:
    """Call `holds` until it returns something true, and return that; `what` names it in the failure."""
    end = time.monotonic() + deadline_s
    while True:
        if found := holds():
            return found
        assert time.monotonic() < end, f"not within {deadline_s:g} s: {what}"
        time.sleep(_INTERVAL_S)


async def until(holds: Callable[[], Found], what: str, deadline_s: float = DEADLINE_S) -> Found:
    """Do as `wait_until`, and let the event loop go on meanwhile."""
    end = time.monotonic() + deadline_s
    while True:
        if found := holds():
            return found
        assert time.monotonic() < end, f"not within {deadline_s:g} s: {what}"
        await asyncio.sleep(_INTERVAL_S)
