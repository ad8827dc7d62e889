"""How far apart in time records of two streams may be to be joined.

    left record at t        right records from t - before to t + after

A record is kept for later ones of the other stream while stream time, the greatest timestamp of its
own stream in the task, is less than the length of the window and the grace period ahead of it.

The window of a left record closes when the greatest timestamp of both streams is beyond t + after + grace. A left or
outer join then emits it unmatched, if it has no partner, and joins it with no later record: nothing is emitted
unmatched and then matched. The same holds for right records with `before`.

Source: Kafka Streams `JoinWindows`; it keeps a record for size and grace only, which loses partners of a window with a
negative or no end, and emits unmatched and then matched (KAFKA-19536).
"""

from dataclasses import dataclass
from typing import Final

from duolog.plan.errors import InvalidPlan

_LONGEST_MS: Final = 2**62


@dataclass(frozen=True, slots=True)
class JoinWindow:
    """From `before_ms` before a left record to `after_ms` behind it; one of them may be negative."""

    before_ms: int
    after_ms: int
    grace_ms: int = 0
    again: bool = False
    """Whether a record that was emitted unmatched is joined again, and kept too briefly, as by Kafka Streams."""

    def __post_init__(self) -> None:
        if self.size_ms < 0:
            raise InvalidPlan(
                "the window of a join ends before it begins",
                detail=f"It is from {self.before_ms} ms before a record to {self.after_ms} ms behind it.",
                hint="Give it a later end: after=...",
            )
        if self.grace_ms < 0:
            raise InvalidPlan("the grace period is negative")
        if max(abs(self.before_ms), abs(self.after_ms), self.grace_ms) > _LONGEST_MS:
            raise InvalidPlan("the window of a join is longer than time itself")

    @property
    def size_ms(self) -> int:
        return self.before_ms + self.after_ms

    @property
    def kept_ms(self) -> int:
        """How long a record is kept, by stream time: until no record within the grace period can need it."""
        if self.again:
            return self.size_ms + self.grace_ms
        return max(self.size_ms, self.before_ms + 1, self.after_ms + 1) + self.grace_ms

    @property
    def waits_ms(self) -> int:
        """How far the end of a record's window is passed before one that comes is emitted unmatched at once."""
        return 0 if self.again else self.grace_ms

    @property
    def reversed(self) -> "JoinWindow":
        """The same window as a record of the right stream sees it."""
        return JoinWindow(self.after_ms, self.before_ms, self.grace_ms, self.again)

    def bounds(self, timestamp_ms: int) -> tuple[int, int]:
        """Return the first and the last timestamp that a record is joined with.

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
