"""The join of two tables by their keys: two sides and their union.

    left ──► JoinSide ──┐  looks up right
                        ├──► TableJoin
    right ─► JoinSide ──┘  looks up left

A change of either table is a change of the join. The join stores no rows of its own: each row is
computed from one row of each table.

Source: Kafka Streams `KTableKTableInnerJoin`, `KTableKTableLeftJoin`, `KTableKTableRightJoin`,
`KTableKTableOuterJoin`.
"""

from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Named
from duolog.plan.nodes.join import ensure_same_windows
from duolog.plan.nodes.node import Node, ensure_table
from duolog.plan.nodes.two_sides import JoinKind, JoinOfSides, SideOfJoin
from duolog.plan.types import render_columns


@dataclass(frozen=True, eq=False)
class JoinSide(SideOfJoin):
    """Joins each change of one table with the row of the other that has the same key."""

    name: str
    left: Node
    right: Node
    kind: JoinKind
    values: tuple[Named, ...]
    of_left: bool
    is_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ensure_table(self.left, "join, on the left side,")
        ensure_table(self.right, "join, on the right side,")
        ensure_same_windows(self.left, self.right)
        left = [column.type for column in self.left.schema.key]
        if left != [column.type for column in self.right.schema.key]:
            raise InvalidPlan(
                f'cannot join table "{self.left}" with table "{self.right}" by key',
                detail=f"Their keys are ({render_columns(self.left.schema.key)}) and "
                f"({render_columns(self.right.schema.key)}).",
                hint="Declare both keys alike, or give one table another key: "
                "to_stream().select_key(...).to_table(). "
                "If a column of the left table has the other key, name it: join(table, on=...).",
            )
        assert self.schema is not None

    @property
    def needs_own(self) -> bool:
        """True if there is no result without a row of its own table."""
        return self.kind == "inner" or (self.kind == "left" and self.of_left)

    @property
    def needs_other(self) -> bool:
        """True if there is no result without a row of the other table."""
        return self.kind == "inner" or (self.kind == "left" and not self.of_left)

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.own, self.other)

    @property
    def tables(self) -> tuple[Node, ...]:
        return (self.other,)

    @property
    def action(self) -> str:
        return f"{self.kind} join with {self.other.name}"


@dataclass(frozen=True, eq=False)
class TableJoin(JoinOfSides[JoinSide]):
    """The table that contains the results of both sides."""

    name: str
    sides: tuple[JoinSide, JoinSide]
    is_table: ClassVar[bool] = True
