"""The time window within which records of two streams are joined.

    left record at t        right records from t - before to t + after

A record is stored for later records of the other stream until stream time, the greatest timestamp
of its own stream in the task, is ahead of it by the length of the window and the grace period.

The window of a left record closes when the greatest timestamp of both streams exceeds t + after +
grace. A left or outer join then emits the record unmatched if it has no partner, and does not join
it later: no record is emitted first unmatched and then matched. The same holds for right records
with `before`.

Source: Kafka Streams `JoinWindows`. It stores a record only for size and grace, which loses
partners if the window's end is negative or zero, and it emits records first unmatched and then
matched (KAFKA-19536).
"""

from dataclasses import dataclass
from typing import Final

from duolog.plan.errors import InvalidPlan

_LONGEST_MS: Final = 2**62


@dataclass(frozen=True, slots=True)
class JoinWindow:
    """From `before_ms` before a left record to `after_ms` after it; one of them may be negative."""

    before_ms: int
    after_ms: int
    grace_ms: int = 0
    again: bool = False
    """True for Kafka Streams' behaviour: unmatched records are joined again, stored too briefly."""

    def __post_init__(self) -> None:
        if self.size_ms < 0:
            raise InvalidPlan(
                "the window of a join ends before it starts",
                detail=f"It is from {self.before_ms} ms before a record to {self.after_ms} ms "
                "after it.",
                hint="Use a later end: after=...",
            )
        if self.grace_ms < 0:
            raise InvalidPlan("the grace period is negative")
        if max(abs(self.before_ms), abs(self.after_ms), self.grace_ms) > _LONGEST_MS:
            raise InvalidPlan("the window of a join is too long")

    @property
    def size_ms(self) -> int:
        return self.before_ms + self.after_ms

    @property
    def kept_ms(self) -> int:
        """The stream time for which a record is stored: until no timely record can match it."""
        if self.again:
            return self.size_ms + self.grace_ms
        return max(self.size_ms, self.before_ms + 1, self.after_ms + 1) + self.grace_ms

    @property
    def waits_ms(self) -> int:
        """The stream time after the end of a window at which its record is emitted unmatched."""
        return 0 if self.again else self.grace_ms

    @property
    def reversed(self) -> "JoinWindow":
        """The same window as seen from a record of the right stream."""
        return JoinWindow(self.after_ms, self.before_ms, self.grace_ms, self.again)

    def bounds(self, timestamp_ms: int) -> tuple[int, int]:
        """Return the first and last timestamp with which a record is joined.

        Example:
            >>> JoinWindow(5, 10).bounds(100), JoinWindow(5, 10).reversed.bounds(100)
            ((95, 110), (90, 105))
        """
        return max(0, timestamp_ms - self.before_ms), max(0, timestamp_ms + self.after_ms)

    def __str__(self) -> str:
        grace = f", grace {self.grace_ms} ms" if self.grace_ms else ""
        if self.before_ms == self.after_ms:
            return f"within {self.before_ms} ms{grace}"
        return f"from {self.before_ms} ms before to {self.after_ms} ms after{grace}"
