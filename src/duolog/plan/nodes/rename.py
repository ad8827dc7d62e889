"""Renames columns; the records stay as they are."""

from dataclasses import dataclass
from functools import cached_property

from duolog.core.counts import counted
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import ColumnRef, Named
from duolog.plan.nodes.node import Names, Node, render_named
from duolog.plan.schema import Schema
from duolog.plan.types import Column


@dataclass(frozen=True, eq=False)
class Rename(Node):
    """Renames the columns of a stream or table: `keys` and `values`, one name per column, in order.

    The window's bounds at the end of a windowed key keep their names. Records are unchanged, so
    nothing runs for it.
    """

    name: str
    parent: Node
    keys: tuple[str, ...]
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        of = self.parent.schema
        for what, given, columns in (
            ("key", self.keys, of.inner_key),
            ("value", self.values, of.value),
        ):
            if len(given) != len(columns):
                raise InvalidPlan(
                    f"{counted(len(given), 'name')} for {counted(len(columns), 'column')} of the "
                    f'{what} of "{self.parent}"'
                )
        assert self.schema is not None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @cached_property
    def schema(self) -> Schema:
        of = self.parent.schema
        keys = _renamed(of.inner_key, self.keys) + of.key[len(of.inner_key) :]
        return Schema(keys, _renamed(of.value, self.values), of.window)

    @cached_property
    def before(self) -> dict[str, str]:
        """The old name of each column, by its new name."""
        return dict(zip(self.schema.names, self.parent.schema.names, strict=True))

    @property
    def is_table(self) -> bool:
        return self.parent.is_table

    @property
    def history_ms(self) -> int | None:
        return self.parent.history_ms

    @property
    def action(self) -> str:
        named: tuple[Named, ...] = tuple(
            (new, ColumnRef(old)) for new, old in self.before.items() if new != old
        )
        return f"names {render_named(named)}" if named else "the same names"

    def reads(self, parent: Node, needed: Names) -> Names:
        return frozenset(self.before[name] for name in needed)


def _renamed(columns: tuple[Column, ...], names: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(Column(name, column.type) for name, column in zip(names, columns, strict=True))
