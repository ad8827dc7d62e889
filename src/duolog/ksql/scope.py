"""The columns that a clause may name, and what each stands for in the plan."""

from dataclasses import dataclass

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.formatting import quoted_name
from duolog.ksql.nodes import place_of
from duolog.plan.expressions import Expression
from duolog.plan.types import Type


@dataclass(frozen=True, slots=True)
class Visible:
    """A column in scope: of which source, under which name, and what it is in the plan."""

    source: str
    name: str
    expression: Expression
    type: Type
    pseudo: bool = False
    """Whether it stands beside the columns (ROWTIME, WINDOWSTART …) and is in no *."""
    key: bool = False
    """Whether it is in the key of the records that a clause sees."""


@dataclass(frozen=True, slots=True)
class SqlScope:
    """What a clause sees; `clause` is how errors call it."""

    columns: tuple[Visible, ...]
    clause: str = "SELECT"

    def within(self, clause: str) -> "SqlScope":
        return SqlScope(self.columns, clause)

    def find(self, node: exp.Column) -> Visible:
        """Return the column that a name means.

        Raises:
            SqlError: none, or several.
        """
        named = [column for column in self.columns if column.name == node.name]
        found = [column for column in named if not node.table or column.source == node.table]
        if len(found) > 1:
            raise self._ambiguous(node, found)
        if found:
            return found[0]
        raise self._unknown(node)

    def _ambiguous(self, node: exp.Column, found: list[Visible]) -> SqlError:
        could = " or ".join(f"{column.source}.{column.name}" for column in found)
        return SqlError(
            f"{_place(node)}Column '{node.name}' is ambiguous. Could be {could}.", at=place_of(node)
        )

    def _unknown(self, node: exp.Column) -> SqlError:
        name = f"{node.table}.{node.name}" if node.table else node.name
        return SqlError(
            f"{_place(node)}{self.clause} column '{name}' cannot be resolved.", at=place_of(node)
        )


def _place(node: exp.Expression) -> str:
    at = place_of(node)
    return f"Line: {at.line}, Col: {at.column}: " if at else ""


def qualified(column: Visible) -> str:
    return f"{quoted_name(column.source)}.{quoted_name(column.name)}"
