"""The columns that a clause can name, and their expressions in the plan."""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.formatting import formatted, quoted_name
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.expressions import Expression
from duolog.plan.types import Type

_ALIKE: Final = 0.7
"""Minimal similarity of a name for a suggestion."""


@dataclass(frozen=True, slots=True)
class Visible:
    """A column in scope: source, name, expression in the plan, and type."""

    source: str
    name: str
    expression: Expression
    type: Type
    pseudo: bool = False
    """True for pseudo-columns (ROWTIME, WINDOWSTART …), which * does not include."""
    key: bool = False
    """True if it is part of the key of the records that the clause reads."""


@dataclass(frozen=True, slots=True)
class SqlScope:
    """Columns that a clause can name; `clause` is its name in error messages."""

    columns: tuple[Visible, ...]
    clause: str = "SELECT"
    names: tuple[str, ...] = ()
    """Names of the sources in the catalog.

    Columns of an aliased source can only be found by its alias.
    """

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources, in order."""
        return tuple(dict.fromkeys(column.source for column in self.columns if column.source))

    def within(self, clause: str) -> "SqlScope":
        return replace(self, clause=clause)

    def joined(self, other: "SqlScope") -> "SqlScope":
        """Return a scope with the columns of both."""
        return replace(self, columns=self.columns + other.columns, names=self.names + other.names)

    def having(self, *more: Visible) -> "SqlScope":
        """Return a scope with more columns; they replace columns of the same source and name."""
        taken = {(column.source, column.name) for column in more}
        kept = [one for one in self.columns if (one.source, one.name) not in taken]
        return replace(self, columns=(*kept, *more))

    def find(self, node: exp.Column) -> Visible:
        """Return the column of a name.

        Raises:
            SqlError: no column has that name, or several have it.
        """
        found = self._named(node)
        if len(found) > 1:
            raise self._ambiguous(node, found)
        if found:
            return found[0]
        raise self._unknown(node)

    def get(self, node: exp.Column) -> Visible | None:
        """Return the column of a name if it is unique, else None."""
        found = self._named(node)
        return found[0] if len(found) == 1 else None

    def _named(self, node: exp.Column) -> list[Visible]:
        named = [column for column in self.columns if column.name == node.name]
        return [column for column in named if not node.table or column.source == node.table]

    def _ambiguous(self, node: exp.Column, found: list[Visible]) -> SqlError:
        could = " or ".join(f"{column.source}.{column.name}" for column in found)
        return SqlError(
            f"{_place(node)}Column '{node.name}' is ambiguous. Could be {could}.", at=place_of(node)
        )

    def _unknown(self, node: exp.Column) -> SqlError:
        if node.table and node.table not in {*self.sources, *self.names}:
            hint = (
                f"Use one of the query's sources: {', '.join(self.sources)}."
                if self.sources
                else ""
            )
            return SqlError(
                f"'{node.table}' is not a valid stream/table name or alias.",
                at=place_of(node),
                hint=hint,
            )
        name = f"{node.table}.{node.name}" if node.table else node.name
        text = f"{_place(node)}{self.clause} column '{name}' cannot be resolved."
        if self.clause == "PARTITION BY":
            text += (
                f" '{name}' must be a column in the source schema since PARTITION BY is applied on "
                "the input."
            )
        return SqlError(text, at=place_of(node), hint=self._meant(node))

    def _meant(self, node: exp.Column) -> str:
        """Return a hint with the most similar column; empty if there is none."""
        sources = {node.table} & set(self.sources) or set(self.sources)
        known = {
            column.name.upper(): column
            for column in reversed(self.columns)
            if column.source in sources and not column.pseudo
        }
        near = get_close_matches(node.name.upper(), known, n=1, cutoff=_ALIKE)
        if near:
            return f"Did you mean {quoted_name(known[near[0]].name)}?"
        if isinstance(node.this, exp.Identifier) and node.this.quoted and not node.table:
            return f"Write a text in single quotes: {_text(node.name)}. Other quotes are for names."
        return ""


def _text(name: str) -> str:
    doubled = name.replace("'", "''")
    return f"'{doubled}'"


def is_parameter(node: exp.Column) -> bool:
    """Return true if a name is a parameter of an enclosing lambda."""
    around = node.find_ancestor(exp.Lambda)
    while around is not None:
        if any(name.name == node.name for name in around.expressions):
            return True
        around = around.find_ancestor(exp.Lambda)
    return False


def as_joined(node: exp.Expression, scope: SqlScope) -> str:
    """Format an expression for errors.

    In joins, columns are named SOURCE_COLUMN, as after the join.
    """

    def resolve(part: exp.Expression) -> exp.Expression:
        found = scope.get(part) if isinstance(part, exp.Column) else None
        if found is None or not found.source:
            return part
        return exp.column(exp.to_identifier(f"{found.source}_{found.name}", quoted=True))

    return formatted(node.copy().transform(resolve) if len(scope.sources) > 1 else node)


def _place(node: exp.Expression) -> str:
    at = place_of(node)
    return f"Line: {at.line}, Col: {at.column}: " if at else ""


def qualified(column: Visible) -> str:
    return f"{quoted_name(column.source)}.{quoted_name(column.name)}"
