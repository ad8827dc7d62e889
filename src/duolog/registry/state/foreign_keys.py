"""Keys that other registries have written with other bytes.

A compaction compares bytes. A record with our bytes does not replace one with theirs: once our
tombstone is compacted away, the old record would be back. Therefore, each write under such a key
also deletes the old bytes.

Known cases: a null subject in global keys (Confluent until 6.1, Karapace), another order of fields
(Karapace until 3.10), magic 0 in keys of schemas (Confluent 1).
"""

from collections.abc import Iterable

from duolog.registry.records.encoding import encode_key
from duolog.registry.records.keys import ForeignKey, Key
from duolog.registry.records.record import Record


class ForeignKeys:
    """The keys of records that are still in the topic under other bytes than ours."""

    def __init__(self) -> None:
        self._bytes: dict[Key, dict[bytes, None]] = {}

    def note(self, record: Record, key: bytes) -> None:
        """Remember the bytes of a record's key, unless they are ours."""
        if record.value is None:
            self._forget(record.key, key)
        elif key != encode_key(record.key):
            self._bytes.setdefault(record.key, {})[key] = None

    def replaced(self, records: Iterable[Record]) -> tuple[Record, ...]:
        """Return the records, each after the deletion of its key under other bytes."""
        if not self._bytes:
            return tuple(records)
        return tuple(part for record in records for part in self._with_deletions(record))

    def _with_deletions(self, record: Record) -> Iterable[Record]:
        for key in self._bytes.get(record.key, ()):
            yield Record(ForeignKey(key), None)
        yield record

    def _forget(self, key: Key, found: bytes) -> None:
        known = self._bytes.get(key)
        if known is not None:
            known.pop(found, None)
            if not known:
                del self._bytes[key]
