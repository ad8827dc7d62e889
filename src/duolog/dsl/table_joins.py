"""Joins of tables, by their keys: the nodes that they are made of."""

from typing import TypeVar

from duolog.dsl.columns import Expr, named
from duolog.dsl.joins import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.records import Records
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import ColumnRef
from duolog.plan.nodes import JoinKind, JoinSide, Node, TableJoin
from duolog.plan.types import render_columns

TableT = TypeVar("TableT", bound=Records)


def join_tables(
    table: TableT,
    other: TableT,
    kind: JoinKind,
    *,
    on: On | None,
    prefix: str,
    select: Select | None,
) -> TableT:
    """Add the nodes of a join of two tables, and return the table that they make."""
    builder, left, right = table.builder, table.node, other.node
    builder.ensure_own(right)
    _ensure_by_key(left, right, on)
    names = JoinedNames(left, right, prefix)
    values = names.all_columns() if select is None else names.select(select)

    def side(called: str, *, of_left: bool) -> JoinSide:
        return builder.add(
            f"{called}-join-{'this' if of_left else 'other'}",
            lambda name: JoinSide(name, left, right, kind, values, of_left),
        )

    called = "table" if kind == "inner" else f"table-{kind}"
    sides = side(called, of_left=True), side(called, of_left=False)
    join = builder.add(f"{called}-join", lambda name: TableJoin(name, sides))
    return type(table)(builder, join)


def _ensure_by_key(left: Node, right: Node, on: On | None) -> None:
    if on is None:
        ensure_keys_named_alike(left, right)
        return
    keys = named([on] if isinstance(on, str | Expr) else on, {}, left.schema.names)
    if [of for _, of in keys] != [ColumnRef(column.name) for column in left.schema.key]:
        said = ", ".join(name for name, _ in keys)
        raise InvalidPlan(
            f'table "{left}" cannot be joined on {said}',
            detail=f"Its key is ({render_columns(left.schema.key)}).",
            hint="Name its key columns, in their order.",
        )
