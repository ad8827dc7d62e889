"""Joins of tables, by their keys or by columns of the left one: the nodes that they are made of."""

from typing import TypeVar

from duolog.dsl.builder import Builder
from duolog.dsl.columns import Expr, col, find_fields
from duolog.dsl.joins import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.records import Records
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import ColumnRef, Named
from duolog.plan.nodes import (
    Announce,
    Answers,
    ForeignJoin,
    ForeignTable,
    JoinKind,
    JoinSide,
    Newest,
    Node,
    Numbered,
    Subscribe,
    Subscriptions,
    TableJoin,
)

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
    keys = _foreign_key(left, right, on)
    names = JoinedNames(left, right, prefix)
    values = names.all_columns() if select is None else names.select(select)
    if keys:
        foreign = _join_by_foreign_key(builder, (left, right), kind, keys, values)
        return type(table)(builder, foreign)

    def side(called: str, *, of_left: bool) -> JoinSide:
        return builder.add(
            f"{called}-join-{'this' if of_left else 'other'}",
            lambda name: JoinSide(name, left, right, kind, values, of_left),
        )

    called = "table" if kind == "inner" else f"table-{kind}"
    sides = side(called, of_left=True), side(called, of_left=False)
    join = builder.add(f"{called}-join", lambda name: TableJoin(name, sides))
    return type(table)(builder, join)


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
            f'table "{left}" cannot be joined outer on {", ".join(name for name, _ in keys)}',
            detail=f"A row of {right} alone would have no key: that is a key of {left}.",
            hint="Use left_join, or join tables by their keys.",
        )
    called = "foreign-join" if kind == "inner" else "foreign-left-join"
    numbered = builder.add(
        f"{called}-numbered", lambda name: Numbered(name, left, right, keys, f"{name}-store")
    )
    # Announced first: at equal times it is heard of before the answer to an older row.
    announce = builder.add(f"{called}-announce", lambda name: Announce(name, numbered, kind))
    subscribe = builder.add(f"{called}-subscribe", lambda name: Subscribe(name, numbered, kind))
    kept = builder.add(
        f"{called}-subscriptions",
        lambda name: Subscriptions(name, numbered, subscribe, f"{name}-store"),
    )
    table = builder.add(f"{called}-table", lambda name: ForeignTable(name, numbered, kept))
    answers = builder.add(f"{called}-answers", lambda name: Answers(name, numbered, kept, table))
    newest = builder.add(f"{called}-newest", lambda name: Newest(name, announce, f"{name}-store"))
    return builder.add(
        called, lambda name: ForeignJoin(name, answers, newest, kind, values, f"{name}-store")
    )


def _foreign_key(left: Node, right: Node, on: On | None) -> tuple[Named, ...]:
    """Return what of `left` is matched with the key of `right`; nothing if it is the key."""
    if on is None:
        ensure_keys_named_alike(left, right)
        return ()
    given = [on] if isinstance(on, str | Expr) else on
    said = [col(key) if isinstance(key, str) else key for key in given]
    keys = [find_fields(key.expression, left.schema.names) for key in said]
    if keys == [ColumnRef(column.name) for column in left.schema.key]:
        return ()
    return tuple((key.name if isinstance(key, ColumnRef) else str(key), key) for key in keys)
