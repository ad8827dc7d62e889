"""Bind casts, fields of a STRUCT, elements of an ARRAY and values of a MAP."""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.bound import Binding, Bound, Meaning, call, converted, invalid
from duolog.ksql.expressions.literals import read_text, text_of
from duolog.ksql.settings import settings_in_force
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name, type_from
from duolog.plan.expressions import Item, Literal
from duolog.plan.sql.casting import castable
from duolog.plan.types import (
    BIGINT,
    DATE,
    INT,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Map,
    Struct,
    Type,
)

_MOMENTS: Final = (DATE, TIME, TIMESTAMP)


def _cast(binding: Binding, node: exp.Expression) -> Bound:
    bound = binding.bind(node.this)
    wanted = type_from(node.args["to"], binding.types)
    if bound.type != NULL and not castable(bound.type, wanted):
        raise invalid(
            binding, f"Cast of {sql_name(bound.type)} to {sql_name(wanted)} is not supported", node
        )
    text = text_of(node.this)
    read = None if text is None or wanted not in _MOMENTS else read_text(text, wanted)
    return read or converted(bound, wanted)


def _deref(binding: Binding, node: exp.Expression) -> Bound:
    bound = binding.bind(node.this)
    name = node.args["name"].name
    if not isinstance(bound.type, Struct):
        raise SqlError(f"Expected STRUCT type, got: {sql_name(bound.type)}", at=place_of(node))
    fields = dict(bound.type.fields)
    if name not in fields:
        raise SqlError(
            f"Could not find field '{name}' in '{formatted(node.this)}'.", at=place_of(node)
        )
    return Bound(Item(bound.expression, Literal(name, STRING)), fields[name])


def _is_key(of: Type) -> bool:
    """Return true if the type can be a MAP key in an access.

    Rules 2 allowed ARRAY, MAP and STRUCT.
    """
    return not (isinstance(of, Array | Map | Struct) and settings_in_force().refuses_early)


def _bracket(binding: Binding, node: exp.Expression) -> Bound:
    bound, key = binding.bind(node.this), binding.bind(node.expressions[0])
    match bound.type:
        case Array(element=element) if key.type in {INT, BIGINT}:
            # Positions count from 1, or backwards from -1.
            return Bound(call("ELEMENT", bound.expression, key.expression), element)
        case Map(key=wanted, value=value) if castable(key.type, wanted) and _is_key(key.type):
            return Bound(Item(bound.expression, converted(key, wanted).expression), value)
        case Array() | Map():
            raise SqlError(
                f"{sql_name(bound.type)} has no item {formatted(node.expressions[0])} "
                f"({sql_name(key.type)})",
                at=place_of(node),
            )
        case other:
            raise SqlError(
                "Subscript expression target must be of type ARRAY or MAP, but was "
                f"{sql_name(other)}",
                at=place_of(node),
            )


MEANINGS: Final[Mapping[type[exp.Expression], Meaning]] = {
    exp.Cast: _cast,
    nodes.Deref: _deref,
    exp.Bracket: _bracket,
}
