"""An interface for the clock, so that tests can control time.

`now_ms` is the wall-clock time stored in records; it may jump. `monotonic` measures durations and
deadlines and never decreases.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """A source of wall-clock time and of monotonic time."""

    def now_ms(self) -> int:
        """Return the wall-clock time in milliseconds since 1970-01-01 UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment; never decreases."""
        ...


class SystemClock:
    """The system clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()
