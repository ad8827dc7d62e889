"""Nodes that process one record at a time and keep its key: filter, project, to_stream."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import Expression, Named, column_names, type_of
from duolog.plan.nodes.node import (
    Names,
    Node,
    names_in,
    needed_key,
    needed_of,
    render_named,
    scope_of,
    typed_columns,
)
from duolog.plan.schema import Schema
from duolog.plan.types import BOOLEAN, NULL


@dataclass(frozen=True, eq=False)
class Filter(Node):
    """Keeps the records for which `predicate` is true; null counts as false.

    The old and the new row of a table's change are filtered separately; if neither is left, nothing
    is emitted.
    """

    name: str
    parent: Node
    predicate: Expression
    may_drop: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ensure_condition(self.predicate, self.parent)

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:
        return self.parent.schema

    @property
    def is_table(self) -> bool:
        return self.parent.is_table

    @property
    def history_ms(self) -> int | None:
        return self.parent.history_ms

    @property
    def action(self) -> str:
        return f"where {self.predicate}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return needed | column_names(self.predicate)


@dataclass(frozen=True, eq=False)
class Project(Node):
    """Replaces the value by `values`. A null value stays null."""

    name: str
    parent: Node
    values: tuple[Named, ...]

    def __post_init__(self) -> None:
        assert self.schema is not None  # Check types here, where the user made the mistake.

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @cached_property
    def schema(self) -> Schema:
        of = self.parent.schema
        return of.with_value(typed_columns(self.values, scope_of(self.parent)))

    @property
    def is_table(self) -> bool:
        return self.parent.is_table

    @property
    def history_ms(self) -> int | None:
        return self.parent.history_ms

    @property
    def action(self) -> str:
        return render_named(self.values) or "no columns"

    def reads(self, parent: Node, needed: Names) -> Names:
        # A project never reads a key itself, but nodes downstream may.
        return names_in(needed_of(self.values, needed)) | needed_key(self, needed)


@dataclass(frozen=True, eq=False)
class ToStream(Node):
    """The changes of a table as a stream of its new rows; a deleted row is a null value."""

    name: str
    table: Node
    is_table: ClassVar[bool] = False
    action: ClassVar[str] = "the table's changes"

    def __post_init__(self) -> None:
        if not self.table.is_table:
            raise InvalidPlan(f'"{self.table}" is a stream already')

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.table,)

    @property
    def schema(self) -> Schema:
        return self.table.schema


def ensure_condition(predicate: Expression, node: Node) -> None:
    """Raise a StatementError if an expression over the records of `node` is not a condition."""
    found = type_of(predicate, scope_of(node))
    if found not in {BOOLEAN, NULL}:
        raise TypeMismatch(
            f"{predicate} is not a condition",
            detail=f"It is a {found}; a condition must be BOOLEAN.",
        )
