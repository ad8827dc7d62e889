"""Decode the records of a source, each once for all queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from confluent_kafka import Message

from duolog.core.errors import SerdeError
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.sql.fanout.positions import Positions
from duolog.runtime.sql.tables.source_rows import SourceRows
from duolog.serde.row import Row


class Record(NamedTuple):
    """A decoded record; `row` is None for a null value."""

    partition: int
    offset: int
    identity: bytes | None
    """The bytes of the key, which identify a row of a table."""
    key: Row
    row: Row | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of each partition, between two positions."""

    records: Sequence[Record]
    before: Positions
    after: Positions
    size: int = 0
    """Size of the encoded records in bytes."""

    def since(self, positions: Positions) -> list[Record]:
        """Return the records at or after positions."""
        return [one for one in self.records if one.offset >= positions.get(one.partition, 0)]


def together(batches: Sequence[Batch]) -> Batch:
    """Return consecutive batches, at least one, as one."""
    records = [record for batch in batches for record in batch.records]
    size = sum(batch.size for batch in batches)
    return Batch(records, batches[0].before, batches[-1].after, size)


class Decoder:
    """Decodes records of one source; used from one thread at a time.

    Records that cannot be decoded, null values of streams and records of tables without a key are
    left out, as in persistent queries.
    """

    def __init__(self, source: SourceInfo) -> None:
        self._rows = SourceRows(source)
        self._is_table = source.is_table

    def batch(self, messages: Sequence[Message], before: Positions, after: Positions) -> Batch:
        """Return the records of messages between two positions."""
        found, size = [], 0
        for message in messages:
            size += len(message)
            identity = message.key()
            assert identity is None or isinstance(identity, bytes)
            if self._is_table and identity is None:
                continue
            try:
                key = self._rows.key(message)
                row = self._rows.row(message, key)
            except SerdeError:
                continue
            if row is not None or self._is_table:
                place = message.partition() or 0, message.offset() or 0
                found.append(Record(*place, identity, key, row))
        return Batch(found, before, after, size)
