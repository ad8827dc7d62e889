"""The stores of processors: by key, by key and window, by key and session, by key and time.

    kind        bucket and key of a row          content of a row
    key-value   1, key                           the value, with the record's timestamp
    versioned   1, key                           its versions, earliest first
    window      16 + segment of the start, key   the windows of the key in that segment
    session     16 + segment of the end, key     its sessions
    all others  0, ""                            the greatest time put, and the segments

A segment is a span of time whose rows expire together: half of the retention, at least a minute.
Rows that are older than the greatest time put by more than the retention cannot be found, and their
segments are emptied.

A key of one column is its value, a key of several is a tuple; a value of one column is that value,
a value of several is a dict. A query by range, or without a key, scans the whole store of one task.

Source: Kafka Streams `TimestampedKeyValueStore`, `WindowStore`, `SessionStore`,
`VersionedKeyValueStore` (KIP-889), `AbstractSegments`.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from duolog.core.errors import StatementError
from duolog.functions.processors.codecs import KeyCodec, ValueCodec
from duolog.functions.processors.entries import Entries
from duolog.plan.processors import KeptStore

ABOUT: Final = 0
"""The bucket of a store's metadata."""
ROWS: Final = 1
"""The bucket of rows without windows."""
SEGMENTS: Final = 16
"""The bucket of the first segment."""
_NO_TIME: Final = -1


class TimestampedValue(NamedTuple):
    """A value and its timestamp. Source: Kafka Streams `ValueAndTimestamp`."""

    value: Any
    timestamp_ms: int


class Windowed(NamedTuple):
    """A key with the bounds of its window or session in ms. Source: Kafka Streams `Windowed`."""

    key: Any
    start_ms: int
    end_ms: int


class Versioned(NamedTuple):
    """A version of a value with its time of validity. Source: Kafka Streams `VersionedRecord`.

    It is valid from and until these times; None: it is the latest.
    """

    value: Any
    timestamp_ms: int
    valid_to_ms: int | None


class Store:
    """The base of all stores."""

    def __init__(self, spec: KeptStore, entries: Entries) -> None:
        self._spec = spec
        self._entries = entries
        self._keys = KeyCodec(spec)
        self._values = ValueCodec(spec)

    @property
    def name(self) -> str:
        return self._spec.name

    def at(self, timestamp_ms: int) -> None:
        """Set the timestamp of later writes."""
        self._entries.timestamp_ms = timestamp_ms

    def flush(self) -> None:
        """Write pending changes."""
        self._entries.flush()

    def forget(self) -> None:
        """Drop cached rows: another process may have written."""
        self._entries.forget()

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Refuse writes while the context is active."""
        self._entries.refuses = True
        try:
            yield
        finally:
            self._entries.refuses = False

    def _ensure_time(self, at: int) -> None:
        if at < 0:
            raise StatementError(
                f'a row of store "{self.name}" has the time {at} ms',
                detail="Times are milliseconds since 1970, and must not be negative.",
            )

    def _wanted(self, low: Any, high: Any) -> Callable[[tuple[Any, ...]], bool]:
        """Return a predicate for keys in a range with inclusive bounds; None is unbounded."""
        first = None if low is None else in_order(self._keys.decode(self._keys.encode(low)))
        last = None if high is None else in_order(self._keys.decode(self._keys.encode(high)))

        def fits(key: tuple[Any, ...]) -> bool:
            at = in_order(key)
            return (first is None or first <= at) and (last is None or at <= last)

        return fits


def in_order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key's sort key: NaN after numbers, nulls last, values without an order by text."""
    return tuple(
        (2, 0) if value is None else (1, 0) if value != value else (0, _ordered(value))  # noqa: PLR0124 - NaN alone is not what it is
        for value in key
    )


def _ordered(value: Any) -> Any:
    return str(value) if isinstance(value, dict | list | tuple) else value


class KeyValueStore(Store):
    """Values by key. Source: Kafka Streams `KeyValueStore` and `TimestampedKeyValueStore`.

    With timestamps, reads return a `TimestampedValue`, and `put` accepts a timestamp; the default
    is the record's.
    """

    def get(self, key: Any) -> Any:
        """Return the value of a key; None if there is none."""
        held = self._entries.get(ROWS, self._keys.encode(key))
        return None if held is None else self._shown(held.data, held.timestamp_ms)

    def put(self, key: Any, value: Any, timestamp_ms: int | None = None) -> None:
        """Set the value of a key; None deletes it."""
        if timestamp_ms is not None:
            self._ensure_time(timestamp_ms)
        data = None if value is None else self._values.encode(value).encode()
        self._entries.put(ROWS, self._keys.encode(key), data, timestamp_ms)

    def put_if_absent(self, key: Any, value: Any) -> Any:
        """Set the value of a key without one; return its previous value."""
        before = self.get(key)
        if before is None:
            self.put(key, value)
        return before

    def delete(self, key: Any) -> Any:
        """Delete a key; return its previous value."""
        before = self.get(key)
        if before is not None:
            self.put(key, None)
        return before

    def all(self) -> Iterator[tuple[Any, Any]]:
        """Yield keys and values in key order, as they are at the time of the call."""
        return self.range(None, None)

    def range(
        self, low: Any = None, high: Any = None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """Yield entries with keys in a range with inclusive bounds; None is unbounded."""
        fits = self._wanted(low, high)
        return self._sorted(fits, reverse=reverse)

    def prefix_scan(self, prefix: str) -> Iterator[tuple[Any, Any]]:
        """Yield entries whose key, or its first column, is a text with this prefix."""

        def fits(key: tuple[Any, ...]) -> bool:
            return key[0] is not None and str(key[0]).startswith(prefix)

        return self._sorted(fits, reverse=False)

    def approximate_num_entries(self) -> int:
        """Return the exact number of keys, by counting them."""
        return len(self._entries.scan(ROWS))

    def _sorted(
        self, fits: Callable[[tuple[Any, ...]], bool], *, reverse: bool
    ) -> Iterator[tuple[Any, Any]]:
        found = ((self._keys.decode(data), held) for data, held in self._entries.scan(ROWS).items())
        rows = sorted(
            ((key, held) for key, held in found if fits(key)),
            key=lambda row: in_order(row[0]),
            reverse=reverse,
        )
        return (
            (key[0] if len(key) == 1 else key, self._shown(held.data, held.timestamp_ms))
            for key, held in rows
        )

    def _shown(self, data: bytes, timestamp_ms: int) -> Any:
        value = self._values.decode(self._values.parse(data.decode()))
        return TimestampedValue(value, timestamp_ms) if self._spec.timestamped else value


class _OfTime(Store):
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


_Row = list[Any]
"""A row of a segment: time, second time, value as JSON text so that no digit is lost."""


class _Segmented(_OfTime):
    """Rows by key and time, in segments."""

    def _put(self, key: Any, at: int, beside: int, value: Any) -> None:
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

    def _rows(self, segment: int, key: bytes) -> list[_Row]:
        held = self._entries.get(SEGMENTS + segment, key)
        return [] if held is None else parse_rows(held.data)

    def _write(self, segment: int, key: bytes, rows: list[_Row]) -> None:
        self._entries.put(SEGMENTS + segment, key, write_rows(rows) if rows else None)

    def _of_key(self, key: Any, first: int, last: int) -> Iterator[_Row]:
        """Yield the rows of a key with times from `first` to `last`, earliest first."""
        data = self._keys.encode(key)
        time, segments = self._known()
        first = max(first, self._gone_by(time) + 1)
        for segment in self._between(segments, first, last):
            for row in self._rows(segment, data):
                if first <= row[0] <= last:
                    yield [row[0], row[1], self._value(row[2])]

    def _of_all(
        self, low: Any, high: Any, first: int, last: int
    ) -> Iterator[tuple[tuple[Any, ...], _Row]]:
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

    def _value(self, text: str) -> Any:
        return self._values.decode(self._values.parse(text))


def parse_rows(data: bytes) -> list[_Row]:
    """Return rows; their values are still JSON text."""
    return [list(row) for row in json.loads(data)]


def time_of(about: bytes) -> int:
    """Return the greatest time put, from a store's metadata."""
    time: int = json.loads(about)[0]
    return time


def write_rows(rows: list[_Row]) -> bytes:
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


class WindowStore(_Segmented):
    """Values by key and window, identified by its start. Source: Kafka Streams `WindowStore`."""

    def put(self, key: Any, value: Any, window_start_ms: int) -> None:
        """Set the value of a key's window; None deletes it. An expired window is dropped."""
        self._put(key, window_start_ms, 0, value)

    def fetch(self, key: Any, window_start_ms: int) -> Any:
        """Return the value of a key's window; None if there is none."""
        found = self._of_key(key, window_start_ms, window_start_ms)
        return next((value for _, _, value in found), None)

    def fetch_between(self, key: Any, from_ms: int, to_ms: int) -> Iterator[tuple[int, Any]]:
        """Yield start and value of a key's windows that start in an inclusive time range."""
        return ((start, value) for start, _, value in self._of_key(key, from_ms, to_ms))

    def fetch_keys(
        self, low: Any, high: Any, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed, Any]]:
        """Yield the same for a range of keys with inclusive bounds; None is unbounded."""
        for key, (start, _, value) in self._of_all(low, high, from_ms, to_ms):
            yield self._window(key, start), value

    def fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed, Any]]:
        """Yield the windows of all keys that start in an inclusive time range."""
        return self.fetch_keys(None, None, from_ms, to_ms)

    def all(self) -> Iterator[tuple[Windowed, Any]]:
        """Yield all windows, ordered by key and time."""
        return self.fetch_all(0, 2**63 - 1)

    def _window(self, key: tuple[Any, ...], start: int) -> Windowed:
        shown = key[0] if len(key) == 1 else key
        return Windowed(shown, start, start + self._spec.window_ms)


class SessionStore(_Segmented):
    """Values by key and session, identified by its bounds. Source: Kafka Streams `SessionStore`."""

    def put(self, key: Any, start_ms: int, end_ms: int, value: Any) -> None:
        """Set the value of a key's session; None deletes it. An expired session is dropped."""
        if start_ms > end_ms:
            raise StatementError(f"a session from {start_ms} to {end_ms} ms ends before it starts")
        self._put(key, end_ms, start_ms, value)

    def remove(self, key: Any, start_ms: int, end_ms: int) -> None:
        """Delete a session."""
        self.put(key, start_ms, end_ms, None)

    def fetch_session(self, key: Any, start_ms: int, end_ms: int) -> Any:
        """Return the value of a key's session; None if there is none."""
        found = self._of_key(key, end_ms, end_ms)
        return next((value for _, start, value in found if start == start_ms), None)

    def find_sessions(
        self, key: Any, earliest_end_ms: int, latest_start_ms: int
    ) -> Iterator[tuple[Windowed, Any]]:
        """Yield a key's sessions that end at or after one time and start at or before another."""
        for end, start, value in self._of_key(key, earliest_end_ms, 2**63 - 1):
            if start <= latest_start_ms:
                yield Windowed(key, start, end), value

    def fetch(self, key: Any) -> Iterator[tuple[Windowed, Any]]:
        """Yield all sessions of a key."""
        return self.find_sessions(key, 0, 2**63 - 1)

    def all(self) -> Iterator[tuple[Windowed, Any]]:
        """Yield the sessions of all keys."""
        for key, (end, start, value) in self._of_all(None, None, 0, 2**63 - 1):
            yield Windowed(key[0] if len(key) == 1 else key, start, end), value


class VersionedStore(_OfTime):
    """Values by key with earlier versions. Source: Kafka Streams `VersionedKeyValueStore`.

    Versions can be read for as long as the retention, counted from the greatest time put.
    """

    def put(self, key: Any, value: Any, timestamp_ms: int) -> None:
        """Set the value from a time until the next version, or delete it. Ignore expired times."""
        self._ensure_time(timestamp_ms)
        data = self._keys.encode(key)
        text = None if value is None else self._values.encode(value)
        time, _ = self._known()
        if timestamp_ms > time:
            time = timestamp_ms
            self._keep(time, [])
        versions = self._versions(data)
        if timestamp_ms < self._gone_by(time):
            return
        versions = [one for one in versions if one[0] != timestamp_ms]
        versions.append([timestamp_ms, 0, text])
        versions.sort(key=lambda one: one[0])
        self._entries.put(ROWS, data, write_rows(self._still_known(versions, time)), timestamp_ms)

    def delete(self, key: Any, timestamp_ms: int) -> Versioned | None:
        """Delete a value from a time on; return the version valid then. Ignore an expired time."""
        if timestamp_ms < self._gone_by(self._known()[0]):
            return None
        before = self.get(key, timestamp_ms)
        self.put(key, None, timestamp_ms)
        return before

    def get(self, key: Any, as_of_ms: int | None = None) -> Versioned | None:
        """Return the latest version, or the one at a time; None if missing or expired."""
        versions = self._versions(self._keys.encode(key))
        if as_of_ms is not None and as_of_ms < self._gone_by(self._known()[0]):
            # Only the latest version is reliable at an expired time.
            versions = versions[-1:]
        until = None
        for at, _, text in reversed(versions):
            if as_of_ms is None or at <= as_of_ms:
                if text is None:
                    return None
                return Versioned(self._values.decode(self._values.parse(text)), at, until)
            until = at
        return None

    def _versions(self, key: bytes) -> list[_Row]:
        held = self._entries.get(ROWS, key)
        return [] if held is None else parse_rows(held.data)

    def _still_known(self, versions: list[_Row], time: int) -> list[_Row]:
        """Return the versions without those that ended before the retention."""
        gone = self._gone_by(time)
        following = [one[0] for one in versions[1:]] + [None]
        return [
            one for one, end in zip(versions, following, strict=True) if end is None or end > gone
        ]


KINDS: Final[dict[str, type[Store]]] = {
    "key-value": KeyValueStore,
    "window": WindowStore,
    "session": SessionStore,
    "versioned": VersionedStore,
}
