"""Explode: a record becomes several, one for each element of an ARRAY or entry of a MAP."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import Expression, type_of
from duolog.plan.nodes.node import Names, Node, ensure_stream, names_in, scope_of
from duolog.plan.schema import Schema
from duolog.plan.types import Array, Column, Map, Type, quote


@dataclass(frozen=True, eq=False)
class Explode(Node):
    """Emits a record for each element of `of`, in order, with the key of the input record.

    The element becomes a column called `into`; a MAP entry becomes two columns, key and value. A
    column that exists is replaced, a new one is appended. A record without elements, or without a
    value, is dropped; with `outer` it is emitted once, with nulls for the elements (and a null
    value as it is).

    Further ARRAYs can be exploded in parallel, each into a column of its own: the number of records
    is the length of the longest, and the columns of shorter ones are filled with nulls.
    """

    name: str
    parent: Node
    of: Expression
    into: tuple[str, ...]
    outer: bool = False
    beside: tuple[Expression, ...] = ()
    """The ARRAYs that are exploded in parallel with `of`."""
    is_table: ClassVar[bool] = False
    may_drop: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ensure_stream(self.parent, "explode")
        assert self.schema is not None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @cached_property
    def schema(self) -> Schema:
        of = self.parent.schema
        value = {column.name: column for column in of.value}
        value |= {column.name: column for column in self._elements}
        return Schema(of.key, tuple(value.values()))

    @property
    def action(self) -> str:
        outer = ", or nulls" if self.outer else ""
        arrays = " and ".join(map(str, self.arrays))
        return f"{', '.join(map(quote, self.into))} of each in {arrays}{outer}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return (needed - set(self.into)) | names_in(self.arrays)

    @property
    def arrays(self) -> tuple[Expression, ...]:
        return (self.of, *self.beside)

    @property
    def _elements(self) -> list[Column]:
        scope = scope_of(self.parent)
        if not self.beside:
            return self._of_one(type_of(self.of, scope))
        found = [type_of(array, scope) for array in self.arrays]
        if len(self.into) != len(found) or not all(isinstance(of, Array) for of in found):
            raise InvalidPlan(
                "parallel explodes require arrays, and a name for each",
                detail=f"{', '.join(map(str, self.arrays))} into {', '.join(self.into)}.",
            )
        return [
            Column(name, of.element)
            for name, of in zip(self.into, found, strict=True)
            if isinstance(of, Array)
        ]

    def _of_one(self, of: Type) -> list[Column]:
        match of:
            case Array(element=element):
                types = [element]
            case Map(key=key, value=value):
                types = [key, value]
            case _:
                raise TypeMismatch(
                    f"{self.of} has no elements",
                    detail=f"It is {of}; only an ARRAY or a MAP has elements.",
                )
        if len(types) != len(self.into):
            wanted = "one name" if len(types) == 1 else "two names, for key and value,"
            raise InvalidPlan(
                f"{self.of} requires {wanted} for its elements",
                detail=f"It is {of}. Given: {', '.join(self.into) or 'none'}.",
                hint='Write explode(..., into=("name", "value")).' if len(types) > 1 else "",
            )
        return [Column(name, kind) for name, kind in zip(self.into, types, strict=True)]
