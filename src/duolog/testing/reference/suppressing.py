"""Suppress: buffered changes, in plain Python.

Source: Kafka Streams `KTableSuppressProcessor`, `InMemoryTimeOrderedKeyValueChangeBuffer`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from duolog.core.counts import counted
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import Suppress
from duolog.runtime.store_rows import StoredRow
from duolog.serde.row import Row
from duolog.serde.serde import key_serde
from duolog.testing.reference.entries import (
    Entry,
    Run,
    Store,
    Stores,
    TimestampedRow,
    after,
    bounds_of,
    made,
)


class Full(Exception):
    """The buffer exceeds its limit."""


@dataclass(slots=True)
class Waiting(TimestampedRow):
    """The last change of a key, the time since which it is buffered, and the row emitted before."""

    last: Entry
    since_ms: int
    prior: TimestampedRow | None


LookUp = Callable[[Row, Stores], TimestampedRow | None]


def suppress(node: Suppress) -> Run:
    """Return the function that buffers a change, and emits those that are due."""
    schema = node.schema
    keys = key_serde(internal_key_format(schema.inner_key).name, schema.key, schema.window)

    def place(item: tuple[Row, Waiting]) -> tuple[int, bytes]:
        return item[1].since_ms, keys.serialize(item[0]) or b""

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        waiting = cast("dict[Row, Waiting]", stores[node.store])
        _keep(node, entry, waiting)
        due = _seen(node, entry, stores) - node.delay_ms
        leaving = []
        for key, change in sorted(waiting.items(), key=place):
            full = node.max_records is not None and len(waiting) > node.max_records
            if change.since_ms > due and (not full or node.shut_down):
                break
            leaving.append(_told(waiting.pop(key)))
        if node.max_records is not None and len(waiting) > node.max_records:
            most = counted(node.max_records, "record")
            raise Full(f"{node} may buffer {most}, but has {len(waiting)}")
        return [one for one in leaving if one.value is not None or node.time_limit_ms is not None]

    return run


def _keep(node: Suppress, entry: Entry, waiting: dict[Row, Waiting]) -> None:
    known = waiting.get(entry.key)
    if known is not None:
        since, prior = known.since_ms, known.prior
    else:
        limited = node.time_limit_ms is not None
        since = entry.timestamp_ms if limited else bounds_of(entry.key)[1]
        prior = None if entry.old is None else TimestampedRow(entry.old, entry.old_timestamp_ms)
    waiting[entry.key] = Waiting(entry.value or (), entry.timestamp_ms, entry, since, prior)


def _told(change: Waiting) -> Entry:
    last = change.last
    return after(made(last, last.value, last.timestamp_ms), change.prior)


def _seen(node: Suppress, entry: Entry, stores: Stores) -> int:
    """Return stream time including this change; it is stored next to the rows."""
    times = stores.setdefault(f"{node.store}, stream time", {})
    seen = times.get(())
    now = max(entry.timestamp_ms, seen.timestamp_ms if seen else entry.timestamp_ms)
    times[()] = TimestampedRow((), now)
    return now


def waiting_rows(stores: Iterable[Store]) -> list[StoredRow]:
    """Return the new rows buffered in a store, of all tasks, without deletions."""
    changes = ((key, change) for store in stores for key, change in store.items())
    return [
        StoredRow(key, change.last.value, change.timestamp_ms)
        for key, change in changes
        if isinstance(change, Waiting) and change.last.value is not None
    ]


def emitted_by(node: Suppress, table: LookUp) -> LookUp:
    """Return the function that returns a row as it was last emitted downstream."""

    def look_up(key: Row, stores: Stores) -> TimestampedRow | None:
        change = stores[node.store].get(key)
        return change.prior if isinstance(change, Waiting) else table(key, stores)

    return look_up
