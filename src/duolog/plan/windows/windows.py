"""Windows of time that records are aggregated in, and the keys that they make.

    tumbling   size 10            [0, 10)  [10, 20)  [20, 30)  …         advance = size
    hopping    size 10, advance 5 [0, 10)  [5, 15)   [10, 20)  …
    calendar   day, week, month …          in `plan.calendar_windows`
    unlimited  start 15                    [15, ─────────────────

    session  gap 5                [1 ── 4]        [11 ── 13]            from first to last record
    sliding  difference 5         [-1 ── 4] [2 ── 7] …                  one ends with each record

A window closes when stream time, the greatest timestamp that the task has seen, reaches its end
plus the grace period. A record is added to each of its windows that is open. Where the end is in the
window (sessions, sliding windows) stream time must be beyond it; of a session, by the gap too.

Source: Kafka Streams `TimeWindows`, `KStreamWindowAggregate`, `SessionWindows`, `SlidingWindows`,
`UnlimitedWindows`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from duolog.core.windowed_key import NO_END, WindowedKey
from duolog.plan.errors import InvalidPlan
from duolog.plan.windows.calendar_windows import CalendarWindows


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """Windows of `size_ms`, one beginning every `advance_ms`, `offset_ms` behind 1970 among others.

    The first one of all is the last that begins in 1970 or before it.
    """

    size_ms: int
    advance_ms: int
    grace_ms: int = 0
    offset_ms: int = 0
    graced: bool = True
    """Whether somebody has said so, be it 0."""

    def __post_init__(self) -> None:
        if self.size_ms < 1:
            raise InvalidPlan("a window has no size", hint="Give it a millisecond or more.")
        if not 1 <= self.advance_ms <= self.size_ms:
            raise InvalidPlan(
                f"windows of {self.size_ms} ms cannot advance by {self.advance_ms} ms",
                detail="Each record must be in one window at least.",
                hint="Let them advance by their size, or less.",
            )
        ensure_grace(self.grace_ms)
        if not 0 <= self.offset_ms < self.advance_ms:
            raise InvalidPlan(
                f"windows every {self.advance_ms} ms have no offset of {self.offset_ms} ms",
                hint="Give one below the advance.",
            )

    @property
    def kept_ms(self) -> int:
        """How long Kafka Streams keeps a window's row at least, from its start on."""
        return self.size_ms + self.grace_ms

    @property
    def closes_after_ms(self) -> int:
        """A window has closed when stream time is this much or more beyond its end."""
        return self.grace_ms

    @property
    def origin_ms(self) -> int:
        """The start of the first window."""
        return self.offset_ms - self.advance_ms if self.offset_ms else 0

    def starts(self, timestamp_ms: int) -> Iterator[int]:
        """Yield the starts of the windows that a record is in, in order.

        Example:
            >>> list(TimeWindows(10, 5).starts(12)), list(TimeWindows(10, 5).starts(3))
            ([5, 10], [0])
        """
        since = max(0, timestamp_ms - self.origin_ms - self.size_ms + self.advance_ms)
        first = since // self.advance_ms * self.advance_ms + self.origin_ms
        return iter(range(first, timestamp_ms + 1, self.advance_ms))

    def end(self, start: int) -> int:
        """Return the end of the window that starts here: the first millisecond behind it."""
        return min(NO_END, start + self.size_ms)

    def let_go_until(self, stream_time: int) -> int:
        """Return the end up to which rows of windows are kept no more."""
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
    """Windows from the first to the last of records that are `gap_ms` apart at most."""

    gap_ms: int
    grace_ms: int = 0
    graced: bool = True
    """Whether somebody has said so, be it 0."""

    def __post_init__(self) -> None:
        if self.gap_ms < 1:
            raise InvalidPlan("a session has no gap", hint="Give it a millisecond or more.")
        ensure_grace(self.grace_ms)

    @property
    def kept_ms(self) -> int:
        """How long Kafka Streams keeps a session's row at least, from its end on."""
        return self.gap_ms + self.grace_ms

    @property
    def closes_after_ms(self) -> int:
        """A session has closed when stream time is this much or more beyond its end, which it holds."""
        return self.gap_ms + self.grace_ms + 1

    def let_go_until(self, stream_time: int) -> int:
        """Return the end up to which rows of sessions are kept no more."""
        return stream_time - self.closes_after_ms

    @property
    def key(self) -> WindowedKey:
        return WindowedKey()

    def __str__(self) -> str:
        return f"sessions {self.gap_ms} ms apart{render_grace(self.grace_ms)}"


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """Windows that records of a key make: one ends with each, `difference_ms` behind its start.

    One begins right behind each record, if it holds any. Both ends are in a window.
    """

    difference_ms: int
    grace_ms: int = 0
    graced: bool = True
    """Whether somebody has said so, be it 0."""

    def __post_init__(self) -> None:
        if self.difference_ms < 1:
            raise InvalidPlan(
                "records of a sliding window are no time apart",
                hint="Give it a millisecond or more.",
            )
        ensure_grace(self.grace_ms)

    @property
    def kept_ms(self) -> int:
        """How long Kafka Streams keeps a window's row at least: others are made of it."""
        return 2 * self.difference_ms + self.grace_ms

    @property
    def closes_after_ms(self) -> int:
        """A window has closed when stream time is this much or more beyond its end, which it holds."""
        return self.grace_ms + 1

    def let_go_until(self, stream_time: int) -> int:
        """Return the end up to which rows of windows are kept no more: others are made of them."""
        return stream_time - self.closes_after_ms - self.difference_ms - 1

    @property
    def key(self) -> WindowedKey:
        return WindowedKey(self.difference_ms)

    def __str__(self) -> str:
        return f"sliding windows of {self.difference_ms} ms{render_grace(self.grace_ms)}"


@dataclass(frozen=True, slots=True)
class UnlimitedWindows:
    """One window, from `start_ms` on, without an end. What is before it is in none."""

    start_ms: int = 0

    def __post_init__(self) -> None:
        if self.start_ms < 0:
            raise InvalidPlan("a window cannot begin before 1970")

    @property
    def grace_ms(self) -> int:
        """Nothing is late for it."""
        return 0

    @property
    def graced(self) -> bool:
        """It needs none."""
        return True

    def starts(self, timestamp_ms: int) -> Iterator[int]:
        """Yield the window's start, if a record is in it."""
        return iter([self.start_ms] if timestamp_ms >= self.start_ms else [])

    def end(self, _start: int) -> int:
        """Return the last millisecond that there is."""
        return NO_END

    @property
    def kept_ms(self) -> None:
        """Its rows are kept for ever."""
        return

    @property
    def closes_after_ms(self) -> int:
        """It never closes: its end is the last millisecond that there is."""
        return 0

    def let_go_until(self, stream_time: int) -> int:
        """Return the end up to which rows are kept no more: there is none."""
        return stream_time

    @property
    def key(self) -> WindowedKey:
        return WindowedKey(NO_END)

    def __str__(self) -> str:
        since = f" from {self.start_ms} on" if self.start_ms else ""
        return f"one window{since} without an end"


FixedWindows = TimeWindows | CalendarWindows | UnlimitedWindows
"""Windows that a record is in by its timestamp alone."""

Windows = FixedWindows | SessionWindows | SlidingWindows


def ensure_closing(windows: Windows, of: object) -> None:
    """Check that windows of an aggregate close, and that it was said how long they wait: what is told then is told for good."""
    if isinstance(windows, UnlimitedWindows):
        raise InvalidPlan(
            f'a window without an end never closes: that of "{of}"',
            hint="Take its results with each update, or hold them back for a time: "
            'suppress("10 minutes").',
        )
    if not windows.graced:
        raise InvalidPlan(
            f'nobody has said how long the windows of "{of}" wait for records that are late',
            detail=f"What comes when the result has left is left out of it: {windows}.",
            hint='Give the windows a grace period: grace="5 minutes", or grace="0 s" to wait for none.',
        )


def ensure_grace(grace_ms: int) -> None:
    if grace_ms < 0:
        raise InvalidPlan("the grace period is negative")


def ensure_retention(windows: Windows | None, retention_ms: int) -> None:
    """Raise a StatementError where rows of windows cannot be kept for a time."""
    if windows is None:
        raise InvalidPlan(
            "a retention is for rows of windows",
            detail="Other rows are kept for good.",
            hint="Say how long a row lives that is not updated: ttl=.",
        )
    if windows.kept_ms is None:
        raise InvalidPlan(
            "a window without an end has no retention", detail="Its rows are kept for good."
        )
    if retention_ms < windows.kept_ms:
        raise InvalidPlan(
            f"rows of windows cannot go after {retention_ms} ms",
            detail=f"They are needed for {windows.kept_ms} ms: {windows}.",
            hint=f'Give them a longer retention: retention="{windows.kept_ms} ms", or more.',
        )


def render_grace(grace_ms: int) -> str:
    return f", grace {grace_ms} ms" if grace_ms else ""
