"""Wait until something holds, for as long as a slow machine needs.

A test never sleeps for a fixed time and then asserts: it waits for an event of the code under test
or, if there is none, polls with `wait_until`. The deadline bounds a test that
would fail anyway, and is far above what a busy machine needs. `tests/architecture/test_waiting.py`
counts all other sleeps and short deadlines.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

import pytest

DEADLINE_S: Final = 60
_INTERVAL_S: Final = 0.01
_INTERVAL_S_MAX: Final = 0.2

Found = TypeVar("Found")


def wait_until(
    holds: Callable[[], Found],
    what: str | Callable[[], object],
    deadline_s: float = DEADLINE_S,
) -> Found:
    """Call `holds` until it returns something true, and return that.

    `what` names it in the failure; a function is called at that time, and describes the state.
    """
    end, interval_s = time.monotonic() + deadline_s, _INTERVAL_S
    while True:
        if found := holds():
            return found
        if time.monotonic() > end:
            reported = what if isinstance(what, str) else what()
            pytest.fail(f"not within {deadline_s:g} s: {reported}")
        time.sleep(interval_s)
        interval_s = min(interval_s * 2, _INTERVAL_S_MAX)


def wait_for_equal(
    look: Callable[[], Found], wanted: Found, deadline_s: float = DEADLINE_S
) -> Found:
    """Call `look` until it returns what is wanted; fail with the last one otherwise."""
    end, interval_s = time.monotonic() + deadline_s, _INTERVAL_S
    while (found := look()) != wanted and time.monotonic() < end:
        time.sleep(interval_s)
        interval_s = min(interval_s * 2, _INTERVAL_S_MAX)
    assert found == wanted, f"not within {deadline_s:g} s"
    return found


def settled(
    look: Callable[[], Found], quiet_s: float, what: str, deadline_s: float = 3 * DEADLINE_S
) -> Found:
    """Return the value that stays the same for `quiet_s`: a slow machine does less meanwhile, never more."""
    end = time.monotonic() + deadline_s
    last, since = look(), time.monotonic()
    while time.monotonic() - since < quiet_s:
        assert time.monotonic() < end, f"not within {deadline_s:g} s: {what}"
        time.sleep(_INTERVAL_S)
        if (now := look()) != last:
            last, since = now, time.monotonic()
    return last
