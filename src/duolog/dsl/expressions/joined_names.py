"""The column names in a join: the left side's own, and the right side's with a prefix."""

from collections.abc import Mapping, Sequence

from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.names import Columns, named
from duolog.plan.errors import InvalidPlan, unknown_name
from duolog.plan.expressions import ColumnRef, Expression, Named, TableColumnRef, rewrite
from duolog.plan.nodes import GlobalTableSource, Node
from duolog.plan.types import render_columns

Select = Sequence[str | Expr] | Columns
"""The value columns of a join: names and expressions, or expressions by name."""

On = str | Expr | Sequence[str | Expr]
"""The columns that are matched with a table's key: one, or several in the order of the key."""


def ensure_keys_named_alike(left: Node, table: Node) -> None:
    """Raise a StatementError if key names differ: only the user knows if they mean the same."""
    names_left = [column.name for column in left.schema.key]
    names_right = [column.name for column in table.schema.key]
    if names_left != names_right:
        on = [f'"{name}"' for name in _matching(left, table) or names_left or ["..."]]
        said = on[0] if len(names_right) == 1 else f"[{', '.join(on)}]"
        other = f", or another column of the {_kind(left)}"
        if not left.is_table and not isinstance(table, GlobalTableSource):
            other += ", which becomes its key"
        keys = f"({render_columns(left.schema.key)})", f"({render_columns(table.schema.key)})"
        raise InvalidPlan(
            f"the keys of {_called(left)} and {_called(table)} have different names",
            detail=f"They are {keys[0]} and {keys[1]}.",
            hint=f"Choose the columns that match {', '.join(names_right)}: "
            f"join(table, on={said}){other}.",
        )


def _matching(left: Node, table: Node) -> list[str]:
    """Return the left columns with the names and types of the key; empty if one is missing."""
    there = {(column.name, column.type) for column in left.schema.columns}
    key = table.schema.key
    return [one.name for one in key] if all((one.name, one.type) in there for one in key) else []


def _kind(node: Node) -> str:
    return "table" if node.is_table else "stream"


def _called(node: Node) -> str:
    return f'{_kind(node)} "{node}"'


class JoinedNames:
    """Resolves column names of both sides of a join."""

    def __init__(self, left: Node, right: Node, prefix: str) -> None:
        self._left = left
        self._right = right
        self._names_left = left.schema.names
        self._names_right = {prefix + column.name: column.name for column in right.schema.value}

    def all_columns(self) -> tuple[Named, ...]:
        for name in self._names_right:
            if name in self._names_left:
                raise self._clash(name)
        return (
            *((column.name, ColumnRef(column.name)) for column in self._left.schema.value),
            *((name, TableColumnRef(of)) for name, of in self._names_right.items()),
        )

    def select(self, select: Select) -> tuple[Named, ...]:
        known = (*self._names_left, *self._names_right)
        if isinstance(select, Mapping):
            chosen = named((), select, known)
        else:
            chosen = named([select] if isinstance(select, str | Expr) else select, {}, known)
        return tuple((name, rewrite(expression, self._resolve)) for name, expression in chosen)

    def _resolve(self, part: Expression) -> Expression | None:
        if not isinstance(part, ColumnRef):
            return None
        if part.name in self._names_left and part.name in self._names_right:
            raise self._clash(part.name)
        if part.name in self._names_right:
            return TableColumnRef(self._names_right[part.name])
        if part.name not in self._names_left:
            raise unknown_name("column", part.name, (*self._names_left, *self._names_right))
        return part

    def _clash(self, name: str) -> InvalidPlan:
        return InvalidPlan(
            f'{_called(self._left)} and {_called(self._right)} both have a column "{name}"',
            hint=f'Use a prefix: join(table, prefix="{self._right.name}_").',
        )
