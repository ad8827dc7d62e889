"""The base of joins of two tables or two streams: a node for each side, and their union.

left ──► side ──┐  joins records of the left
                ├──► join
right ─► side ──┘  joins records of the right
"""

from functools import cached_property
from typing import ClassVar, Generic, TypeVar
from typing import Literal as OneOf

from duolog.plan.expressions import Named, Scope
from duolog.plan.nodes.join import table_names_in
from duolog.plan.nodes.node import Names, Node, names_in, needed_key, needed_of, typed_columns
from duolog.plan.schema import Schema

JoinKind = OneOf["inner", "left", "outer"]


class SideOfJoin(Node):
    """Joins the records of one parent with the stored records of the other, by key.

    `values` read the left parent's columns by `ColumnRef` and the right one's value columns by
    `TableColumnRef`, on both sides. Missing columns are null. Keys are matched by position. The
    result's timestamp is the later of the two.
    """

    left: Node
    right: Node
    kind: JoinKind
    values: tuple[Named, ...]
    of_left: bool
    """True if it joins the records of the left parent."""
    by_key: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True

    @property
    def own(self) -> Node:
        """The parent whose records it joins."""
        return self.left if self.of_left else self.right

    @property
    def other(self) -> Node:
        """The parent whose stored records it searches."""
        return self.right if self.of_left else self.left

    @cached_property
    def schema(self) -> Schema:
        of = self.left.schema
        scope = Scope(of.columns, table_columns=self.right.schema.value)
        return of.with_value(typed_columns(self.values, scope))

    def reads(self, parent: Node, needed: Names) -> Names:
        read = needed_of(self.values, needed)
        names: Names = frozenset()
        if parent is self.left:
            names |= names_in(read) | needed_key(self, needed)
        if parent is self.right:
            names |= table_names_in(read)
        return names


Side = TypeVar("Side", bound=SideOfJoin)


class JoinOfSides(Node, Generic[Side]):
    """The union of both sides of a join."""

    sides: tuple[Side, Side]
    """The left side, then the right side."""

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
    def schema(self) -> Schema:
        return self.sides[0].schema

    @property
    def action(self) -> str:
        return f"{self.sides[0].kind} join of {self.left.name} and {self.right.name}"
