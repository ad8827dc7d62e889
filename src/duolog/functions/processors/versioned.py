"""Stores of values by key, with earlier versions.

Source: Kafka Streams `VersionedKeyValueStore` (KIP-889).
"""

from typing import Any, NamedTuple

from duolog.functions.processors.segments import ExpiringStore, SegmentRow, parse_rows, write_rows
from duolog.functions.processors.store import ROWS


class Versioned(NamedTuple):
    """A version of a value with its time of validity. Source: Kafka Streams `VersionedRecord`.

    It is valid from and until these times; None: it is the latest.
    """

    value: Any
    timestamp_ms: int
    valid_to_ms: int | None


class VersionedStore(ExpiringStore):
    """Values by key with earlier versions. Source: Kafka Streams `VersionedKeyValueStore`.

    Versions can be read for as long as the retention, counted from the greatest time put.
    """

    def put(self, key: object, value: object, timestamp_ms: int) -> None:
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

    def delete(self, key: object, timestamp_ms: int) -> Versioned | None:
        """Delete a value from a time on; return the version valid then. Ignore an expired time."""
        if timestamp_ms < self._gone_by(self._known()[0]):
            return None
        before = self.get(key, timestamp_ms)
        self.put(key, None, timestamp_ms)
        return before

    def get(self, key: object, as_of_ms: int | None = None) -> Versioned | None:
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

    def _versions(self, key: bytes) -> list[SegmentRow]:
        held = self._entries.get(ROWS, key)
        return [] if held is None else parse_rows(held.data)

    def _still_known(self, versions: list[SegmentRow], time: int) -> list[SegmentRow]:
        """Return the versions without those that ended before the retention."""
        gone = self._gone_by(time)
        following = [one[0] for one in versions[1:]] + [None]
        return [
            one for one, end in zip(versions, following, strict=True) if end is None or end > gone
        ]
