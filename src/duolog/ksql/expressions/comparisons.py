"""Bind comparisons: = <> < <= > >=, IS [NOT] DISTINCT FROM, BETWEEN, IN, LIKE.

They never return null.

    numbers with numbers     strings with strings, and with DATE, TIME and TIMESTAMP
    BOOLEAN, ARRAY, MAP and STRUCT only with = and <>
    ROWTIME and window bounds also with strings that contain a time

Source: ksqlDB's documentation of operators.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.bound import (
    Binding,
    Bound,
    Meaning,
    call,
    constant,
    converted,
    invalid,
    unwrapped,
)
from duolog.ksql.expressions.coercion import of_one_type
from duolog.ksql.expressions.literals import read_text, text_of
from duolog.ksql.expressions.scope import as_joined
from duolog.ksql.expressions.timestamp_literals import millis_of
from duolog.ksql.syntax.formatting import SIGNS
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name, wider
from duolog.plan.expressions import Literal
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
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
    numeric,
)

COMPARISONS: Final[Mapping[type[exp.Expression], str]] = {
    exp.EQ: "EQUAL",
    exp.NEQ: "NOT_EQUAL",
    exp.LT: "LESS_THAN",
    exp.LTE: "LESS_THAN_OR_EQUAL",
    exp.GT: "GREATER_THAN",
    exp.GTE: "GREATER_THAN_OR_EQUAL",
    exp.NullSafeNEQ: "IS_DISTINCT_FROM",
}
_EQUALITIES: Final = {"EQUAL", "NOT_EQUAL", "IS_DISTINCT_FROM"}
_TIMES: Final = (DATE, TIME, TIMESTAMP)
_MILLIS: Final = {"ROWTIME", "WINDOWSTART", "WINDOWEND"}
"""BIGINT columns that can be compared with a string that contains a time."""


def _comparison(binding: Binding, node: exp.Expression) -> Bound:
    name = COMPARISONS[type(node)]
    left, right = _sides(binding, node)
    if NULL in {left.type, right.type}:
        sign = SIGNS[type(node)]
        raise SqlError(
            f"Comparison with NULL not supported: {_base(left.type)} {sign} {_base(right.type)}\n"
            f"Use 'IS NULL' or 'IS NOT NULL' instead.\nStatement: {as_joined(node, binding.scope)}",
            at=place_of(node),
        )
    if not _comparable(left.type, right.type, name):
        raise SqlError(
            f"Cannot compare {as_joined(node.this, binding.scope)} ({sql_name(left.type)}) to "
            f"{as_joined(node.expression, binding.scope)} ({sql_name(right.type)}) with {name}.\n"
            f"Statement: {as_joined(node, binding.scope)}",
            at=place_of(node),
        )
    left, right = _alike(left, right)
    return Bound(call(name, left.expression, right.expression), BOOLEAN)


def _base(of: Type) -> str:
    return "INTEGER" if of == INT else of.name


def _sides(binding: Binding, node: exp.Expression) -> tuple[Bound, Bound]:
    left, right = binding.bind(node.this), binding.bind(node.expression)
    return (
        _as_moment(left, node.this, right, node.expression),
        _as_moment(right, node.expression, left, node.this),
    )


def _as_moment(one: Bound, node: exp.Expression, other: Bound, beside: exp.Expression) -> Bound:
    """Convert a string literal to the time type it is compared with.

    Return anything else unchanged.
    """
    if one.type != STRING or (other.type not in _TIMES and not is_millis(beside)):
        return one
    text = text_of(node)
    if is_millis(beside):
        return one if text is None else millis(text, node)
    if text is None:
        return converted(one, other.type)
    read = read_text(text, other.type)
    if read is None:
        raise SqlError(
            f"Failed to parse {other.type.name.lower()} '{text}'. {_FORMATS[other.type.name]}",
            at=place_of(node),
        )
    return read


_FORMATS: Final = {
    "DATE": 'Required format is: "yyyy-MM-dd"',
    "TIME": 'Required format is: "HH:mm:ss[.SSS]"',
    "TIMESTAMP": "Required format is: \"yyyy-MM-dd'T'HH:mm:ss.SSS\", with an optional timezone",
}


def is_millis(node: exp.Expression) -> bool:
    node = unwrapped(node)
    return isinstance(node, exp.Column) and node.name in _MILLIS


def millis(text: str, node: exp.Expression) -> Bound:
    """Return the time in a string, which may be abbreviated, in milliseconds."""
    try:
        return constant(millis_of(text), BIGINT)
    except ValueError:
        raise SqlError(
            f"Failed to parse timestamp '{text}'. {_FORMATS['TIMESTAMP']}", at=place_of(node)
        ) from None


def _comparable(left: Type, right: Type, name: str) -> bool:
    if numeric(left) and numeric(right):
        return True
    if {left, right} <= {DATE, TIMESTAMP}:
        return True
    if left == BOOLEAN or isinstance(left, Array | Map | Struct):
        return name in _EQUALITIES and left.name == right.name and wider(left, right) is not None
    return left == right


def _alike(left: Bound, right: Bound) -> tuple[Bound, Bound]:
    """Convert both operands to one type; Spark converts numbers itself."""
    if left.type == right.type or numeric(left.type):
        return left, right
    common = TIMESTAMP if left.type in _TIMES else wider(left.type, right.type)
    assert common is not None, "what is comparable has a common type"
    return converted(left, common), converted(right, common)


def _between(binding: Binding, node: exp.Expression) -> Bound:
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    try:
        return binding.bind(exp.And(this=low, expression=high))
    except SqlError as error:
        if not error.message.startswith("Cannot compare"):
            raise
        raise SqlError(f"Invalid expression: {error.message}", at=place_of(node)) from None


def _in(binding: Binding, node: exp.Expression) -> Bound:
    among = list(node.expressions)
    if is_millis(node.this):
        texts = [text_of(one) for one in among]
        among = [
            one if text is None else _written(text, one)
            for one, text in zip(among, texts, strict=True)
        ]

    def refuse(message: str, at: exp.Expression) -> SqlError:
        return invalid(binding, message, at)

    _, bound = of_one_type(binding, [node.this, *among], refuse)
    return Bound(call("IN", *(one.expression for one in bound)), BOOLEAN)


def _written(text: str, node: exp.Expression) -> exp.Expression:
    found = millis(text, node).expression
    assert isinstance(found, Literal)
    return exp.Literal.number(str(found.value))


def _like(binding: Binding, node: exp.Expression) -> Bound:
    escape = node.expression if isinstance(node, exp.Escape) else None
    like = node.this if escape is not None else node
    sides = [binding.bind(like.this), binding.bind(like.expression)]
    if escape is not None:
        sides.append(binding.bind(escape))
        if len(escape.name) != 1:
            raise SqlError(
                f"Escape character must be a single character: '{escape.name}'", at=place_of(node)
            )
    for side in sides:
        if side.type not in {STRING, NULL}:
            raise SqlError(
                "The column type for Like condition must be VARCHAR. "
                f"The column type is {sql_name(side.type)}",
                at=place_of(node),
            )
    return Bound(call("LIKE", *(side.expression for side in sides)), BOOLEAN)


MEANINGS: Final[Mapping[type[exp.Expression], Meaning]] = {
    **dict.fromkeys(COMPARISONS, _comparison),
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.Escape: _like,
}
