"""What each node of a plan does to a record, in plain Python: the reference for the engine.

A record of a stream has a value; one of a table has the old row beside the new. `run` returns
what a node forwards. Aggregates are in `aggregating`.

Source: Kafka Streams `KTableSource`, `KTableFilter`, `KTableMapValues`, `KStreamKTableJoin`,
`KStreamFlatMapValues`, `KStreamBranch`, `KTableRepartitionMap`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from duolog.plan.cuts import TableCopy
from duolog.plan.expressions import Named, Scope
from duolog.plan.nodes import (
    AggregateNode,
    Branch,
    Explode,
    Filter,
    GroupBy,
    Node,
    Print,
    Project,
    SelectKey,
    Sink,
    Split,
    StreamSource,
    StreamTableJoin,
    TableSource,
    ToStream,
)
from duolog.plan.schema import Schema
from duolog.serde.row import Row
from duolog.testing.aggregating import fold_of, results_of
from duolog.testing.entries import Entry, Kept, Run, Stores, after, is_null, named
from duolog.testing.evaluation import Values, compile_expression
from duolog.testing.scalars import RecordError

LookedUp = Callable[[Node, Node], Node]
"""Where a node finds the rows of a table: `Levels.looked_up`."""


def compile_node(node: Node, looked_up: LookedUp) -> Run:
    """Return the function that runs `node` on one record and the stores of its task."""
    if isinstance(node, StreamTableJoin):
        return _join(node, looked_up(node, node.table))
    return _OPERATORS[type(node)](node)


def _pass(_node: Node) -> Run:
    return lambda entry, _stores: [entry]


def _to_stream(_node: ToStream) -> Run:
    return lambda entry, _stores: [replace(entry, old=None)]


def _group(node: GroupBy) -> Run:
    return _group_table(node) if node.is_table else _group_stream(node)


def without_failed_old(run: Run, entry: Entry) -> Entry:
    """Return a change without an old row that failed when it was new: it was not handed on."""
    try:
        run(replace(entry, value=None), {})
    except RecordError:
        return replace(entry, old=None)
    return entry


def _table(node: TableSource | TableCopy) -> Run:
    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if is_null(entry.key):
            return []
        store = stores[node.store]
        kept = store.pop(entry.key, None)
        if entry.value is not None:
            store[entry.key] = Kept(entry.value, entry.timestamp_ms)
        return [after(entry, kept)]

    return run


def _filter(node: Filter) -> Run:
    holds = _row_function(node.schema, (("", node.predicate),))

    def kept(key: Row, row: Row | None, time: int) -> Row | None:
        return row if row is not None and holds(key, row, time) == (True,) else None

    def run_table(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        new = kept(entry.key, entry.value, entry.timestamp_ms)
        old = kept(entry.key, entry.old, entry.old_timestamp_ms)
        return [] if new is None and old is None else [replace(entry, value=new, old=old)]

    def run_stream(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        return [entry] if holds(entry.key, entry.value, entry.timestamp_ms) == (True,) else []

    return run_table if node.is_table else run_stream


def _project(node: Project) -> Run:
    values = _row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        key = entry.key
        new = None if entry.value is None else values(key, entry.value, entry.timestamp_ms)
        old = None if entry.old is None else values(key, entry.old, entry.old_timestamp_ms)
        return [replace(entry, value=new, old=old)]

    return run


def _explode(node: Explode) -> Run:
    of = _row_function(node.parent.schema, (("", node.of),))
    kept, names = node.parent.schema, node.schema.value

    def elements(entry: Entry) -> list[Row]:
        (found,) = of(entry.key, entry.value, entry.timestamp_ms)
        if isinstance(found, dict):
            return list(found.items())
        return [(element,) for element in found or ()]  # type: ignore[attr-defined]

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
        row = (entry.key, entry.value, entry.timestamp_ms)
        first = next((n for n, holds in enumerate(conditions) if holds(*row) == (True,)), None)
        return [replace(entry, branch=len(conditions) if first is None else first)]

    return run


def _branch(node: Branch) -> Run:
    return lambda entry, _stores: [entry] if entry.branch == node.number else []


def _select_key(node: SelectKey) -> Run:
    keys = _row_function(node.parent.schema, node.keys)
    values = _row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        row = (entry.key, entry.value, entry.timestamp_ms)
        value = None if entry.value is None else values(*row)
        return [replace(entry, key=keys(*row), value=value)]

    return run


def _group_stream(node: GroupBy) -> Run:
    keys = _row_function(node.parent.schema, node.keys)
    values = _row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        if entry.value is None:
            return []
        row = (entry.key, entry.value, entry.timestamp_ms)
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


def _join(node: StreamTableJoin, table: Node) -> Run:
    left = node.stream.schema
    right = node.table.schema.value
    scope = Scope(left.columns, table_columns=right)
    values = [compile_expression(expression, scope) for _, expression in node.values]
    look_up = _lookup(table)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if entry.value is None:
            return []
        found = None if is_null(entry.key) else look_up(entry.key, stores)
        if found is None and node.kind == "inner":
            return []
        row = found or (None,) * len(right)
        at_hand = Values(
            named(left, entry.key, entry.value),
            {column.name: value for column, value in zip(right, row, strict=True)},
            timestamp_ms=entry.timestamp_ms,
        )
        return [replace(entry, value=tuple(value(at_hand) for value in values))]

    return run


def _lookup(table: Node) -> Callable[[Row, Stores], Row | None]:
    """Return the function that finds the row of a key in `table`, stored or derived."""
    kept = kept_by(table)

    def look_up(key: Row, stores: Stores) -> Row | None:
        found = kept(key, stores)
        return found.row if found else None

    return look_up


def kept_by(table: Node) -> Callable[[Row, Stores], Kept | None]:
    """Return the function that finds the row of a key, and its timestamp, in the stores of a task."""
    match table:
        case TableSource() | TableCopy():
            return lambda key, stores: stores[table.store].get(key)
        case AggregateNode():
            results = results_of(table)

            def of_aggregate(key: Row, stores: Stores) -> Kept | None:
                kept = stores[table.store].get(key)
                return kept and Kept(results(key, kept), kept.timestamp_ms)

            return of_aggregate
        case Filter() | Project():
            parent = kept_by(table.parent)
            run = _OPERATORS[type(table)](table)

            def derived(key: Row, stores: Stores) -> Kept | None:
                kept = parent(key, stores)
                try:
                    found = run(Entry(key, kept.row, kept.timestamp_ms), stores) if kept else []
                except RecordError:  # told when it was new; counts as deleted since
                    return None
                row = found[0].value if found else None
                return None if kept is None or row is None else Kept(row, kept.timestamp_ms)

            return derived
        case _:
            raise AssertionError(f"{table} is no table")


def _aggregate(node: AggregateNode) -> Run:
    fold = fold_of(node)
    if node.group.rekeys:
        return fold
    group = _group(node.group)
    return lambda entry, stores: [
        result for grouped in group(entry, stores) for result in fold(grouped, stores)
    ]


def _row_function(
    schema: Schema, columns: tuple[Named, ...]
) -> Callable[[Row, Row | None, int], Row]:
    """Return the function from key, value and time to `columns`; a null value has null columns."""
    scope = Scope(schema.columns)
    compiled = [compile_expression(expression, scope) for _, expression in columns]

    def compute(key: Row, value: Row | None, timestamp_ms: int) -> Row:
        at_hand = Values(named(schema, key, value), timestamp_ms=timestamp_ms)
        return tuple(evaluate(at_hand) for evaluate in compiled)

    return compute


_OPERATORS: Final[dict[type[Node], Callable[[Any], Run]]] = {
    StreamSource: _pass,
    TableSource: _table,
    TableCopy: _table,
    Filter: _filter,
    Project: _project,
    Explode: _explode,
    Split: _split,
    Branch: _branch,
    SelectKey: _select_key,
    GroupBy: _group,
    AggregateNode: _aggregate,
    ToStream: _to_stream,
    Print: lambda _node: lambda _entry, _stores: [],
    Sink: _pass,
}
"""One row for each kind of node, but for joins, which must know where their table is."""
