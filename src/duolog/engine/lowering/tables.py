"""The store of a table, and the stream-table join that looks it up.

A table source keeps its rows in a store of its own. Any other table that a join looks up (a
filtered one, an aggregate) is kept once more as rows, in a store named after its node: an
aggregate's own store holds accumulators, and a filter's parent holds rows that it dropped.
"""

from duolog.engine.expressions import lower_as_declared
from duolog.engine.lowering.required import Required
from duolog.engine.lowering.rows import Json, Lowered, Row
from duolog.engine.sql import spark_types
from duolog.plan.nodes import Filter, Node, Project, StreamTableJoin, TableSource


def store_of(table: Node) -> str:
    """Return the name of the store with the rows of a table."""
    return table.store if isinstance(table, TableSource) else f"{table.name}-rows"


def lower_table_source(source: TableSource, row: Row) -> Lowered:
    """Turn upserts into changes: the old row beside the new one."""
    entry = row.entry("table", source.name, store=source.store)
    return Lowered([entry], Row(row.key, row.value, row.names, changes=True))


def stored_row(table: Node, required: Required) -> Row:
    """Return the row of a table as its store keeps it."""
    if isinstance(table, Filter):
        return stored_row(table.parent, required)
    kept = required[table] if isinstance(table, Project) else table.schema.names
    columns = tuple(column for column in table.schema.value if column.name in kept)
    return Row.of(table.schema.key, columns, changes=True)


def lower_kept_rows(table: Node, row: Row) -> Lowered:
    """Keep the rows of a table that is no source, for a join."""
    as_stream = row.entry("to_stream", f"{table.name}-rows-stream")
    rows = Row(row.key, row.value, row.names, changes=False)
    return Lowered([as_stream, rows.entry("table", f"{table.name}-rows", store=store_of(table))])


def lower_join(node: StreamTableJoin, row: Row, needed: frozenset[str], table_row: Row) -> Lowered:
    """Look the stream's records up. `table_row` is the row as the table's store keeps it."""
    naming = row.naming(node.stream.schema, table_columns=table_row.value)
    computed = [(name, expression) for name, expression in node.values if name in needed]
    types = {column.name: column for column in node.schema.value}
    entry: Json = row.entry(
        "lookup",
        node.name,
        store=store_of(node.table),
        left=node.kind == "left",
        right_types=spark_types(table_row.value),
        values=[lower_as_declared(expression, naming) for _, expression in computed],
    )
    columns = tuple(types[name] for name, _ in computed)
    return Lowered([entry], Row.of(node.schema.key, columns, changes=False))
