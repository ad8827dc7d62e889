"""What a SELECT gives: its items with their names, stars spread out."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp

from duolog.ksql import nodes
from duolog.ksql.binder import Bound
from duolog.ksql.catalog import SqlColumn
from duolog.ksql.scope import SqlScope
from duolog.plan.expressions import Expression
from duolog.plan.schema import Schema


class Item(NamedTuple):
    """A column of the result: its name and what it is."""

    name: str
    node: exp.Expression
    aliased: bool


def items_of(select: exp.Select, scope: SqlScope) -> tuple[Item, ...]:
    """Return the columns that a query selects, with the names that they get without an alias.

    Source: ksqlDB's `ColumnNames`: KSQL_COL_n for what has no name of its own, n from 0, where no column of a source
    is called so; a field is called as it is in its STRUCT.
    """
    given = [spread for node in select.expressions for spread in _spread(node, scope)]
    taken = {column.name for column in scope.columns}
    counter = 0
    items = []
    fields: dict[str, int] = {}
    for node in given:
        if isinstance(node, exp.Alias):
            items.append(Item(node.alias, node.this, aliased=True))
        elif isinstance(node, exp.Column):
            items.append(Item(node.name, node, aliased=False))
        elif isinstance(node, nodes.Deref):
            name = node.args["name"].name
            seen = fields.get(name, 0)
            fields[name] = seen + 1
            items.append(Item(f"{name}_{seen}" if seen else name, node, aliased=False))
        else:
            while f"KSQL_COL_{counter}" in taken:
                counter += 1
            items.append(Item(f"KSQL_COL_{counter}", node, aliased=False))
            counter += 1
    return tuple(items)


def _spread(node: exp.Expression, scope: SqlScope) -> list[exp.Expression]:
    """Return the columns that a star stands for; anything else as it is."""
    of_source = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    if not isinstance(node, exp.Star) and not of_source:
        return [node]
    source = node.table if isinstance(node, exp.Column) else ""
    return [
        exp.column(column.name, table=column.source)
        for column in scope.columns
        if not column.pseudo and source in {"", column.source}
    ]


def key_of(
    given: Sequence[exp.Expression], bound: Sequence[Bound], items: Sequence[Item]
) -> tuple[tuple[str, Expression], ...]:
    """Return the columns of a new key: each has the name of the item that selects it."""
    keys = []
    for number, (node, one) in enumerate(zip(given, bound, strict=True)):
        named = next((item.name for item in items if _same(item.node, node)), None)
        keys.append((named or f"KSQL_COL_{number}", one.expression))
    return tuple(keys)


def _same(one: exp.Expression, other: exp.Expression) -> bool:
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        return one.name == other.name
    return one == other


def output_columns(schema: Schema) -> tuple[SqlColumn, ...]:
    keys = tuple(SqlColumn(name, of, "KEY") for name, of in schema.key)
    return keys + tuple(SqlColumn(name, of) for name, of in schema.value)
