"""The function of each node of a plan, in plain Python: the reference for the engine.

A stream's record has a value; a table's record has the old and the new row. `run` returns the
records that a node forwards. Aggregates are in `aggregating`, joins of streams in `joining`.

Source: Kafka Streams `KTableSource`, `KTableFilter`, `KTableMapValues`, `KStreamKTableJoin`,
`KStreamFlatMapValues`, `KStreamBranch`, `KTableRepartitionMap`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Final, cast

from duolog.plan.cutting.cuts import TableCopy
from duolog.plan.expressions import Named, Scope
from duolog.plan.nodes import (
    AggregateNode,
    Announce,
    Answers,
    Branch,
    Explode,
    Filter,
    ForEach,
    ForeignJoin,
    ForeignTable,
    GlobalTableJoin,
    GlobalTableSource,
    GroupBy,
    JoinSide,
    Merge,
    Newest,
    Node,
    Numbered,
    Print,
    Process,
    ProcessOutput,
    Project,
    Rename,
    Repartition,
    SelectKey,
    SetHeaders,
    SetTime,
    Sink,
    Split,
    StreamJoin,
    StreamJoinSide,
    StreamSource,
    StreamTableJoin,
    Subscribe,
    Subscriptions,
    Suppress,
    TableJoin,
    TableSource,
    ToStream,
    ToTable,
)
from duolog.plan.schema import Schema
from duolog.serde.row import Row
from duolog.testing.reference.aggregating import fold_of, is_over, results_of
from duolog.testing.reference.calling import called
from duolog.testing.reference.entries import (
    Entry,
    LookedUp,
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
from duolog.testing.reference.expiry import find, see
from duolog.testing.reference.foreign_joins import (
    announce,
    foreign_join,
    foreign_table,
    newest,
    numbered,
    subscribe,
    subscriptions,
)
from duolog.testing.reference.joining import stream_join_of
from duolog.testing.reference.metadata import set_headers, set_time
from duolog.testing.reference.scalars import RecordError
from duolog.testing.reference.suppressing import emitted_by, suppress
from duolog.testing.reference.versions import version_at, versioned_table
from duolog.testing.reference.waiting import waiting


def compile_node(node: Node, looked_up: LookedUp) -> Run:
    """Return the function that runs `node` on one record and the stores of its task."""
    if isinstance(node, StreamTableJoin | GlobalTableJoin):
        join = _join(node, kept_by(looked_up(node, node.table), looked_up))
        if isinstance(node, StreamTableJoin) and node.grace_ms is not None:
            return waiting(node, node.grace_ms, join)
        return join
    if isinstance(node, JoinSide):
        return _join_side(node, kept_by(looked_up(node, node.other), looked_up))
    if isinstance(node, Subscriptions):
        return subscriptions(node, kept_by(looked_up(node, node.right), looked_up))
    return _OPERATORS[type(node)](node)


def _pass(_node: Node) -> Run:
    return lambda entry, _stores: [entry]


def _to_stream(_node: ToStream) -> Run:
    return lambda entry, _stores: [replace(entry, old=None)]


def _group(node: GroupBy) -> Run:
    return _group_table(node) if node.is_table else _group_stream(node)


def without_failed_old(run: Run, entry: Entry) -> Entry:
    """Return a change without its old row if that row failed and was never forwarded."""
    try:
        run(replace(entry, value=None), {})
    except RecordError:
        return replace(entry, old=None)
    return entry


def _table(node: TableSource | TableCopy | ToTable) -> Run:
    if node.history_ms is not None:
        return versioned_table(node.store, node.history_ms)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if is_null(entry.key):
            return []
        see(node, entry, stores)
        store, kept = stores[node.store], find(node, entry.key, stores)
        store.pop(entry.key, None)
        if entry.value is not None:
            store[entry.key] = TimestampedRow(entry.value, entry.timestamp_ms)
        return [after(entry, kept)]

    return run


def _filter(node: Filter) -> Run:
    holds = _row_function(node.schema, (("", node.predicate),))

    def kept(key: Row, row: Row | None, time: int) -> Row | None:
        return row if row is not None and holds(key, row, time) == (True,) else None

    def run_table(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        new = kept(entry.key, entry.value, entry.timestamp_ms)
        old = kept(entry.key, entry.old, entry.old_timestamp_ms)
        if new is None and old is None and node.history_ms is None:
            return []
        return [replace(entry, value=new, old=old)]

    def run_stream(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        return [entry] if holds(*_read(entry)) == (True,) else []

    return run_table if node.is_table else run_stream


def _project(node: Project) -> Run:
    values = _row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        key = entry.key
        new = None if entry.value is None else values(*_read(entry))
        old = None if entry.old is None else values(key, entry.old, entry.old_timestamp_ms)
        return [replace(entry, value=new, old=old)]

    return run


def _explode(node: Explode) -> Run:
    of = _row_function(node.parent.schema, tuple(("", array) for array in node.arrays))
    kept, names = node.parent.schema, node.schema.value

    def elements(entry: Entry) -> list[Row]:
        found = of(*_read(entry))
        if isinstance(found[0], dict):
            return list(found[0].items())
        arrays = cast("list[Sequence[object]]", [array or () for array in found])
        return list(zip_longest(*arrays))

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        if entry.value is None:
            return [entry] if node.outer else []
        nulls = [(None,) * len(node.into)] if node.outer else []
        row = named(kept, entry.key, entry.value)
        rows = (
            row | dict(zip(node.into, found, strict=True)) for found in elements(entry) or nulls
        )
        return [replace(entry, value=tuple(one[name.name] for name in names)) for one in rows]

    return run


def _split(node: Split) -> Run:
    conditions = [_row_function(node.schema, (("", of),)) for of in node.predicates]

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        row = _read(entry)
        first = next((n for n, holds in enumerate(conditions) if holds(*row) == (True,)), None)
        return [replace(entry, branch=len(conditions) if first is None else first)]

    return run


def _branch(node: Branch | ProcessOutput) -> Run:
    return lambda entry, _stores: [entry] if entry.branch == node.number else []


def _select_key(node: SelectKey) -> Run:
    keys = _row_function(node.parent.schema, node.keys)
    values = _row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        row = _read(entry)
        value = None if entry.value is None else values(*row)
        return [replace(entry, key=keys(*row), value=value)]

    return run


def _group_stream(node: GroupBy) -> Run:
    keys = _row_function(node.parent.schema, node.keys)
    values = _row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        if entry.value is None:
            return []
        row = _read(entry)
        key = keys(*row)
        return [] if None in key else [replace(entry, key=key, value=values(*row))]

    return run


def _group_table(node: GroupBy) -> Run:
    keys = _row_function(node.parent.schema, node.keys)
    values = _row_function(node.parent.schema, node.values)

    def side(of: Row, row: Row | None, time: int) -> tuple[Row, Row] | None:
        if row is None:
            return None
        key = keys(of, row, time)
        return None if None in key else (key, values(of, row, time))

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        if not entry.latest:
            return []
        old = side(entry.key, entry.old, entry.old_timestamp_ms)
        new = side(entry.key, entry.value, entry.timestamp_ms)
        if old and new and old[0] == new[0]:
            return [replace(entry, key=new[0], value=new[1], old=old[1])]
        found = []
        if old:
            found.append(replace(entry, key=old[0], value=None, old=old[1]))
        if new:
            found.append(replace(entry, key=new[0], value=new[1], old=None))
        return found

    return run


def _join(node: StreamTableJoin | GlobalTableJoin, look_up: LookUp) -> Run:
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
    keys = _row_function(node.stream.schema, tuple(("", key) for key in node.keys))
    return lambda entry: keys(*_read(entry))


def _join_side(node: JoinSide, look_up: LookUp) -> Run:
    joined = _joined_row(node)

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


def _joined_row(
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


def kept_by(table: Node, looked_up: LookedUp) -> LookUp:
    """Return the function that returns the row of a key in `table`, stored or computed."""
    match table:
        case TableSource() | TableCopy() | ToTable() | ForeignJoin():
            return _kept_rows(table)
        case AggregateNode():
            results = results_of(table)

            def of_aggregate(key: Row, stores: Stores, _time: int | None) -> TimestampedRow | None:
                kept = find(table, key, stores)
                if kept is None or is_over(table, key, stores):
                    return None
                return TimestampedRow(results(key, kept), kept.timestamp_ms)

            return of_aggregate
        case Filter() | Project() | Rename():
            parent = kept_by(table.parent, looked_up)
            run = _OPERATORS[type(table)](table)

            def derived(key: Row, stores: Stores, time: int | None) -> TimestampedRow | None:
                kept = parent(key, stores, time)
                try:
                    found = run(Entry(key, kept.row, kept.timestamp_ms), stores) if kept else []
                except RecordError:  # reported when the row was new; counts as deleted since
                    return None
                row = found[0].value if found else None
                return (
                    None if kept is None or row is None else TimestampedRow(row, kept.timestamp_ms)
                )

            return derived
        case Suppress():
            above = kept_by(table.parent, looked_up)
            emitted = emitted_by(table, lambda key, stores: above(key, stores, None))
            return lambda key, stores, _time: emitted(key, stores)
        case TableJoin(sides=(of_left, of_right)):
            left = kept_by(looked_up(of_right, table.left), looked_up)
            right = kept_by(looked_up(of_left, table.right), looked_up)
            joined = _joined_row(of_left)

            def of_join(key: Row, stores: Stores, _time: int | None) -> TimestampedRow | None:
                try:
                    return joined(key, left(key, stores, None), right(key, stores, None))
                except RecordError:  # reported when the row was new; counts as deleted since
                    return None

            return of_join
        case _:
            raise AssertionError(f"{table} is no table")


def _kept_rows(table: TableSource | TableCopy | ToTable | ForeignJoin) -> LookUp:
    store, history_ms = table.store, table.history_ms

    def look_up(key: Row, stores: Stores, time: int | None) -> TimestampedRow | None:
        if history_ms is None or time is None:
            return find(table, key, stores)
        return version_at(store, history_ms, key, time, stores)

    return look_up


def _aggregate(node: AggregateNode) -> Run:
    fold = fold_of(node)
    if node.group.rekeys:
        return fold
    group = _group(node.group)
    return lambda entry, stores: [
        result for grouped in group(entry, stores) for result in fold(grouped, stores)
    ]


def _read(entry: Entry) -> tuple[Row, Row | None, int, Entry]:
    """Return the values that expressions over a stream's record read."""
    return entry.key, entry.value, entry.timestamp_ms, entry


def _row_function(schema: Schema, columns: tuple[Named, ...]) -> Callable[..., Row]:
    """Return the function from key, value and time to `columns`; a null value has null columns.

    For streams it also receives the record.
    """
    scope = Scope(schema.columns, of_record=True)
    compiled = [compile_expression(expression, scope) for _, expression in columns]

    def compute(key: Row, value: Row | None, timestamp_ms: int, of: Entry | None = None) -> Row:
        at_hand = Values(named(schema, key, value), timestamp_ms=timestamp_ms, record=of)
        return tuple(evaluate(at_hand) for evaluate in compiled)

    return compute


_OPERATORS: Final[dict[type[Node], Callable[[Any], Run]]] = {
    StreamSource: _pass,
    TableSource: _table,
    GlobalTableSource: _table,
    TableCopy: _table,
    Filter: _filter,
    Project: _project,
    Rename: _pass,
    Explode: _explode,
    Split: _split,
    ProcessOutput: _branch,
    Branch: _branch,
    SelectKey: _select_key,
    SetHeaders: set_headers,
    SetTime: set_time,
    GroupBy: _group,
    AggregateNode: _aggregate,
    ToStream: _to_stream,
    ToTable: _table,
    Print: lambda _node: lambda _entry, _stores: [],
    ForEach: called,
    Suppress: suppress,
    Process: _pass,
    TableJoin: _pass,
    Merge: _pass,
    Numbered: numbered,
    Announce: announce,
    Newest: newest,
    Subscribe: subscribe,
    ForeignTable: foreign_table,
    Answers: _pass,
    ForeignJoin: foreign_join,
    StreamJoinSide: stream_join_of,
    StreamJoin: _pass,
    Repartition: _pass,
    Sink: _pass,
}
"""One row for each kind of node, except joins, which need the node with their table's rows."""
