"""The store of a table, and the stream-table join that looks a table up.

A table that a join looks up is found where it is kept: a source's rows and an aggregate's accumulators
have a store. What is computed from these (an aggregate's results, a filter, a projection) is computed
again for the key that is looked up. A copy of a table in another sub-topology holds its rows.

Source: Kafka Streams `KTableValueGetter`.
"""

from dataclasses import dataclass

from duolog.engine.expressions import Names, lower_as_declared
from duolog.engine.lowering.operators import LookupOperator, ProjectOperator, TableOperator
from duolog.engine.lowering.rows import Json, Lowered, Row, Surroundings
from duolog.engine.lowering.stateless import lower_filter, lower_project
from duolog.engine.sql import spark_types
from duolog.plan.cuts import TableCopy
from duolog.plan.expressions import Scope
from duolog.plan.nodes import AggregateNode, Filter, Node, Project, StreamTableJoin, TableSource


@dataclass(frozen=True, slots=True)
class Getter:
    """How the row of a key is found: in a store, then through steps; and the row that comes out."""

    store: str
    steps: tuple[Json, ...]
    row: Row


def lower_table(table: TableSource | TableCopy, row: Row, _around: Surroundings) -> Lowered:
    """Turn upserts into changes: the old row beside the new one."""
    entry = row.entry(table.name, TableOperator(store=table.store))
    return Lowered([entry], Row(row.key, row.value, row.names, changes=True))


def lower_getter(table: Node, around: Surroundings) -> Getter:
    """Return how a row of `table` is found by its key."""
    match table:
        case TableSource():
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
        case _:
            raise AssertionError(f"{table} is no table")


def _after(parent: Getter, lowered: Lowered) -> Getter:
    return Getter(parent.store, (*parent.steps, *lowered.entries), lowered.row)


def _row_of(table: Node) -> Row:
    return Row.of(table.schema.key, table.schema.value, changes=True)


def _results(node: AggregateNode) -> Json:
    """Return the projection from the accumulators, as they are kept, to the results."""
    kept = node.accumulator_columns
    key = {column.name: f"k{index}" for index, column in enumerate(node.schema.key)}
    accumulators = {column.name: f"v{index}" for index, column in enumerate(kept)}
    naming = Names(Scope(node.schema.key, accumulators=kept), key, {}, accumulators)
    values = [lower_as_declared(expression, naming) for _, expression in node.results]
    stored = Row(node.schema.key, kept, {}, changes=True)
    return stored.entry(f"{node.name}-results", ProjectOperator(values=values))


def lower_join(node: StreamTableJoin, row: Row, around: Surroundings) -> Lowered:
    """Look the stream's records up in the table, or in its copy beside the join."""
    table = lower_getter(around.levels.looked_up(node, node.table), around)
    needed = around.needed(node)
    naming = row.naming(node.stream.schema, table_columns=table.row.value)
    computed = [(name, expression) for name, expression in node.values if name in needed]
    types = {column.name: column for column in node.schema.value}
    entry: Json = row.entry(
        node.name,
        LookupOperator(
            store=table.store,
            getter=list(table.steps),
            left=node.kind == "left",
            right_types=spark_types(table.row.value),
            values=[lower_as_declared(expression, naming) for _, expression in computed],
        ),
    )
    columns = tuple(types[name] for name, _ in computed)
    return Lowered([entry], Row.of(node.schema.key, columns, changes=False))
