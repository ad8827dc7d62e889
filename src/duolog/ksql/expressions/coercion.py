"""Find a common type: elements of an ARRAY, keys and values of a MAP, operands of IN.

The first element that is not null determines the type; the following elements widen it. Literals
adapt: text to numbers, booleans and times, and numbers and booleans to text, also inside ARRAY[],
MAP() and STRUCT().

Source: ksqlDB's documentation of type coercion.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from duolog.ksql.expressions.bound import (
    Binding,
    Bound,
    call,
    constant,
    converted,
    type_as_argument,
    unwrapped,
)
from duolog.ksql.expressions.literals import (
    invalid_input,
    number_in,
    plain_text_of,
    read_text,
    text_of,
)
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.formatting import formatted
from duolog.ksql.syntax.types import sql_name, wider
from duolog.plan.expressions import Literal
from duolog.plan.types import (
    BOOLEAN,
    DATE,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Map,
    Struct,
    Type,
    numeric,
)

Refuse = Callable[[str, exp.Expression], Exception]
"""Creates an error from a message and the node that caused it."""

_READ_FROM_TEXT = (BOOLEAN, DATE, TIME, TIMESTAMP)


def of_one_type(
    binding: Binding, given: Sequence[exp.Expression], refuse: Refuse
) -> tuple[Type, list[Bound]]:
    """Bind expressions and convert them to their common type.

    Returns:
        The type (NULL if all are null), and the bound expressions.
    """
    found: Type = NULL
    for node in given:
        found = _extended(binding, found, node, refuse)
    return found, [_coerced(binding, node, found) for node in given]


def _extended(binding: Binding, found: Type, node: exp.Expression, refuse: Refuse) -> Type:
    """Return the common type of `found` and the type of `node`."""
    node = unwrapped(node)
    if (inside := _extended_inside(binding, found, node, refuse)) is not None:
        return inside
    of = binding.bind(node).type
    if of in {NULL, found}:
        return found
    if found == NULL:
        return of
    text = text_of(node)
    if text is not None and numeric(found):
        number = number_in(text)
        if number is None:
            raise refuse(invalid_input(text, found), node)
        of = number.type
    elif text is not None and found in _READ_FROM_TEXT:
        if read_text(text, found) is None:
            raise refuse(invalid_input(text, found), node)
        return found
    elif found == STRING and plain_text_of(node) is not None:
        return STRING
    widest = wider(found, of)
    if widest is None:
        raise refuse(
            f"operator does not exist: {sql_name(found)} = {sql_name(of)} ({formatted(node)})\n"
            "Hint: You might need to add explicit type casts.",
            node,
        )
    return widest


def _extended_inside(
    binding: Binding, found: Type, node: exp.Expression, refuse: Refuse
) -> Type | None:
    """Widen a type by each part of a constructor.

    None if `node` is not a constructor of that type.
    """
    match found, node:
        case Array(element=element), exp.Array(expressions=[_, *_]):
            for one in node.expressions:
                element = _extended(binding, element, one, refuse)
            return Array(element)
        case Map(key=key, value=value), nodes.MapOf(expressions=[_, *_]):
            for one in node.expressions:
                key = _extended(binding, key, one.this, refuse)
                value = _extended(binding, value, one.expression, refuse)
            return Map(key, value)
        case Struct(fields=fields), nodes.StructOf():
            types = dict(fields)
            for one in node.expressions:
                name = one.this.name
                types[name] = _extended(binding, types.get(name, NULL), one.expression, refuse)
            return Struct(tuple(Column(name, of) for name, of in types.items()))
        case _:
            return None


def _coerced(binding: Binding, node: exp.Expression, wanted: Type) -> Bound:
    """Bind an expression as a value of its common type."""
    node = unwrapped(node)
    match wanted, node:
        case Array(element=element), exp.Array(expressions=[_, *_]):
            items = [_coerced(binding, one, element).expression for one in node.expressions]
            return Bound(call("ARRAY", *items), wanted)
        case Map(key=key, value=value), nodes.MapOf(expressions=[_, *_]):
            parts = [
                _coerced(binding, part, of).expression
                for one in node.expressions
                for part, of in ((one.this, key), (one.expression, value))
            ]
            return Bound(call("MAP", *parts), wanted)
        case Struct(fields=fields), nodes.StructOf():
            given = {one.this.name: one.expression for one in node.expressions}
            values = [
                _coerced(binding, given[name], of).expression
                if name in given
                else Literal(None, of)
                for name, of in fields
            ]
            return Bound(call("STRUCT", type_as_argument(wanted), *values), wanted)
        case _:
            return _plain(binding, node, wanted)


def _plain(binding: Binding, node: exp.Expression, wanted: Type) -> Bound:
    text = text_of(node)
    if text is not None and wanted != STRING:
        read = read_text(text, wanted)
        assert read is not None, f"{text} was to fit {wanted}"
        return read
    if wanted == STRING and (written := plain_text_of(node)) is not None:
        return constant(written, STRING)
    bound = binding.bind(node)
    return bound if wanted == NULL else converted(bound, wanted)
