"""Stores of values by key.

Source: Kafka Streams `KeyValueStore`, `TimestampedKeyValueStore`.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from duolog.functions.processors.store import ROWS, Store, in_order
from duolog.serde.row import Row


class TimestampedValue(NamedTuple):
    """A value and its timestamp. Source: Kafka Streams `ValueAndTimestamp`."""

    value: Any
    timestamp_ms: int


KeyAndValue = tuple[Any, Any]
"""An entry, with the types of the store's columns."""


class KeyValueStore(Store):
    """Values by key. Source: Kafka Streams `KeyValueStore` and `TimestampedKeyValueStore`.

    With timestamps, reads return a `TimestampedValue`, and `put` accepts a timestamp; the default
    is the record's.
    """

    def get(self, key: object) -> Any:
        """Return the value of a key; None if there is none."""
        held = self._entries.get(ROWS, self._keys.encode(key))
        return None if held is None else self._shown(held.data, held.timestamp_ms)

    def put(self, key: object, value: object, timestamp_ms: int | None = None) -> None:
        """Set the value of a key; None deletes it."""
        if timestamp_ms is not None:
            self._ensure_time(timestamp_ms)
        data = None if value is None else self._values.encode(value).encode()
        self._entries.put(ROWS, self._keys.encode(key), data, timestamp_ms)

    def put_if_absent(self, key: object, value: object) -> Any:
        """Set the value of a key without one; return its previous value."""
        before = self.get(key)
        if before is None:
            self.put(key, value)
        return before

    def delete(self, key: object) -> Any:
        """Delete a key; return its previous value."""
        before = self.get(key)
        if before is not None:
            self.put(key, None)
        return before

    def all(self) -> Iterator[KeyAndValue]:
        """Yield keys and values in key order, as they are at the time of the call."""
        return self.range(None, None)

    def range(
        self, low: object = None, high: object = None, *, reverse: bool = False
    ) -> Iterator[KeyAndValue]:
        """Yield entries with keys in a range with inclusive bounds; None is unbounded."""
        fits = self._wanted(low, high)
        return self._sorted(fits, reverse=reverse)

    def prefix_scan(self, prefix: str) -> Iterator[KeyAndValue]:
        """Yield entries whose key, or its first column, is a text with this prefix."""

        def fits(key: Row) -> bool:
            return key[0] is not None and str(key[0]).startswith(prefix)

        return self._sorted(fits, reverse=False)

    def approximate_num_entries(self) -> int:
        """Return the exact number of keys, by counting them."""
        return len(self._entries.scan(ROWS))

    def _sorted(self, fits: Callable[[Row], bool], *, reverse: bool) -> Iterator[KeyAndValue]:
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
