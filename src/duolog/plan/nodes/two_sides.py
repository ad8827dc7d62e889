"""What the joins of two tables and of two streams have in common: a node for each side, and what both make.

left ──► side ──┐  joins what comes of the left
                ├──► join
right ─► side ──┘  joins what comes of the right
"""

from functools import cached_property
from typing import Generic, TypeVar
from typing import Literal as OneOf

from duolog.plan.expressions import Named, Scope
from duolog.plan.nodes.join import table_names_in
from duolog.plan.nodes.node import Names, Node, key_behind, names_in, needed_of, typed_columns
from duolog.plan.schema import Schema

JoinKind = OneOf["inner", "left", "outer"]


class SideOfJoin(Node):
    """Joins what comes of one of two with what there is of the other, under the same key.

    `values` read the left one's columns by `ColumnRef` and the right one's value columns by
    `TableColumnRef`, whichever comes. What is missing reads as nulls. Keys are matched by position. The
    result's timestamp is the later one of both.
    """

    left: Node
    right: Node
    kind: JoinKind
    values: tuple[Named, ...]
    of_left: bool
    """Whether it is the left one whose records it joins."""

    @property
    def own(self) -> Node:
        """The one whose records it joins."""
        return self.left if self.of_left else self.right

    @property
    def other(self) -> Node:
        """The one in which it looks for what belongs to them."""
        return self.right if self.of_left else self.left

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

    def reads(self, parent: Node, behind: Names) -> Names:
        read = needed_of(self.values, behind)
        names: Names = frozenset()
        if parent is self.left:
            names |= names_in(read) | key_behind(self, behind)
        if parent is self.right:
            names |= table_names_in(read)
        return names


Side = TypeVar("Side", bound=SideOfJoin)


class JoinOfSides(Node, Generic[Side]):
    """What both sides of a join make."""

    sides: tuple[Side, Side]
    """The left one, and the right one."""

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
