"""DECIMAL arithmetic and parsing as in Spark, which DuckDB cannot do.

Values are passed as strings.
"""

import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final

_EXACT: Final = Context(prec=200, traps=[InvalidOperation])
_LENGTH_MAX: Final = 1000
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?")
_EXPONENT_MAX: Final = 100
_DIGITS_MAX: Final = 38


def computed(sign: str, left: str, right: str, precision: int, scale: int) -> str | None:
    """Evaluate an operator, rounded half up; None for division by zero and on overflow."""
    one, other = Decimal(left), Decimal(right)
    if sign in "/%" and not other:
        return None
    match sign:
        case "+":
            found = _EXACT.add(one, other)
        case "-":
            found = _EXACT.subtract(one, other)
        case "*":
            found = _EXACT.multiply(one, other)
        case "/":
            found = _EXACT.divide(one, other)
        case _:
            found = _EXACT.remainder(one, other)
    return _text(found, scale, precision - scale)


def total(values: list[str | None]) -> str:
    found = Decimal(0)
    for value in values:
        if value is not None:
            found = _EXACT.add(found, Decimal(value))
    return f"{found:f}"


def rounded(value: str, scale: int) -> str | None:
    """Round a number half up to a scale."""
    return _text(Decimal(value), scale, _DIGITS_MAX)


def read(text: str, scale: int) -> str | None:
    """Parse a number, rounded half up; None if the string is not a number."""
    trimmed = text.strip("".join(map(chr, range(33))))
    if len(trimmed) > _LENGTH_MAX or not _NUMBER.fullmatch(trimmed):
        return None
    number = Decimal(trimmed)
    if not number or number.adjusted() < -_EXPONENT_MAX:
        return _text(Decimal(0), scale, _DIGITS_MAX)
    return None if number.adjusted() > _EXPONENT_MAX else _text(number, scale, _DIGITS_MAX)


def _text(value: Decimal, scale: int, whole: int) -> str | None:
    number = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    return None if number and number.adjusted() >= whole else f"{number:f}"
