"""The nodes of a join of two tables, by key or by columns of the left one."""

from typing import TypeVar

from duolog.dsl.builder import Builder
from duolog.dsl.expressions.columns import Expr, col
from duolog.dsl.expressions.joined_names import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.expressions.names import find_fields
from duolog.dsl.steps.records import Records
from duolog.plan.cutting.joining import join_by_foreign_key
from duolog.plan.cutting.joining import join_tables as plan_join
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import ColumnRef, Named
from duolog.plan.nodes import ForeignJoin, JoinKind, Node

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
    """Add the nodes of a join of two tables, and return the resulting table."""
    table.builder.ensure_own(other)
    builder, left, right = table.builder, table.node, other.node
    if not right.is_table:
        raise InvalidPlan(
            f'table "{left}" cannot look up stream "{right}"',
            hint="Join in the other direction, stream.join(table, on=...), or read the topic with "
            "table(...).",
        )
    keys = _foreign_key(left, right, on)
    names = JoinedNames(left, right, prefix)
    values = names.all_columns() if select is None else names.select(select)
    if keys:
        foreign = _join_by_foreign_key(builder, (left, right), kind, keys, values)
        return type(table)(builder, foreign)

    return type(table)(builder, plan_join(builder, (left, right), kind, values))


def _join_by_foreign_key(
    builder: Builder,
    tables: tuple[Node, Node],
    kind: JoinKind,
    keys: tuple[Named, ...],
    values: tuple[Named, ...],
) -> ForeignJoin:
    left, right = tables
    if kind == "outer":
        raise InvalidPlan(
            f'table "{left}" cannot be outer-joined on {", ".join(name for name, _ in keys)}',
            detail=f"A row of {right} without a match would have no key: the join has the key of "
            f"{left}.",
            hint="Use left_join, or join tables by their keys.",
        )
    return join_by_foreign_key(builder, tables, kind, keys, values)


def _foreign_key(left: Node, right: Node, on: On | None) -> tuple[Named, ...]:
    """Return the expressions that match the key of `right`; empty if they are the key of `left`."""
    if on is None:
        ensure_keys_named_alike(left, right)
        return ()
    given = [on] if isinstance(on, str | Expr) else on
    said = [col(key) if isinstance(key, str) else key for key in given]
    keys = [find_fields(key.expression, left.schema.names) for key in said]
    if keys == [ColumnRef(column.name) for column in left.schema.key]:
        return ()
    return tuple((key.name if isinstance(key, ColumnRef) else str(key), key) for key in keys)
