"""Bound expressions, and the interface of the binder for functions that bind parts of them."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.scope import SqlScope
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.expressions import Call, Cast, Expression, Literal, Variable
from duolog.plan.literals import PlainValue
from duolog.plan.sql.registry import PREFIX
from duolog.plan.types import NULL, Type


class Bound(NamedTuple):
    """An expression of the plan, with its type."""

    expression: Expression
    type: Type


class Binding(Protocol):
    """Interface of the binder: binds expressions in one scope."""

    @property
    def scope(self) -> SqlScope: ...

    @property
    def types(self) -> Mapping[str, Type]: ...

    @property
    def variables(self) -> Mapping[str, Variable] | None: ...

    def bind(self, node: exp.Expression) -> Bound: ...

    def knowing(self, variables: Mapping[str, Variable]) -> "Binding":
        """Return a binder for the body of a lambda."""


Meaning = Callable[[Binding, exp.Expression], Bound]
"""Binds one kind of expression."""

_CODE: Final = {
    "SELECT": "Select",
    "WHERE": "Predicate",
    "HAVING": "Predicate",
    "GROUP BY": "Group By",
    "PARTITION BY": "Partition By",
}


def invalid(binding: Binding, message: str, node: exp.Expression) -> SqlError:
    """Return the error of an expression that cannot be evaluated, prefixed with its clause."""
    clause = _CODE.get(binding.scope.clause)
    return SqlError(f"Invalid {clause}: {message}" if clause else message, at=place_of(node))


def constant(value: PlainValue, of: Type) -> Bound:
    return Bound(Literal(value, of), of)


def null() -> Literal:
    return Literal(None, NULL)


def unwrapped(node: exp.Expression) -> exp.Expression:
    """Return an expression without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def call(name: str, *args: Expression) -> Call:
    return Call(PREFIX + name, args)


def converted(bound: Bound, wanted: Type) -> Bound:
    """Convert a bound expression to another type; null if a value cannot be converted."""
    if bound.type == wanted:
        return bound
    if bound.type == NULL:
        return Bound(Cast(bound.expression, wanted), wanted)
    return Bound(call("CAST", bound.expression, type_as_argument(wanted)), wanted)


def type_as_argument(of: Type) -> Cast:
    """Return a null of a type, which passes the result type to a function."""
    return Cast(null(), of)
