"""A clock that only a test advances.

Source: the idea of Kafka's `MockTime`.
"""

from typing import Final

_START_MS: Final = 1_385_000_000_000


class FakeClock:
    """Implements `duolog.core.clock.Clock`; both times advance together.

    Example:
        >>> clock = FakeClock(now_ms=1_000)
        >>> clock.advance(seconds=2.5)
        >>> clock.now_ms(), clock.monotonic()
        (3500, 2.5)
    """

    def __init__(self, now_ms: int = _START_MS) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._monotonic_ms / 1000

    def advance(self, seconds: float = 0.0, *, ms: int = 0) -> None:
        """Advance the time; never backwards."""
        passed_ms = round(seconds * 1000) + ms
        assert passed_ms >= 0, "time does not go back; use set_wall_ms for a jump of the wall clock"
        self._now_ms += passed_ms
        self._monotonic_ms += passed_ms

    def set_wall_ms(self, now_ms: int) -> None:
        """Set the wall clock, possibly backwards, as operators or NTP may; `monotonic` stays."""
        self._now_ms = now_ms
