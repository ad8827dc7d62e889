"""Stream-table joins in plain Python that buffer records until the rows of their time arrive.

Buffered records are in the store of the join, ordered by time, under one key, together with stream
time.

Source: Kafka Streams `KStreamKTableJoinProcessor`, `RocksDBTimeOrderedKeyValueBuffer`.
"""

from collections.abc import Sequence
from typing import cast

from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import StreamTableJoin
from duolog.serde.serde import key_serde
from duolog.testing.reference.entries import Entry, Run, Stores, TimestampedRow, is_null


def waiting(node: StreamTableJoin, grace_ms: int, join: Run) -> Run:
    """Return the join of records buffered until stream time passes theirs by the grace period."""
    (buffer,) = node.stores
    key = node.stream.schema.key
    key_bytes = key_serde(internal_key_format(key).name, key).serialize

    def in_order(entry: Entry) -> tuple[int, bytes]:
        return entry.timestamp_ms, key_bytes(entry.key) or b""

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if entry.value is None:
            return []
        kept = stores[buffer].get((), TimestampedRow((), -1))
        if is_null(entry.key) or entry.timestamp_ms < kept.timestamp_ms - grace_ms:
            return join(entry, stores)
        now = max(entry.timestamp_ms, kept.timestamp_ms)
        held = sorted([*cast("tuple[Entry, ...]", kept.row), entry], key=in_order)
        due = [entry for entry in held if entry.timestamp_ms <= now - grace_ms]
        stores[buffer][()] = TimestampedRow(tuple(held[len(due) :]), now)
        return [result for waited in due for result in join(waited, stores)]

    return run
