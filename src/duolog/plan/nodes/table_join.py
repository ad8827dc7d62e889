"""The join of two tables by their keys: two sides and what both of them make.

    left ──► JoinSide ──┐  looks up right
                        ├──► TableJoin
    right ─► JoinSide ──┘  looks up left

A change of either table is a change of the join. It keeps no rows of its own: a row of it is computed
from a row of each.

Source: Kafka Streams `KTableKTableInnerJoin`, `KTableKTableLeftJoin`, `KTableKTableRightJoin`,
`KTableKTableOuterJoin`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal as OneOf

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Named, Scope
from duolog.plan.nodes.join import ensure_same_windows, table_names_in
from duolog.plan.nodes.lookup import ensure_rows_stay
from duolog.plan.nodes.node import (
    Names,
    Node,
    ensure_table,
    key_behind,
    names_in,
    needed_of,
    typed_columns,
)
from duolog.plan.schema import Schema
from duolog.plan.types import render_columns

JoinKind = OneOf["inner", "left", "outer"]


@dataclass(frozen=True, eq=False)
class JoinSide(Node):
    """Joins each change of one table with the row of the other that has the same key.

    `values` read the left table's columns by `ColumnRef` and the right one's value columns by
    `TableColumnRef`, whichever table changes. A table that may be missing reads as nulls. Keys are
    matched by position. The result's timestamp is the later one of both rows.
    """

    name: str
    left: Node
    right: Node
    kind: JoinKind
    values: tuple[Named, ...]
    of_left: bool
    """Whether it is the left table whose changes it joins."""
    is_table: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        ensure_table(self.left, "join, on the left side,")
        ensure_table(self.right, "join, on the right side,")
        ensure_rows_stay(self.left, self.right)
        ensure_same_windows(self.left, self.right)
        left = [column.type for column in self.left.schema.key]
        if left != [column.type for column in self.right.schema.key]:
            raise InvalidPlan(
                f'cannot join table "{self.left}" with table "{self.right}" by key',
                detail=f"Their keys are ({render_columns(self.left.schema.key)}) and "
                f"({render_columns(self.right.schema.key)}).",
                hint="Join tables whose keys have the same types.",
            )
        assert self.schema is not None

    @property
    def own(self) -> Node:
        """The table whose changes it joins."""
        return self.left if self.of_left else self.right

    @property
    def other(self) -> Node:
        """The table in which it looks up."""
        return self.right if self.of_left else self.left

    @property
    def needs_own(self) -> bool:
        """Whether there is no result without a row of its own table."""
        return self.kind == "inner" or (self.kind == "left" and self.of_left)

    @property
    def needs_other(self) -> bool:
        """Whether there is no result without a row of the other table."""
        return self.kind == "inner" or (self.kind == "left" and not self.of_left)

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.own, self.other)

    @property
    def tables(self) -> tuple[Node, ...]:
        return (self.other,)

    @property
    def by_key(self) -> bool:
        return True

    @property
    def may_drop(self) -> bool:
        return True

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        of = self.left.schema
        scope = Scope(of.columns, table_columns=self.right.schema.value)
        return of.with_value(typed_columns(self.values, scope))

    @property
    def action(self) -> str:
        return f"{self.kind} join with {self.other.name}"

    def reads(self, parent: Node, behind: Names) -> Names:
        read = needed_of(self.values, behind)
        names: Names = frozenset()
        if parent is self.left:
            names |= names_in(read) | key_behind(self, behind)
        if parent is self.right:
            names |= table_names_in(read)
        return names


@dataclass(frozen=True, eq=False)
class TableJoin(Node):
    """The table that both sides of a join make."""

    name: str
    sides: tuple[JoinSide, JoinSide]
    """The left table's, and the right table's."""
    is_table: bool = field(default=True, init=False)

    @property
    def left(self) -> Node:
        return self.sides[0].left

    @property
    def right(self) -> Node:
        return self.sides[0].right

    @property
    def parents(self) -> tuple[Node, ...]:
        return self.sides

    @property
    def drivers(self) -> tuple[Node, ...]:
        return self.sides

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        return self.sides[0].schema

    @property
    def action(self) -> str:
        return f"{self.sides[0].kind} join of {self.left.name} and {self.right.name}"
