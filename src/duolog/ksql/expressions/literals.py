"""Bind literals: numbers by their notation, and strings as values of other types.

10        INTEGER, or BIGINT if it is larger     '2e1'          20, if compared with numbers
2.50      DECIMAL(3, 2)                          'tr', 'Y'      true, if compared with booleans
1e-1      DOUBLE                                 '2020-02-10'   a DATE, if compared with one
"""

import math
from decimal import Decimal as DecimalValue
from decimal import InvalidOperation
from typing import Final

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.bound import Binding, Bound, constant, converted, unwrapped
from duolog.ksql.expressions.timestamp_literals import date_of, time_of, timestamp_of
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.types import sql_name
from duolog.plan.expressions import Literal
from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    Type,
    numeric,
)

_INT_MAX: Final = 2**31 - 1
_BIGINT_MAX: Final = 2**63 - 1
_TRUE: Final = ("true", "yes")
_FALSE: Final = ("false", "no")


def literal(_binding: Binding, node: exp.Expression) -> Bound:
    if node.is_string:
        return constant(node.name, STRING)
    return number(node.name, node)


def number(text: str, node: exp.Expression) -> Bound:
    """Bind a number literal."""
    if "E" in text.upper():
        try:
            value = float(text)
        except ValueError as error:  # As in `1e`, before its exponent is typed.
            raise SqlError(
                f"Invalid number: {text}",
                at=place_of(node),
                hint="Write digits after the E, such as 1E5.",
            ) from error
        if math.isinf(value):
            raise SqlError(f"Number overflows DOUBLE: {text}", at=place_of(node))
        return constant(value, DOUBLE)
    if "." in text:
        return _decimal(DecimalValue(text))
    return _whole(int(text))


def _whole(value: int) -> Bound:
    return constant(value, INT if -_INT_MAX - 1 <= value <= _INT_MAX else BIGINT)


def _decimal(value: DecimalValue) -> Bound:
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    return constant(value, Decimal(max(len(digits), scale), scale))


def text_of(node: exp.Expression) -> str | None:
    """Return the text of a string literal, or None for other expressions."""
    node = unwrapped(node)
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def plain_text_of(node: exp.Expression) -> str | None:
    """Return a number or boolean literal as text, or None for other expressions."""
    node = unwrapped(node)
    if isinstance(node, exp.Boolean):
        return str(node.this).lower()
    sign = ""
    if isinstance(node, exp.Neg):
        sign, node = "-", unwrapped(node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        found = number(sign + node.name, node).expression
        assert isinstance(found, Literal)
        return str(found.value)
    return None


def number_in(text: str) -> Bound | None:
    """Parse a number, of the narrowest type; None if the text is not a number."""
    try:
        value = DecimalValue(text.strip())
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    exponent = int(value.as_tuple().exponent)
    if "e" in text.lower() and exponent >= 0:
        # With an exponent it is a decimal, as java.math reads it.
        return _decimal(value.quantize(DecimalValue(1)))
    if exponent >= 0:
        whole = int(value)
        return _whole(whole) if -_BIGINT_MAX - 1 <= whole <= _BIGINT_MAX else None
    found = max(len(value.as_tuple().digits), -exponent)
    return _decimal(value) if found <= DECIMAL_PRECISION_MAX else constant(float(value), DOUBLE)


def boolean_in(text: str) -> bool | None:
    """Parse a boolean: any prefix of true, yes, false or no."""
    said = text.strip().lower()
    if said and any(word.startswith(said) for word in _TRUE):
        return True
    if said and any(word.startswith(said) for word in _FALSE):
        return False
    return None


def read_text(  # noqa: PLR0911 - a table of cases
    text: str, wanted: Type
) -> Bound | None:
    """Parse a value of a type; None if the text is not one."""
    if numeric(wanted):
        found = number_in(text)
        return None if found is None else converted(found, wanted)
    if wanted == BOOLEAN:
        truth = boolean_in(text)
        return None if truth is None else constant(truth, BOOLEAN)
    try:
        if wanted == DATE:
            return constant(date_of(text), DATE)
        if wanted == TIME:
            return constant(time_of(text), TIME)
        if wanted == TIMESTAMP:
            return constant(timestamp_of(text), TIMESTAMP)
    except ValueError:
        return None
    return None


def invalid_input(text: str, wanted: Type) -> str:
    """Return ksqlDB's message for text that is not a value of a type."""
    return f'invalid input syntax for type {sql_name(wanted)}: "{text}".'
