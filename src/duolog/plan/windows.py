"""Windows of time that records are aggregated in, and the keys that they make.

    tumbling   size 10            [0, 10)  [10, 20)  [20, 30)  …         advance = size
    hopping    size 10, advance 5 [0, 10)  [5, 15)   [10, 20)  …

    session  gap 5                [1 ── 4]        [11 ── 13]            from first to last record

A window closes when stream time, the greatest timestamp that the task has seen, reaches its end
plus the grace period. A record is added to each of its windows that is open.
 A session closes when
stream time is beyond its last record by more than gap and grace period.

Source: Kafka Streams `TimeWindows`, `KStreamWindowAggregate`, `SessionWindows`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from duolog.core.windowed_key import WindowedKey
from duolog.plan.errors import InvalidPlan


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """Windows of `size_ms`, one beginning every `advance_ms` from 1970 on."""

    size_ms: int
    advance_ms: int
    grace_ms: int = 0

    def __post_init__(self) -> None:
        if self.size_ms < 1:
            raise InvalidPlan("a window has no size", hint="Give it a millisecond or more.")
        if not 1 <= self.advance_ms <= self.size_ms:
            raise InvalidPlan(
                f"windows of {self.size_ms} ms cannot advance by {self.advance_ms} ms",
                detail="Each record must be in one window at least.",
                hint="Let them advance by their size, or less.",
            )
        if self.grace_ms < 0:
            raise InvalidPlan("the grace period is negative")

    def starts(self, timestamp_ms: int) -> Iterator[int]:
        """Yield the starts of the windows that a record is in, in order.

        Example:
            >>> list(TimeWindows(10, 5).starts(12)), list(TimeWindows(10, 5).starts(3))
            ([5, 10], [0])
        """
        first = max(0, timestamp_ms - self.size_ms + self.advance_ms)
        return iter(
            range(first // self.advance_ms * self.advance_ms, timestamp_ms + 1, self.advance_ms)
        )

    @property
    def key(self) -> WindowedKey:
        return WindowedKey(self.size_ms)

    def __str__(self) -> str:
        grace = f", grace {self.grace_ms} ms" if self.grace_ms else ""
        if self.advance_ms == self.size_ms:
            return f"tumbling windows of {self.size_ms} ms{grace}"
        return f"hopping windows of {self.size_ms} ms every {self.advance_ms} ms{grace}"


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Windows from the first to the last of records that are `gap_ms` apart at most."""

    gap_ms: int
    grace_ms: int = 0

    def __post_init__(self) -> None:
        if self.gap_ms < 1:
            raise InvalidPlan("a session has no gap", hint="Give it a millisecond or more.")

    @property
    def key(self) -> WindowedKey:
        return WindowedKey()

    def __str__(self) -> str:
        grace = f", grace {self.grace_ms} ms" if self.grace_ms else ""
        return f"sessions {self.gap_ms} ms apart{grace}"


Windows = TimeWindows | SessionWindows
