"""Bind SQL expressions to typed expressions of the plan.

    names        by a scope                     literals   `literals`: INTEGER, BIGINT, DECIMAL, …
    operators    `comparisons`, `arithmetic`    functions  `calls`, by the matching signature
    CASE, logic  `conditionals`                 ARRAY[] …  `constructors`, with `coercion`
    casts, items `subscripts`

An expression that cannot be evaluated for a record (text that is not a number, division by zero) is
null.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions import (
    arithmetic,
    calls,
    comparisons,
    conditionals,
    constructors,
    subscripts,
)
from duolog.ksql.expressions.bound import Bound, Meaning, constant, null
from duolog.ksql.expressions.literals import literal
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.expressions import Expression, Variable
from duolog.plan.types import BOOLEAN, NULL, Type

__all__ = ["Binder", "Bound", "Rule"]

_OF_A_CLAUSE: Final = ("Cannot compare", "Comparison with NULL", "Error processing")
"""Start of error messages that a condition prefixes with the name of its clause."""

Rule = Callable[[exp.Expression], Bound | None]
"""Binds expressions with a special meaning in a clause (aggregates) before the binder does."""


@dataclass(frozen=True)
class Binder:
    """Binds expressions in one scope."""

    scope: SqlScope
    types: Mapping[str, Type]
    rule: Rule | None = None
    variables: Mapping[str, Variable] | None = None

    def bind(self, node: exp.Expression) -> Bound:
        """Bind an expression.

        Raises:
            SqlError: a name is unknown, or types do not match.
        """
        if isinstance(node, exp.Column) and not node.table and node.name in (self.variables or {}):
            variable = (self.variables or {})[node.name]
            return Bound(variable, variable.type)
        if self.rule is not None and (found := self.rule(node)) is not None:
            return found
        if isinstance(node, exp.Column):
            column = self.scope.find(node)
            return Bound(column.expression, column.type)
        for kind in type(node).__mro__:
            if kind in _MEANINGS:
                return _MEANINGS[kind](self, node)
        raise AssertionError(type(node))

    def knowing(self, variables: Mapping[str, Variable]) -> "Binder":
        """Return a binder for the body of a lambda, which also knows the lambda's parameters."""
        return replace(self, variables={**(self.variables or {}), **variables})

    def condition(self, node: exp.Expression) -> Expression:
        """Bind a condition, in the clause of the scope."""
        clause = self.scope.clause
        try:
            bound = self.bind(node)
        except SqlError as error:
            if error.message.startswith(_OF_A_CLAUSE):
                raise SqlError(
                    f"Error in {clause} expression: {error.message}", at=error.at
                ) from None
            raise
        if bound.type not in {BOOLEAN, NULL}:
            raise SqlError(
                f"Type error in {clause} expression: Should evaluate to boolean but is "
                f"{formatted(node)} ({sql_name(bound.type)}) instead.",
                at=place_of(node),
            )
        return bound.expression


_MEANINGS: Final[Mapping[type, Meaning]] = {
    exp.Paren: lambda binding, node: binding.bind(node.this),
    exp.Literal: literal,
    exp.Boolean: lambda _binding, node: constant(bool(node.this), BOOLEAN),
    exp.Null: lambda _binding, _node: Bound(null(), NULL),
    **conditionals.MEANINGS,
    **comparisons.MEANINGS,
    **arithmetic.MEANINGS,
    **constructors.MEANINGS,
    **subscripts.MEANINGS,
    **calls.MEANINGS,
}
"""Binding function of each kind of expression."""
