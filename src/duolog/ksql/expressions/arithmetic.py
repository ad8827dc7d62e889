"""Bind arithmetic on numbers, and concatenation of strings."""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.bound import Binding, Bound, Meaning, call, unwrapped
from duolog.ksql.expressions.calls import bind_call
from duolog.ksql.expressions.literals import number
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.types import INT, NULL, STRING, Type, numeric

_SIGNS: Final[Mapping[type[exp.Expression], str]] = {
    exp.Add: "ADD",
    exp.Sub: "SUBTRACT",
    exp.Mul: "MULTIPLY",
    exp.Div: "DIVIDE",
    exp.Mod: "MODULUS",
}


def _arithmetic(binding: Binding, node: exp.Expression) -> Bound:
    sides = binding.bind(node.this), binding.bind(node.expression)
    types = [side.type for side in sides]
    if isinstance(node, exp.Add) and set(types) == {STRING}:
        return Bound(call("JOIN", *(side.expression for side in sides)), STRING)
    if NULL in types:
        named = " and ".join("null" if of == NULL else sql_name(of) for of in types)
        raise SqlError(
            f"Error processing expression: {formatted(node)}. "
            f"Arithmetic on types {named} are not supported.",
            at=place_of(node),
            hint="Give the null a type: CAST(NULL AS INT).",
        )
    if not all(map(numeric, types)):
        raise SqlError(
            f"Error processing expression: {formatted(node)}. Unsupported arithmetic types. "
            + " ".join(map(_base, types)),
            at=place_of(node),
        )
    found = bind_call(_SIGNS[type(node)], sides, node)
    if not binding.variables:
        return found
    # Inside a lambda, arithmetic on null is an error: the function that calls the lambda returns
    # null.
    return Bound(call("PRESENT", found.expression), found.type)


def _base(of: Type) -> str:
    return "INTEGER" if of == INT else of.name


def _negative(binding: Binding, node: exp.Expression) -> Bound:
    inside = unwrapped(node.this)
    if isinstance(inside, exp.Literal) and not inside.is_string:
        return number("-" + inside.name, node)
    bound = binding.bind(node.this)
    if not numeric(bound.type):
        raise SqlError(
            f"Error processing expression: {formatted(node)}. "
            f"Unsupported arithmetic types. {_base(bound.type)}",
            at=place_of(node),
        )
    return Bound(call("NEGATE", bound.expression), bound.type)


def _joined(binding: Binding, node: exp.Expression) -> Bound:
    sides = binding.bind(node.this), binding.bind(node.expression)
    return bind_call("CONCAT", sides, node)


MEANINGS: Final[Mapping[type[exp.Expression], Meaning]] = {
    **dict.fromkeys(_SIGNS, _arithmetic),
    exp.Neg: _negative,
    exp.DPipe: _joined,
}
