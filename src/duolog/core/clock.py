"""The clock behind an interface, so that a test can hold time still.

`now_ms` is what stands in records; it may jump. `monotonic` measures durations and deadlines;
it never goes back.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """What the time is, and how much of it has passed."""

    def now_ms(self) -> int:
        """Return the wall-clock time in milliseconds since 1970-01-01 UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment; never decreases."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()
