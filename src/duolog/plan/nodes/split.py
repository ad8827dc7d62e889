"""Splits a stream: each record goes into the first branch whose condition it meets."""

from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.expressions import Expression
from duolog.plan.nodes.node import Names, Node, ensure_stream, names_in
from duolog.plan.nodes.stateless import ensure_condition
from duolog.plan.schema import Schema


@dataclass(frozen=True, eq=False)
class Split(Node):
    """Finds the first condition that is true for a record; null counts as false.

    Only branches read it. A record that meets no condition belongs to branch `len(predicates)`.
    """

    name: str
    parent: Node
    predicates: tuple[Expression, ...]
    is_table: ClassVar[bool] = False

    def __post_init__(self) -> None:
        ensure_stream(self.parent, "split")
        for predicate in self.predicates:
            ensure_condition(predicate, self.parent)

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:
        return self.parent.schema

    @property
    def action(self) -> str:
        return f"by {', '.join(map(str, self.predicates))}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return needed | names_in(self.predicates)


@dataclass(frozen=True, eq=False)
class Branch(Node):
    """The records of one branch of a split, by number."""

    name: str
    split: Split
    number: int
    is_table: ClassVar[bool] = False
    may_drop: ClassVar[bool] = True

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.split,)

    @property
    def schema(self) -> Schema:
        return self.split.schema

    @property
    def action(self) -> str:
        if self.number == len(self.split.predicates):
            return "the others"
        return f"where {self.split.predicates[self.number]} first"
