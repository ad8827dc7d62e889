"""Bind AND, OR, NOT, IS NULL and CASE."""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.bound import Binding, Bound, Meaning, converted
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.expressions import Call, Cast, Expression
from duolog.plan.types import BOOLEAN, NULL, Type

_INVALID: Final = "Invalid Case expression."


def _truth(binding: Binding, node: exp.Expression) -> Expression:
    bound = binding.bind(node)
    if bound.type == NULL:
        return Cast(bound.expression, BOOLEAN)
    if bound.type != BOOLEAN:
        raise SqlError(
            f"Should evaluate to boolean but is {formatted(node)} "
            f"({sql_name(bound.type)}) instead.",
            at=place_of(node),
        )
    return bound.expression


def _connector(binding: Binding, node: exp.Expression) -> Bound:
    sides = tuple(_truth(binding, side) for side in (node.this, node.expression))
    return Bound(Call("AND" if isinstance(node, exp.And) else "OR", sides), BOOLEAN)


def _not(binding: Binding, node: exp.Expression) -> Bound:
    return Bound(Call("NOT", (_truth(binding, node.this),)), BOOLEAN)


def _is_null(binding: Binding, node: exp.Expression) -> Bound:
    return Bound(Call("IS_NULL", (binding.bind(node.this).expression,)), BOOLEAN)


def _case(binding: Binding, node: exp.Expression) -> Bound:
    conditions = [_condition(binding, node, arm) for arm in node.args["ifs"]]
    given = [arm.args["true"] for arm in node.args["ifs"]]
    values = [binding.bind(one) for one in given]
    default = node.args.get("default")
    otherwise = None if default is None else binding.bind(default)
    of = _type_of_arms(node.args["ifs"], values, otherwise)
    parts: list[Expression] = []
    for condition, value in zip(conditions, values, strict=True):
        parts += [condition, converted(value, of).expression]
    if otherwise is not None:
        parts.append(converted(otherwise, of).expression)
    return Bound(Call("CASE", tuple(parts)), of)


def _condition(binding: Binding, node: exp.Expression, arm: exp.Expression) -> Expression:
    if node.this is not None:
        compared = exp.EQ(this=node.this.copy(), expression=arm.this.copy())
        return binding.bind(compared).expression
    bound = binding.bind(arm.this)
    if bound.type != BOOLEAN:
        raise SqlError(
            "WHEN operand type should be boolean.\n"
            f"Type for '{formatted(arm.this)}' is {sql_name(bound.type)}",
            at=place_of(arm),
        )
    return bound.expression


def _type_of_arms(arms: list[exp.Expression], values: list[Bound], otherwise: Bound | None) -> Type:
    """Return the common type of all branches; null branches are ignored."""
    found: Type = NULL
    for arm, value in zip(arms, values, strict=True):
        if found != NULL and value.type not in {found, NULL}:
            raise SqlError(
                f"{_INVALID} Type for all 'THEN' clauses should be the same.\n"
                f"THEN expression '{formatted(arm)}' has type: {sql_name(value.type)}.\n"
                f"Previous THEN expression(s) type: {sql_name(found)}.",
                at=place_of(arm.args["true"]),
            )
        found = value.type if found == NULL else found
    if otherwise is not None and found != NULL and otherwise.type not in {found, NULL}:
        raise SqlError(
            f"{_INVALID} Type for the default clause should be the same as for 'THEN' clauses.\n"
            f"THEN type: {sql_name(found)}.\nDEFAULT type: {sql_name(otherwise.type)}.",
            at=place_of(arms[0]),
        )
    if found == NULL:
        found = NULL if otherwise is None else otherwise.type
    if found == NULL:
        raise SqlError(f"{_INVALID} All case branches have NULL type", at=place_of(arms[0]))
    return found


MEANINGS: Final[Mapping[type[exp.Expression], Meaning]] = {
    exp.And: _connector,
    exp.Or: _connector,
    exp.Not: _not,
    exp.Is: _is_null,
    exp.Case: _case,
}
