"""The records between nodes of the reference evaluator, and the contents of its stores.

State is one dict per store and task, by key.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from duolog.plan.nodes import Node
from duolog.plan.schema import Schema
from duolog.serde.row import Row
from duolog.testing.reference.evaluation import Headers, RecordPosition
from duolog.testing.reference.scalars import RecordError

NOWHERE: Final = RecordPosition("", 0, 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record between nodes: a stream's `value`, or a table's change from `old` to `value`.

    `old_timestamp_ms` is the old row's, and only meaningful if there is one.
    """

    key: Row
    value: Row | None
    timestamp_ms: int
    old: Row | None = None
    old_timestamp_ms: int = 0
    latest: bool = True
    """For a table: True if the key has no later row."""
    branch: int = 0
    """After a split: the number of its branch."""
    place: RecordPosition = NOWHERE
    """The position of the source record that caused this record."""
    headers: Headers = ()


@dataclass(slots=True)
class TimestampedRow:
    """The content of a store for a key: a table's row, or an aggregation's accumulators."""

    row: Row
    timestamp_ms: int


Store = dict[Row, TimestampedRow]
Stores = dict[str, Store]
"""The stores of one task, by name."""

Run = Callable[[Entry, Stores], Sequence[Entry]]


def is_null(key: Row) -> bool:
    """Return True if a key is null: if all of its columns are."""
    return all(column is None for column in key)


def bounds_of(key: Row) -> tuple[int, int]:
    """Return the start and the end of the window in a key."""
    start, end = key[-2:]
    assert isinstance(start, int), key
    assert isinstance(end, int), key
    return start, end


class NewRowFailed(RecordError):
    """The new row of a change could not be computed; `left` is the rest of the change."""

    def __init__(self, left: Entry) -> None:
        super().__init__("a row of a join has no value")
        self.left = left


LookedUp = Callable[[Node, Node], Node]
"""Maps a node and a table to the node with the table's rows: `Levels.looked_up`."""

LookUp = Callable[[Row, Stores, int | None], "TimestampedRow | None"]
"""Returns the row of a key, now or at a time, with its timestamp, from the stores of a task."""


def after(entry: Entry, kept: TimestampedRow | None) -> Entry:
    """Return `entry` with the previous row and its timestamp."""
    if kept is None:
        return entry
    return replace(entry, old=kept.row, old_timestamp_ms=kept.timestamp_ms)


def made(entry: Entry, value: Row | None, timestamp_ms: int, key: Row | None = None) -> Entry:
    """Return a table's record caused by `entry`, without old row and without branch of a split."""
    return Entry(
        entry.key if key is None else key,
        value,
        timestamp_ms,
        place=entry.place,
        headers=entry.headers,
    )


def named(schema: Schema, key: Row, value: Row | None) -> dict[str, object]:
    """Return the columns of a record by name; a null value has null columns."""
    row = key + (value if value is not None else (None,) * len(schema.value))
    return dict(zip(schema.names, row, strict=True))
