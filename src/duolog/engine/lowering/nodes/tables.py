"""The store of a table, and the joins that look up a table: of a stream, and of another table.

A join looks up a table in the store that has its data: the rows of a source, the rows of a stream
converted to a table, or an aggregate's accumulators. Derived rows (an aggregate's results, a
filter, a projection, a join) are computed again for the key that is looked up. A copy of a table in
another sub-topology stores its rows.

Source: Kafka Streams `KTableValueGetter`.
"""

from dataclasses import dataclass

from duolog.engine.json_object import Json
from duolog.engine.lowering.expressions.expressions import Names, key_names, lower_as_declared
from duolog.engine.lowering.formats.formats import encode
from duolog.engine.lowering.nodes.buckets import bucket_ms
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings, reshape
from duolog.engine.lowering.nodes.stateless import lower_filter, lower_project, lower_rename
from duolog.engine.lowering.nodes.suppress import lower_suppress
from duolog.engine.lowering.spark_sql.sql import spark_types
from duolog.engine.lowering.spec.node_spec import NodeSpec
from duolog.engine.lowering.spec.operators import (
    JoinOperator,
    LookupOperator,
    ProjectOperator,
    TableOperator,
    WaitOperator,
)
from duolog.plan.cutting.cuts import TableCopy
from duolog.plan.expressions import Scope
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    ForeignJoin,
    GlobalTableJoin,
    JoinSide,
    Node,
    Project,
    Rename,
    StreamTableJoin,
    Suppress,
    TableJoin,
    TableSource,
    ToTable,
)


@dataclass(frozen=True, slots=True)
class Getter:
    """The path to the row of a key: a store, then steps; and the resulting row."""

    store: str
    steps: tuple[NodeSpec, ...]
    row: Row

    def json(self) -> list[Json]:
        """Return the steps as the kernel reads them."""
        return [step.json() for step in self.steps]


def lower_table(table: TableSource | TableCopy, row: Row, _around: Surroundings) -> Lowered:
    """Convert upserts to changes, with the old and the new row."""
    history = table.history_ms
    bucket = None if history is None else bucket_ms(history)
    operator = TableOperator(table.store, table.ttl_ms, history, bucket)
    entry = row.entry(table.name, operator)
    return Lowered([entry], Row(row.key, row.value, row.names, changes=True))


def lower_to_table(table: ToTable, row: Row, _around: Surroundings) -> Lowered:
    """Store the rows of a stream with all their columns, in the order of its schema."""
    columns = table.schema.value
    entries, whole = reshape(row, table.schema, [c.name for c in columns], f"{table.name}-rows")
    entry = whole.entry(table.name, TableOperator(table.store, table.ttl_ms))
    return Lowered([*entries, entry], Row.of(table.schema.key, columns, changes=True))


def lower_getter(  # noqa: PLR0911 - a table of cases
    table: Node, around: Surroundings
) -> Getter:
    """Return how to find a row of `table` by its key."""
    match table:
        case TableSource() | ToTable() | ForeignJoin():
            return Getter(table.store, (), _row_of(table))
        case TableCopy():
            needed = around.needed(table.table)
            columns = tuple(column for column in table.schema.value if column.name in needed)
            return Getter(table.store, (), Row.of(table.schema.key, columns, changes=True))
        case AggregateNode():
            return Getter(table.store, (_results(table),), _row_of(table))
        case Filter():
            parent = lower_getter(table.parent, around)
            return _after(parent, lower_filter(table, parent.row, around))
        case Project():
            parent = lower_getter(table.parent, around)
            return _after(parent, lower_project(table, parent.row, around))
        case Rename():
            parent = lower_getter(table.parent, around)
            return _after(parent, lower_rename(table, parent.row, around))
        case Suppress():
            parent = lower_getter(table.parent, around)
            return _after(parent, lower_suppress(table, parent.row, around))
        case TableJoin(sides=(left, right)):
            kept = lower_getter(around.levels.looked_up(right, left.own), around)
            return _after(kept, lower_join_side(left, kept.row, around))
        case _:
            raise AssertionError(f"{table} is not a table")


def _after(parent: Getter, lowered: Lowered) -> Getter:
    return Getter(parent.store, (*parent.steps, *lowered.entries), lowered.row)


def _row_of(table: Node) -> Row:
    return Row.of(table.schema.key, table.schema.value, changes=True)


def _results(node: AggregateNode) -> NodeSpec:
    """Return the projection from the stored accumulators to the results."""
    kept = node.accumulator_columns
    key = {column.name: f"k{index}" for index, column in enumerate(node.schema.key)}
    accumulators = {column.name: f"v{index}" for index, column in enumerate(kept)}
    naming = Names(Scope(node.schema.key, accumulators=kept), key, {}, accumulators)
    values = [lower_as_declared(expression, naming) for _, expression in node.results]
    stored = Row(node.schema.key, kept, {}, changes=True)
    return stored.entry(f"{node.name}-results", ProjectOperator(values=values))


def lower_join(node: StreamTableJoin | GlobalTableJoin, row: Row, around: Surroundings) -> Lowered:
    """Look up the stream's records in the table, or in its local copy."""
    table = lower_getter(around.levels.looked_up(node, node.table), around)
    needed = around.needed(node)
    naming = row.naming(node.stream.schema, table_columns=table.row.value)
    computed = [(name, expression) for name, expression in node.values if name in needed]
    types = {column.name: column for column in node.schema.value}
    keys = node.keys if isinstance(node, GlobalTableJoin) else None
    entry = row.entry(
        node.name,
        LookupOperator(
            store=table.store,
            getter=table.json(),
            left=node.kind == "left",
            right_types=spark_types(table.row.value),
            values=[lower_as_declared(expression, naming) for _, expression in computed],
            keys=None if keys is None else [lower_as_declared(key, naming) for key in keys],
            table_key_types=spark_types(table.row.key) if keys else (),
        ),
    )
    columns = tuple(types[name] for name, _ in computed)
    waiting = [] if isinstance(node, GlobalTableJoin) else _waiting(node, row)
    return Lowered([*waiting, entry], Row.of(node.schema.key, columns, changes=False))


def _waiting(node: StreamTableJoin, row: Row) -> list[NodeSpec]:
    """Return the node in which records wait for the rows of their time, if they do."""
    if node.grace_ms is None:
        return []
    key = node.stream.schema.key
    operator = WaitOperator(
        store=node.stores[0],
        key_bytes=encode(internal_key_format(key), key, key_names(key), "key"),
        grace_ms=node.grace_ms,
        bucket_ms=bucket_ms(node.grace_ms),
    )
    return [row.entry(f"{node.name}-wait", operator)]


def lower_join_side(node: JoinSide, row: Row, around: Surroundings) -> Lowered:
    """Look up the changes of a table in the other one, or in its local copy."""
    other = lower_getter(around.levels.looked_up(node, node.other), around)
    needed = around.needed(node)
    computed = [(name, expression) for name, expression in node.values if name in needed]
    naming = _names_of_side(node, row, other.row)
    entry = row.entry(
        node.name,
        JoinOperator(
            store=other.store,
            getter=other.json(),
            needs_own=node.needs_own,
            needs_other=node.needs_other,
            right_types=spark_types(other.row.value),
            values=[lower_as_declared(expression, naming) for _, expression in computed],
        ),
    )
    types = {column.name: column for column in node.schema.value}
    columns = tuple(types[name] for name, _ in computed)
    return Lowered([entry], Row.of(node.schema.key, columns, changes=True))


def _names_of_side(node: JoinSide, row: Row, other: Row) -> Names:
    """Return the names for expressions over both tables: v0… is the changed one, r0… the other."""
    keys = {column.name: f"k{index}" for index, column in enumerate(node.left.schema.key)}
    own = _value_names(node.own, row)
    looked_up = {name: f"r{at[1:]}" for name, at in _value_names(node.other, other).items()}
    left, right = (own, looked_up) if node.of_left else (looked_up, own)
    scope = Scope(node.left.schema.columns, node.right.schema.value)
    return Names(scope, left | keys, right, {})


def _value_names(table: Node, row: Row) -> dict[str, str]:
    """Return the positions of the value columns of `table` in a row; some may be missing."""
    values = {column.name for column in table.schema.value}
    return {name: at for name, at in row.names.items() if name in values}


def lower_table_join(_node: TableJoin, row: Row, _around: Surroundings) -> Lowered:
    """Lower to nothing: each side forwards the join's rows."""
    return Lowered([], row)
