"""Joins of streams and tables with the row of a key in another table.

Source: Kafka Streams `KStreamKTableJoin`, `KTableKTableJoin`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from duolog.plan.expressions import Scope
from duolog.plan.nodes import GlobalTableJoin, JoinSide, StreamTableJoin
from duolog.serde.row import Row
from duolog.testing.reference.entries import (
    Entry,
    LookUp,
    NewRowFailed,
    Run,
    Stores,
    TimestampedRow,
    after,
    is_null,
    made,
    named,
)
from duolog.testing.reference.evaluation import Values, compile_expression
from duolog.testing.reference.row_functions import columns_at, row_function
from duolog.testing.reference.scalars import RecordError


def join_with_table(node: StreamTableJoin | GlobalTableJoin, look_up: LookUp) -> Run:
    key_of = _key_of(node)
    left = node.stream.schema
    right = node.table.schema.value
    scope = Scope(left.columns, table_columns=right, of_record=True)
    values = [compile_expression(expression, scope) for _, expression in node.values]

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if entry.value is None:
            return []
        key = key_of(entry)
        found = None if is_null(key) else look_up(key, stores, entry.timestamp_ms)
        if found is None and node.kind == "inner":
            return []
        row = found.row if found else (None,) * len(right)
        at_hand = Values(
            named(left, entry.key, entry.value),
            {column.name: value for column, value in zip(right, row, strict=True)},
            timestamp_ms=entry.timestamp_ms,
            record=entry,
        )
        return [replace(entry, value=tuple(value(at_hand) for value in values))]

    return run


def _key_of(node: StreamTableJoin | GlobalTableJoin) -> Callable[[Entry], Row]:
    """Return the function from a record to the key with which it looks up the table."""
    if isinstance(node, StreamTableJoin):
        return lambda entry: entry.key
    keys = row_function(node.stream.schema, tuple(("", key) for key in node.keys))
    return lambda entry: keys(*columns_at(entry))


def join_side(node: JoinSide, look_up: LookUp) -> Run:
    joined = joined_row(node)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if not entry.latest:
            return []
        other = look_up(entry.key, stores, None)
        if other is None and (node.needs_other or (entry.value is None and entry.old is None)):
            return []
        time = max(entry.timestamp_ms, other.timestamp_ms) if other else entry.timestamp_ms
        try:
            old = joined(entry.key, _kept(entry.old, entry.old_timestamp_ms), other)
        except RecordError:  # reported when the row was new
            old = None
        try:
            new = joined(entry.key, _kept(entry.value, entry.timestamp_ms), other)
        except RecordError as error:
            raise NewRowFailed(after(made(entry, None, time), old)) from error
        return [after(made(entry, new.row if new else None, time), old)]

    return run


def _kept(row: Row | None, timestamp_ms: int) -> TimestampedRow | None:
    return None if row is None else TimestampedRow(row, timestamp_ms)


def joined_row(
    node: JoinSide,
) -> Callable[[Row, TimestampedRow | None, TimestampedRow | None], TimestampedRow | None]:
    """Return the function from key, own row and other table's row to the joined row."""
    left, right = node.left.schema, node.right.schema.value
    scope = Scope(left.columns, table_columns=right)
    values = [compile_expression(expression, scope) for _, expression in node.values]

    def compute(
        key: Row, own: TimestampedRow | None, other: TimestampedRow | None
    ) -> TimestampedRow | None:
        there = [kept for kept in (own, other) if kept]
        lacks = (own is None and node.needs_own) or (other is None and node.needs_other)
        if lacks or not there:
            return None
        of_left, of_right = (own, other) if node.of_left else (other, own)
        row = of_right.row if of_right else (None,) * len(right)
        time = max(kept.timestamp_ms for kept in there)
        at_hand = Values(
            named(left, key, of_left.row if of_left else None),
            {column.name: value for column, value in zip(right, row, strict=True)},
            timestamp_ms=time,
        )
        return TimestampedRow(tuple(value(at_hand) for value in values), time)

    return compute
