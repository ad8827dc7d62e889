"""The records of all partitions in one order, read in parts.

    oldest first   by time, then by partition; of each partition by offset
    newest first   the reverse of it

The buffers hold one part of each partition. The next parts of empty buffers are read
together. `positions` say where to continue: the next offset to read, or, newest first, the offset
before which to read.

Threads: one.
"""

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from duolog.core.units import MIB
from duolog.runtime.browsing.budget import Budget
from duolog.runtime.browsing.log import Chunk, Range
from duolog.runtime.browsing.record import BrowsedRecord

_FIRST: Final = 16
"""Offsets of the first part of a partition: its records may be large."""
_LENGTH_MAX: Final = 1_000_000
_RECORDS_MAX: Final = 5_000
_BYTES_AT_ONCE: Final = 4 * MIB
_GROWTH: Final = 4


class Log(Protocol):
    """The partitions of a topic; see `TopicLog`."""

    def read(
        self, ranges: Mapping[int, Range], budget: Budget, *, completely: bool = False
    ) -> dict[int, Chunk]:
        """Return the records of ranges."""


class Merge:
    """Merges partitions from positions on.

    Args:
        log: the topic.
        spans: the retained parts of the partitions to read.
        positions: where to begin; of partitions that are missing, at their begin or end.
        budget: what may be read.
        newest: newest records first.
        ahead: how many records are read at once if most of them will not be shown. Each read
            begins with a request, whose answer may have more than was wanted of it.
    """

    def __init__(
        self,
        log: Log,
        spans: Mapping[int, Range],
        positions: Mapping[int, int],
        budget: Budget,
        *,
        newest: bool,
        ahead: int = 0,
    ) -> None:
        self._ahead = ahead
        self._log = log
        self._spans = spans
        self._budget = budget
        self._newest = newest
        begin = {number: end if newest else low for number, (low, end) in spans.items()}
        self.positions: dict[int, int] = {
            number: min(max(low, positions.get(number, begin[number])), end)
            for number, (low, end) in spans.items()
        }
        self._unread = dict(self.positions)
        """As `positions`, after the buffers."""
        self._buffers: dict[int, deque[BrowsedRecord]] = {number: deque() for number in spans}
        self._heads: list[tuple[int, int]] = []
        self._length = _FIRST
        self._offsets = 0
        """Offsets that were read, with and without a record."""

    @property
    def is_done(self) -> bool:
        """True if everything was taken."""
        return not self._heads and not any(map(self._has_more, self._spans))

    @property
    def is_empty(self) -> bool:
        """True if nothing that was read waits to be taken."""
        return not self._heads

    def take(self, count: int) -> list[BrowsedRecord]:
        """Return the next records; fewer if there are no more, if the budget is spent, or if large.

        Raises:
            KafkaError: see `TopicLog.read`.
        """
        found: list[BrowsedRecord] = []
        size = 0
        while len(found) < count and size < _BYTES_AT_ONCE:
            self._fill(max(self._ahead, count - len(found)))
            if not self._heads:
                break
            _, order = heapq.heappop(self._heads)
            number = -order if self._newest else order
            record = self._buffers[number].popleft()
            found.append(record)
            size += record.size
            self._push(number)
        return found

    def put_back(self, records: Sequence[BrowsedRecord]) -> None:
        """Return records, as `take` has given them last, that were not looked at."""
        for record in reversed(records):
            self._buffers[record.partition].appendleft(record)
        self._heads = []
        for number in self._buffers:
            self._push(number)

    def advance(self, record: BrowsedRecord) -> None:
        """Note that a record was looked at: the next page continues after it."""
        self.positions[record.partition] = record.offset + (not self._newest)

    def advance_over_gaps(self) -> None:
        """Continue after offsets without records, if all records that were read were looked at."""
        for number, buffered in self._buffers.items():
            if not buffered:
                self.positions[number] = self._unread[number]

    def _has_more(self, number: int) -> bool:
        low, end = self._spans[number]
        return self._unread[number] > low if self._newest else self._unread[number] < end

    def _push(self, number: int) -> None:
        buffered = self._buffers[number]
        if buffered:
            at = buffered[0].timestamp_ms
            key = (-at, -number) if self._newest else (at, number)
            heapq.heappush(self._heads, key)

    def _fill(self, wanted: int) -> None:
        """Read the next parts of partitions whose buffers are empty."""
        while not self._budget.spent:
            empty = [
                number
                for number, buffered in self._buffers.items()
                if not buffered and self._has_more(number)
            ]
            if not empty:
                return
            length = self._resized(wanted, len(empty))
            chunks = self._log.read(
                {number: self._next(number, length) for number in empty},
                self._budget,
                completely=self._newest,
            )
            for number, chunk in chunks.items():
                self._add(number, chunk, length)

    def _next(self, number: int, length: int) -> Range:
        low, end = self._spans[number]
        at = self._unread[number]
        return (max(low, at - length), at) if self._newest else (at, min(end, at + length))

    def _add(self, number: int, chunk: Chunk, length: int) -> None:
        start, end = self._next(number, length)
        self._offsets += chunk.reached - start
        if self._newest:
            if chunk.reached < end:
                return  # Its newest records are not there yet; it is read again.
            self._unread[number] = start
            self._buffers[number].extend(reversed(chunk.records))
        else:
            self._unread[number] = chunk.reached
            self._buffers[number].extend(chunk.records)
        self._push(number)

    def _resized(self, wanted: int, partitions: int) -> int:
        """Return how many offsets to read: more if there are gaps, fewer if records are large."""
        records, offsets = max(1, self._budget.records), max(1, self._offsets)
        average = max(1, self._budget.bytes // records)
        least = 1 + 2 * wanted // partitions
        most = min(least, _RECORDS_MAX, max(1, _BYTES_AT_ONCE // average))
        by_density = most * max(1, offsets // records)
        length = min(by_density, self._length * _GROWTH if self._offsets else _FIRST, _LENGTH_MAX)
        self._length = max(length, 1)
        return self._length
