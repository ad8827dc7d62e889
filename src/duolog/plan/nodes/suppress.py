"""Suppress: buffers the changes of a table."""

from dataclasses import dataclass
from typing import ClassVar

from duolog.core.units import DAY_MS
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.aggregate import AggregateNode
from duolog.plan.nodes.node import Node, ensure_table
from duolog.plan.schema import Schema
from duolog.plan.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    Windows,
    ensure_closing,
)
from duolog.plan.windows.calendar_windows import CalendarWindows

_BUCKETS: int = 4
"""The number of buckets into which the buffering time is divided."""


@dataclass(frozen=True, eq=False)
class Suppress(Node):
    """Buffers the changes of a table until their window closes, or for `time_limit_ms`.

    Only the last change of each key is buffered, at the position of the first one. If a task
    exceeds `max_records` or `max_bytes`, the oldest changes are emitted early; with `shut_down` the
    query fails.
    """

    name: str
    parent: Node
    store: str
    time_limit_ms: int | None = None
    """None: until the window closes."""
    max_records: int | None = None
    max_bytes: int | None = None
    shut_down: bool = False
    is_table: ClassVar[bool] = True
    by_key: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True
    keeps_whole_rows: ClassVar[bool] = True  # The stored columns must not depend on the readers.

    def __post_init__(self) -> None:
        ensure_table(self.parent, "hold back")
        if self.parent.history_ms is not None:
            raise InvalidPlan(
                f'cannot buffer changes of versioned table "{self.parent}"',
                detail="They include rows of an earlier time, which later changes do not replace.",
                hint="Read the topic as a table without history=.",
            )
        for name, limit in (("max_records", self.max_records), ("max_bytes", self.max_bytes)):
            if limit is not None and limit < 1:
                raise InvalidPlan(f"{name} must be positive, not {limit}")
        if self.time_limit_ms is None:
            self._ensure_final()

    def _ensure_final(self) -> None:
        for windows in self.windows:
            ensure_closing(windows, self.parent)
        if not self.shut_down and (self.max_records or self.max_bytes):
            raise InvalidPlan(
                "a result that is emitted early is not the final one of its window",
                hint='Remove when_full=, or write when_full="shut down".',
            )

    @property
    def delay_ms(self) -> int:
        """The time for which a row is buffered, or the delay of a result after its window's end."""
        if self.time_limit_ms is not None:
            return self.time_limit_ms
        return max(windows.closes_after_ms for windows in self.windows)

    @property
    def bucket_ms(self) -> int:
        """The length of the buckets of buffered rows. Must not depend on the grace period."""
        if self.time_limit_ms is not None:
            return max(1, self.time_limit_ms // _BUCKETS)
        return min(max(1, _length_ms(windows) // _BUCKETS) for windows in self.windows)

    @property
    def windows(self) -> tuple[Windows, ...]:
        """The windows in which the rows were aggregated."""
        return _windows_of(self.parent)

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @property
    def expiry(self) -> str:
        return f"a row for each key that waits, {self._how_long}"

    @property
    def schema(self) -> Schema:
        return self.parent.schema

    @property
    def action(self) -> str:
        limits = [
            f", {limit} {of} at most"
            for limit, of in ((self.max_records, "records"), (self.max_bytes, "bytes"))
            if limit is not None
        ]
        return f"held back {self._how_long}{''.join(limits)}, kept in {self.store}"

    @property
    def _how_long(self) -> str:
        if self.time_limit_ms is not None:
            return f"for {self.time_limit_ms} ms"
        return f"until its window closes, {self.delay_ms} ms after its end"


def _length_ms(windows: Windows) -> int:
    match windows:
        case TimeWindows(size_ms=length) | SessionWindows(gap_ms=length):
            return length
        case SlidingWindows(difference_ms=length):
            return length
        case CalendarWindows() | UnlimitedWindows():
            return DAY_MS


def _windows_of(table: Node) -> tuple[Windows, ...]:
    """Return the windows in which the rows of `table` were aggregated.

    Raises:
        StatementError: there are none, or they are unknown.
    """
    if table.schema.window is None:
        raise InvalidPlan(
            f'table "{table}" has no windows',
            hint='Set a time limit: suppress("10 minutes").',
        )
    if isinstance(table, AggregateNode) and table.windows:
        return (table.windows,)
    if not table.drivers:
        raise InvalidPlan(
            f'the grace period of the windows of "{table}" is unknown',
            detail="Another program created them, and the topic does not contain their grace "
            "period.",
            hint='Set a time limit: suppress("10 minutes").',
        )
    found = [windows for driver in table.drivers for windows in _windows_of(driver)]
    return tuple(dict.fromkeys(found))
