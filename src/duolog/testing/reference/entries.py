"""What goes from node to node in the reference evaluator, and what its stores hold.

State is a dict for each store, of one task, by key.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from duolog.plan.nodes import Node
from duolog.plan.schema import Schema
from duolog.serde.row import Row
from duolog.testing.reference.evaluation import Headers, Place
from duolog.testing.reference.scalars import RecordError

NOWHERE: Final = Place("", 0, 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record between nodes: a stream's `value`, or a table's change from `old` to `value`.

    `old_timestamp_ms` is the old row's, and says something only where there is one.
    """

    key: Row
    value: Row | None
    timestamp_ms: int
    old: Row | None = None
    old_timestamp_ms: int = 0
    latest: bool = True
    """Of a table: whether there is no later row of the key."""
    branch: int = 0
    """Behind a split: which branch it goes to."""
    place: Place = NOWHERE
    """Of the source's record that has set it off."""
    headers: Headers = ()


@dataclass(slots=True)
class Kept:
    """What a store holds for a key: a table's row, or an aggregation's accumulators."""

    row: Row
    timestamp_ms: int


Store = dict[Row, Kept]
Stores = dict[str, Store]
"""The stores of one task, by name."""

Run = Callable[[Entry, Stores], Sequence[Entry]]


def is_null(key: Row) -> bool:
    """Tell if a key is null: all of its columns are."""
    return all(column is None for column in key)


class NewRowFailed(RecordError):
    """The new side of a change has no value; what is left of the change."""

    def __init__(self, left: Entry) -> None:
        super().__init__("a row of a join has no value")
        self.left = left


LookedUp = Callable[[Node, Node], Node]
"""Where a node finds the rows of a table: `Levels.looked_up`."""

LookUp = Callable[[Row, Stores, int | None], "Kept | None"]
"""Finds the row that a key has, or had at a time, and its timestamp, in the stores of a task."""


def after(entry: Entry, kept: Kept | None) -> Entry:
    """Return `entry` with the row that was there before, and its timestamp."""
    if kept is None:
        return entry
    return replace(entry, old=kept.row, old_timestamp_ms=kept.timestamp_ms)


def made(entry: Entry, value: Row | None, timestamp_ms: int, key: Row | None = None) -> Entry:
    """Return what `entry` has made of a table: without an old row, and no branch of a split."""
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
