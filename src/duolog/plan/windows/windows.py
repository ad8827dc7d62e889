"""The windows of aggregates, and the keys that they add.

    tumbling   size 10            [0, 10)  [10, 20)  [20, 30)  …         advance = size
    hopping    size 10, advance 5 [0, 10)  [5, 15)   [10, 20)  …
    calendar   day, week, month …          in `calendar_windows`
    unlimited  start 15                    [15, ─────────────────

    session  gap 5                [1 ── 4]        [11 ── 13]            from first to last record
    sliding  difference 5         [-1 ── 4] [2 ── 7] …                  one ends with each record

A window closes when stream time, the greatest timestamp that the task has seen, reaches its end
plus the grace period. A record is added to all open windows that contain it. If the end is
inclusive (sessions, sliding windows), stream time must exceed it; for a session, by the gap as
well.

Source: Kafka Streams `TimeWindows`, `KStreamWindowAggregate`, `SessionWindows`, `SlidingWindows`,
`UnlimitedWindows`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from duolog.core.windowed_key import NO_END, WindowedKey
from duolog.plan.errors import InvalidPlan
from duolog.plan.windows.calendar_windows import CalendarWindows


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """Windows of `size_ms`, one starting every `advance_ms`, one of them `offset_ms` after 1970.

    The first window is the last one that starts at or before 1970.
    """

    size_ms: int
    advance_ms: int
    grace_ms: int = 0
    offset_ms: int = 0
    graced: bool = True
    """True if the user gave a grace period, possibly 0."""

    def __post_init__(self) -> None:
        if self.size_ms < 1:
            raise InvalidPlan(
                "the size of a window must be positive", hint="Use at least a millisecond."
            )
        if not 1 <= self.advance_ms <= self.size_ms:
            raise InvalidPlan(
                f"windows of {self.size_ms} ms cannot advance by {self.advance_ms} ms",
                detail="Each record must be in at least one window.",
                hint="Use an advance of at most their size.",
            )
        ensure_grace(self.grace_ms)
        if not 0 <= self.offset_ms < self.advance_ms:
            raise InvalidPlan(
                f"windows every {self.advance_ms} ms cannot have an offset of {self.offset_ms} ms",
                hint="Use an offset less than the advance.",
            )

    @property
    def kept_ms(self) -> int:
        """The minimum time for which Kafka Streams stores a row, from its window's start."""
        return self.size_ms + self.grace_ms

    @property
    def closes_after_ms(self) -> int:
        """A window has closed when stream time is at least this much beyond its end."""
        return self.grace_ms

    @property
    def origin_ms(self) -> int:
        """The start of the first window."""
        return self.offset_ms - self.advance_ms if self.offset_ms else 0

    def starts(self, timestamp_ms: int) -> Iterator[int]:
        """Yield the starts of the windows that contain a record, in order.

        Example:
            >>> list(TimeWindows(10, 5).starts(12)), list(TimeWindows(10, 5).starts(3))
            ([5, 10], [0])
        """
        since = max(0, timestamp_ms - self.origin_ms - self.size_ms + self.advance_ms)
        first = since // self.advance_ms * self.advance_ms + self.origin_ms
        return iter(range(first, timestamp_ms + 1, self.advance_ms))

    def end(self, start: int) -> int:
        """Return the exclusive end of the window with this start."""
        return min(NO_END, start + self.size_ms)

    def let_go_until(self, stream_time: int) -> int:
        """Return the window end up to which rows are evicted."""
        return stream_time - (stream_time - self.origin_ms) % self.advance_ms - self.grace_ms

    @property
    def key(self) -> WindowedKey:
        return WindowedKey(self.size_ms)

    def __str__(self) -> str:
        more = f", offset {self.offset_ms} ms" if self.offset_ms else ""
        more += render_grace(self.grace_ms)
        if self.advance_ms == self.size_ms:
            return f"tumbling windows of {self.size_ms} ms{more}"
        return f"hopping windows of {self.size_ms} ms every {self.advance_ms} ms{more}"


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Windows from the first to the last record of a sequence with gaps of at most `gap_ms`."""

    gap_ms: int
    grace_ms: int = 0
    graced: bool = True
    """True if the user gave a grace period, possibly 0."""

    def __post_init__(self) -> None:
        if self.gap_ms < 1:
            raise InvalidPlan(
                "the gap of a session must be positive", hint="Use at least a millisecond."
            )
        ensure_grace(self.grace_ms)

    @property
    def kept_ms(self) -> int:
        """The minimum time for which Kafka Streams stores a row, from its session's end."""
        return self.gap_ms + self.grace_ms

    @property
    def closes_after_ms(self) -> int:
        """A session has closed when stream time is at least this much beyond its inclusive end."""
        return self.gap_ms + self.grace_ms + 1

    def let_go_until(self, stream_time: int) -> int:
        """Return the session end up to which rows are evicted."""
        return stream_time - self.closes_after_ms

    @property
    def key(self) -> WindowedKey:
        return WindowedKey()

    def __str__(self) -> str:
        return f"sessions {self.gap_ms} ms apart{render_grace(self.grace_ms)}"


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """Windows of `difference_ms` that the records of a key define: one ends with each record.

    Another window starts directly after each record, if it is not empty. Both bounds are inclusive.
    """

    difference_ms: int
    grace_ms: int = 0
    graced: bool = True
    """True if the user gave a grace period, possibly 0."""

    def __post_init__(self) -> None:
        if self.difference_ms < 1:
            raise InvalidPlan(
                "the time difference of a sliding window must be positive",
                hint="Use at least a millisecond.",
            )
        ensure_grace(self.grace_ms)

    @property
    def kept_ms(self) -> int:
        """The minimum time for which Kafka Streams stores a row that other windows depend on."""
        return 2 * self.difference_ms + self.grace_ms

    @property
    def closes_after_ms(self) -> int:
        """A window has closed when stream time is at least this much beyond its inclusive end."""
        return self.grace_ms + 1

    def let_go_until(self, stream_time: int) -> int:
        """Return the window end up to which rows are evicted; later rows affect other windows."""
        return stream_time - self.closes_after_ms - self.difference_ms - 1

    @property
    def key(self) -> WindowedKey:
        return WindowedKey(self.difference_ms)

    def __str__(self) -> str:
        return f"sliding windows of {self.difference_ms} ms{render_grace(self.grace_ms)}"


@dataclass(frozen=True, slots=True)
class UnlimitedWindows:
    """A single window from `start_ms` without an end. Earlier records are in no window."""

    start_ms: int = 0
    grace_ms: ClassVar[int] = 0
    """No record is late."""
    graced: ClassVar[bool] = True
    """It needs no grace period."""
    closes_after_ms: ClassVar[int] = 0
    """It never closes: its end is the last possible millisecond."""

    def __post_init__(self) -> None:
        if self.start_ms < 0:
            raise InvalidPlan("a window cannot start before 1970")

    def starts(self, timestamp_ms: int) -> Iterator[int]:
        """Yield the window's start if the window contains the record."""
        return iter([self.start_ms] if timestamp_ms >= self.start_ms else [])

    def end(self, _start: int) -> int:
        """Return the last possible millisecond."""
        return NO_END

    @property
    def kept_ms(self) -> None:
        """Its rows are stored forever."""
        return

    def let_go_until(self, stream_time: int) -> int:
        """Return the window end up to which rows are evicted: no row is."""
        return stream_time

    @property
    def key(self) -> WindowedKey:
        return WindowedKey(NO_END)

    def __str__(self) -> str:
        since = f" from {self.start_ms} on" if self.start_ms else ""
        return f"one window{since} without an end"


FixedWindows = TimeWindows | CalendarWindows | UnlimitedWindows
"""Windows that depend only on a record's timestamp."""

Windows = FixedWindows | SessionWindows | SlidingWindows


def ensure_closing(windows: Windows, of: object) -> None:
    """Check that windows close and have a grace period: a final result cannot be corrected."""
    if isinstance(windows, UnlimitedWindows):
        raise InvalidPlan(
            f'the window of "{of}" never closes, because it has no end',
            hint="Emit results with each update, or buffer them for a time: "
            'suppress("10 minutes").',
        )
    if not windows.graced:
        raise InvalidPlan(
            f'the windows of "{of}" need a grace period for late records',
            detail=f"Records that arrive after the result are not included in it: {windows}.",
            hint='Set a grace period: grace="5 minutes", or grace="0 s" to drop late records.',
        )


def ensure_grace(grace_ms: int) -> None:
    if grace_ms < 0:
        raise InvalidPlan("the grace period is negative")


def ensure_retention(windows: Windows | None, retention_ms: int) -> None:
    """Raise a StatementError if rows of these windows cannot have this retention."""
    if windows is None:
        raise InvalidPlan(
            "a retention is only possible for rows of windows",
            detail="Other rows do not expire.",
            hint="Set the lifetime of rows that are not updated: ttl=.",
        )
    if windows.kept_ms is None:
        raise InvalidPlan(
            "a window without an end cannot have a retention", detail="Its rows do not expire."
        )
    if retention_ms < windows.kept_ms:
        raise InvalidPlan(
            f"rows of windows cannot expire after {retention_ms} ms",
            detail=f"They are needed for {windows.kept_ms} ms: {windows}.",
            hint=f'Use a longer retention: retention="{windows.kept_ms} ms", or more.',
        )


def render_grace(grace_ms: int) -> str:
    return f", grace {grace_ms} ms" if grace_ms else ""
