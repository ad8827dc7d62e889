"""Bind ARRAY[…], MAP(…) and STRUCT(…)."""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.bound import Binding, Bound, Meaning, call, invalid, type_as_argument
from duolog.ksql.expressions.coercion import Refuse, of_one_type
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import ensure_distinct_fields
from duolog.plan.expressions import Expression
from duolog.plan.types import NULL, Array, Column, Map, Struct

_SEE: Final = "(see https://github.com/confluentinc/ksql/issues/4239)"
_CAST_IT: Final = "As a workaround, you may cast a NULL {} to the desired type."


def _refuse(binding: Binding) -> Refuse:
    return lambda message, node: invalid(binding, message, node)


def _all_null(what: str, parts: str, part: str, node: exp.Expression) -> SqlError:
    return SqlError(
        f"Cannot construct {what} with all NULL {parts} {_SEE}. {_CAST_IT.format(part)}",
        at=place_of(node),
    )


def _array(binding: Binding, node: exp.Expression) -> Bound:
    if not node.expressions:
        raise SqlError(
            f"Array constructor cannot be empty. Please supply at least one element {_SEE}.",
            at=place_of(node),
        )
    element, bound = of_one_type(binding, node.expressions, _refuse(binding))
    if element == NULL:
        raise _all_null("an array", "elements", "value", node)
    return Bound(call("ARRAY", *(_part(binding, one) for one in bound)), Array(element))


def _map(binding: Binding, node: exp.Expression) -> Bound:
    if not node.expressions:
        raise SqlError(
            f"Map constructor cannot be empty. Please supply at least one key value pair {_SEE}.",
            at=place_of(node),
        )
    key, keys = of_one_type(binding, [one.this for one in node.expressions], _refuse(binding))
    value, values = of_one_type(
        binding, [one.expression for one in node.expressions], _refuse(binding)
    )
    if key == NULL:
        raise _all_null("a map", "keys", "key", node)
    if value == NULL:
        raise _all_null("a map", "values", "value", node)
    parts = [_part(binding, part) for pair in zip(keys, values, strict=True) for part in pair]
    return Bound(call("MAP", *parts), Map(key, value))


def _struct(binding: Binding, node: exp.Expression) -> Bound:
    names = [one.this.name for one in node.expressions]
    bound = [binding.bind(one.expression) for one in node.expressions]
    of = Struct(tuple(Column(name, one.type) for name, one in zip(names, bound, strict=True)))
    ensure_distinct_fields(of.fields, node)
    values = (_part(binding, one) for one in bound)
    return Bound(call("STRUCT", type_as_argument(of), *values), of)


def _part(binding: Binding, bound: Bound) -> Expression:
    """Return a part of a constructor.

    In a lambda, where arithmetic may fail, a failed part is null.
    """
    return call("ATTEMPT", bound.expression) if binding.variables else bound.expression


MEANINGS: Final[Mapping[type[exp.Expression], Meaning]] = {
    exp.Array: _array,
    nodes.MapOf: _map,
    nodes.StructOf: _struct,
}
