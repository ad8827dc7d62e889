"""Aggregates in sliding windows, in plain Python.

Source: Kafka Streams `KStreamSlidingWindowAggregate`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from duolog.plan.nodes import AggregateNode
from duolog.plan.windows import SlidingWindows
from duolog.serde.row import Row
from duolog.testing.reference.entries import (
    Entry,
    Run,
    Store,
    Stores,
    TimestampedRow,
    after,
    is_null,
    made,
)

Add = Callable[[Entry, Row | None], Row]
"""Computes new accumulators from a record and the previous ones, if any."""

Results = Callable[[Row, TimestampedRow], Row]


def in_sliding_windows(
    node: AggregateNode,
    windows: SlidingWindows,
    add: Add,
    results: Results,
    stream_time: Callable[[Entry, Stores], int],
) -> Run:
    """Return the function that folds a record into its windows and those that it creates."""

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if is_null(entry.key) or entry.value is None:
            return []
        store = stores[node.store]
        closed = stream_time(entry, stores) - windows.grace_ms
        if entry.timestamp_ms + windows.difference_ms < closed:
            return []
        found = _Found(windows, store, entry, add, closed)
        changed = list(found.early() if entry.timestamp_ms < windows.difference_ms else found.all())
        emitted = []
        # A window may change twice: it starts directly after the previous record, and ends with
        # this one.
        for key, now, row in [(key, now, results(key, now)) for key, now in changed]:
            kept = store.get(key)
            before = kept and TimestampedRow(results(key, kept), kept.timestamp_ms)
            emitted.append(after(made(entry, row, now.timestamp_ms, key), before))
            store[key] = now
        return emitted

    return run


@dataclass(frozen=True, slots=True)
class _Found:
    """The changes of a key's windows by a record, without closed windows."""

    windows: SlidingWindows
    store: Store
    entry: Entry
    add: Add
    closed: int

    def all(self) -> Iterator[tuple[Row, TimestampedRow]]:
        """Yield the changes in order, if no window would start before 1970."""
        at, difference = self.entry.timestamp_ms, self.windows.difference_ms
        starts = self._starts(at - 2 * difference)
        left = right = None
        previous: int | None = None
        ends_here = False
        for start in sorted(starts - {at + 1}, reverse=True):
            window = self.store[self._key(start)]
            if start + difference < at:
                left, previous = window, window.timestamp_ms
                break
            yield from self._added(start, window)
            if start + difference > at:
                right = right or window
            elif window.timestamp_ms < at:
                ends_here, previous = True, window.timestamp_ms
            else:
                return
        if previous is not None and previous + 1 + difference >= at:
            yield from self._behind(previous, starts)
        if not ends_here:
            holds_others = left is not None and left.timestamp_ms >= at - difference
            yield from self._added(at - difference, left if holds_others else None)
        yield from self._copied_behind(right, starts)

    def early(self) -> Iterator[tuple[Row, TimestampedRow]]:
        """Yield the changes if the record's own window would start before 1970."""
        at = self.entry.timestamp_ms
        starts = self._starts(0)
        first, right = self.store.get(self._key(0)), None
        for start in sorted(starts - {0, at + 1}):
            right = self.store[self._key(start)]
            yield from self._added(start, right)
        yield from self._copied_behind(right or first, starts)
        if first is not None and first.timestamp_ms < at:
            yield from self._behind(first.timestamp_ms, starts)
        yield from self._added(0, first)

    def _starts(self, first: int) -> set[int]:
        """Return the starts of the key's windows, from `first` to directly after the record."""
        last = self.entry.timestamp_ms + 1
        starts = (key[-2] for key in self.store if key[:-2] == self.entry.key)
        return {start for start in starts if isinstance(start, int) and first <= start <= last}

    def _key(self, start: int) -> Row:
        return (*self.entry.key, start, start + self.windows.difference_ms)

    def _added(
        self, start: int, window: TimestampedRow | None
    ) -> Iterator[tuple[Row, TimestampedRow]]:
        if start + self.windows.difference_ms >= self.closed:
            at = self.entry.timestamp_ms
            time = max(at, window.timestamp_ms) if window else at
            yield (
                self._key(start),
                TimestampedRow(self.add(self.entry, window.row if window else None), time),
            )

    def _behind(self, previous: int, starts: set[int]) -> Iterator[tuple[Row, TimestampedRow]]:
        if previous + 1 not in starts:
            yield from self._added(previous + 1, None)

    def _copied_behind(
        self, right: TimestampedRow | None, starts: set[int]
    ) -> Iterator[tuple[Row, TimestampedRow]]:
        start = self.entry.timestamp_ms + 1
        if right is not None and right.timestamp_ms >= start and start not in starts:
            yield self._key(start), right
