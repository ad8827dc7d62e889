"""Stores whose rows expire, and the segments of time in which their rows are kept.

A segment is a span of time whose rows expire together: half of the retention, at least a minute.
Rows that are older than the greatest time put by more than the retention cannot be found, and their
segments are emptied.

Source: Kafka Streams `AbstractSegments`.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from duolog.functions.processors.store import Store, in_order
from duolog.serde.row import Row

ABOUT: Final = 0
"""The bucket of a store's metadata."""
SEGMENTS: Final = 16
"""The bucket of the first segment."""
_NO_TIME: Final = -1


class ExpiringStore(Store):
    """The base of stores whose rows expire relative to the greatest time put."""

    def _known(self) -> tuple[int, list[int]]:
        """Return the greatest time put, and the segments with rows."""
        held = self._entries.get(ABOUT, b"")
        if held is None:
            return _NO_TIME, []
        time, segments = json.loads(held.data)
        return time, segments

    def _keep(self, time: int, segments: list[int]) -> None:
        self._entries.put(ABOUT, b"", json.dumps([time, segments]).encode(), time)

    def _gone_by(self, time: int) -> int:
        """Return the latest time whose rows have expired."""
        return time - self._spec.retention_ms


SegmentRow = list[Any]
"""A row of a segment: time, second time, value as JSON text so that no digit is lost."""


class SegmentedStore(ExpiringStore):
    """Rows by key and time, in segments."""

    def _put(self, key: object, at: int, beside: int, value: object) -> None:
        """Put or delete a row; an expired one is dropped, as in Kafka Streams."""
        data = self._keys.encode(key)
        text = None if value is None else self._values.encode(value)
        time, segments = self._known()
        self._ensure_time(min(at, beside))
        if at > time:
            time = at
            segments = self._without_gone(time, segments)
            self._keep(time, segments)
        if at <= self._gone_by(time):
            return
        segment = at // self._spec.segment_ms
        rows = [row for row in self._rows(segment, data) if row[:2] != [at, beside]]
        if text is not None:
            rows.append([at, beside, text])
            rows.sort(key=lambda row: (row[0], row[1]))
            if segment not in segments:
                self._keep(time, sorted([*segments, segment]))
        self._write(segment, data, rows)

    def _without_gone(self, time: int, segments: list[int]) -> list[int]:
        """Empty the segments that have expired; return the others."""
        left = []
        for segment in segments:
            if (segment + 1) * self._spec.segment_ms - 1 > self._gone_by(time):
                left.append(segment)
            else:
                for key in self._entries.scan(SEGMENTS + segment):
                    self._entries.put(SEGMENTS + segment, key, None)
        return left

    def _rows(self, segment: int, key: bytes) -> list[SegmentRow]:
        held = self._entries.get(SEGMENTS + segment, key)
        return [] if held is None else parse_rows(held.data)

    def _write(self, segment: int, key: bytes, rows: list[SegmentRow]) -> None:
        self._entries.put(SEGMENTS + segment, key, write_rows(rows) if rows else None)

    def _of_key(self, key: object, first: int, last: int) -> Iterator[SegmentRow]:
        """Yield the rows of a key with times from `first` to `last`, earliest first."""
        data = self._keys.encode(key)
        time, segments = self._known()
        first = max(first, self._gone_by(time) + 1)
        for segment in self._between(segments, first, last):
            for row in self._rows(segment, data):
                if first <= row[0] <= last:
                    yield [row[0], row[1], self._value(row[2])]

    def _of_all(
        self, low: object, high: object, first: int, last: int
    ) -> Iterator[tuple[Row, SegmentRow]]:
        """Yield the rows of keys in a range, ordered by key and time."""
        fits = self._wanted(low, high)
        time, segments = self._known()
        first = max(first, self._gone_by(time) + 1)
        found = []
        for segment in self._between(segments, first, last):
            for data, held in self._entries.scan(SEGMENTS + segment).items():
                key = self._keys.decode(data)
                if fits(key):
                    rows = (row for row in parse_rows(held.data) if first <= row[0] <= last)
                    found += [(key, [row[0], row[1], self._value(row[2])]) for row in rows]
        return iter(sorted(found, key=lambda one: (in_order(one[0]), one[1][:2])))

    def _between(self, segments: list[int], first: int, last: int) -> list[int]:
        length = self._spec.segment_ms
        return [one for one in segments if first // length <= one <= last // length]

    def _value(self, text: str) -> object:
        return self._values.decode(self._values.parse(text))


def parse_rows(data: bytes) -> list[SegmentRow]:
    """Return rows; their values are still JSON text."""
    return [list(row) for row in json.loads(data)]


def time_of(about: bytes) -> int:
    """Return the greatest time put, from a store's metadata."""
    time: int = json.loads(about)[0]
    return time


def write_rows(rows: list[SegmentRow]) -> bytes:
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
