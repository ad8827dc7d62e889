"""Parses numbers from texts as ksqlDB does, with a cost bounded by the text's length.

A text that is not a number, or too large a number, is a ValueError. The kernel's `TextNumbers`
follows the same rules.

Source: ksqlDB, which never rounds a DECIMAL and truncates an integer.
"""

import math
import re
from decimal import Context, Inexact
from decimal import Decimal as PythonDecimal
from typing import Final

from duolog.core.types import Decimal

LENGTH_MAX: Final = 1000
_EXPONENT_MAX: Final = 1_000_000_000
_LONG_DIGITS: Final = 19
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BLANKS: Final = "".join(map(chr, range(33)))
_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
EXACT: Final = Context(prec=2 * LENGTH_MAX, traps=[Inexact])
_PLAIN_EXPONENT_MIN: Final = -6
"""BigDecimal uses scientific notation below this exponent."""


def integer(text: str, least: int, most: int) -> int:
    """Return the integer in a text that consists only of digits."""
    if len(text) > LENGTH_MAX or not _INTEGER.fullmatch(text):
        raise ValueError(text)
    return _within(int(text), least, most)


def truncated(text: str, least: int, most: int) -> int:
    """Return a number without its decimal places."""
    if len(text) < _LONG_DIGITS and text.isascii() and text.isdigit():
        return _within(int(text), least, most)
    number = _number(text)
    if not number or number.adjusted() < 0:
        return 0
    if number.adjusted() >= _LONG_DIGITS:
        raise ValueError(text)
    return _within(int(number), least, most)


def real(text: str) -> float:
    """Return the DOUBLE in a text; ignore blanks around it, as Java's `Double.parseDouble` does."""
    trimmed = text if len(text) > LENGTH_MAX else text.strip(_BLANKS)
    if trimmed in _WORDS:
        return _WORDS[trimmed]
    _ensure_number(trimmed)
    return float(trimmed)


def decimal(text: str, of: Decimal) -> PythonDecimal:
    """Return a number that fits the type exactly: nothing is rounded."""
    number = _number(text)
    if number and not -of.scale <= number.adjusted() + 1 <= of.precision - of.scale:
        raise ValueError(text)
    step = PythonDecimal(1).scaleb(-of.scale)
    try:
        return (number or PythonDecimal(0)).quantize(step, context=EXACT)
    except Inexact as error:
        raise ValueError(text) from error


def rendered(text: str) -> str:
    """Return a number's text as Java writes a BigDecimal."""
    sign, digits, exponent = _number(text).as_tuple()
    assert isinstance(exponent, int), "a number that is matched has an exponent"
    whole = "".join(map(str, digits))
    adjusted = len(whole) - 1 + exponent
    minus = "-" if sign and any(digits) else ""
    if exponent > 0 or adjusted < _PLAIN_EXPONENT_MIN:
        rest = f".{whole[1:]}" if len(whole) > 1 else ""
        return f"{minus}{whole[0]}{rest}E{adjusted:+}"
    if exponent == 0:
        return minus + whole
    padded = whole.rjust(1 - exponent, "0")
    return f"{minus}{padded[:exponent]}.{padded[exponent:]}"


def _number(text: str) -> PythonDecimal:
    _ensure_number(text)
    number = PythonDecimal(text)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > _EXPONENT_MAX:
        raise ValueError(text)
    return number


def _ensure_number(text: str) -> None:
    if len(text) > LENGTH_MAX or not _DECIMAL.fullmatch(text):
        raise ValueError(text)


def _within(number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise ValueError(number)
    return number
