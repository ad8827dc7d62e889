"""Nodes that set the headers or the timestamp of a stream's records."""

from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import Expression, Named, column_names, type_of
from duolog.plan.nodes.node import (
    Names,
    Node,
    ensure_stream,
    ensure_time,
    names_in,
    render_named,
    scope_of,
)
from duolog.plan.schema import Schema
from duolog.plan.types import BYTES, NULL, STRING


class _Beside(Node):
    """The base of both: key and value stay unchanged."""

    parent: Node

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:
        return self.parent.schema


@dataclass(frozen=True, eq=False)
class SetHeaders(_Beside):
    """Removes headers, then appends headers.

    A header replaces all existing headers of its name. A text is written in UTF-8.
    """

    name: str
    parent: Node
    headers: tuple[Named, ...] = ()
    removed: tuple[str, ...] = ()
    clears: bool = False
    """True if all existing headers are removed."""
    is_table: ClassVar[bool] = False

    def __post_init__(self) -> None:
        ensure_stream(self.parent, "write headers of")
        scope = scope_of(self.parent)
        for header, expression in self.headers:
            found = type_of(expression, scope)
            if found not in {STRING, BYTES, NULL}:
                raise TypeMismatch(
                    f'header "{header}" cannot be {found}',
                    detail="A header must be BYTES or STRING, which is written in UTF-8.",
                    hint="Cast it: .cast(str).",
                )

    @property
    def action(self) -> str:
        taken = "no headers" if self.clears else f"without headers {', '.join(self.removed)}"
        given = f"headers {render_named(self.headers)}"
        parts = [taken] * (self.clears or bool(self.removed)) + [given] * bool(self.headers)
        return ", ".join(parts)

    def reads(self, parent: Node, needed: Names) -> Names:
        return needed | names_in(of for _, of in self.headers)


@dataclass(frozen=True, eq=False)
class SetTime(_Beside):
    """Sets the timestamp of each record. The record fails if it is null or negative."""

    name: str
    parent: Node
    time: Expression
    is_table: ClassVar[bool] = False

    def __post_init__(self) -> None:
        ensure_stream(self.parent, "write the timestamps of")
        ensure_time(self.time, scope_of(self.parent))

    @property
    def action(self) -> str:
        return f"timestamp {self.time}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return needed | column_names(self.time)


def ensure_header_names(names: tuple[str, ...]) -> None:
    """Raise a StatementError if a name is empty or occurs twice."""
    for name in names:
        if not name or names.count(name) > 1:
            raise InvalidPlan(f'header "{name}" occurs twice' if name else "a header has no name")
