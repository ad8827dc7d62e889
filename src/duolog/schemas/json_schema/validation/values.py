"""JSON values in Python: their types, equality and exact numbers."""

from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Final, TypeGuard

from duolog.schemas.json_schema.json_text import EXPONENT_MAX
from duolog.schemas.json_schema.validation.run import Value

_NAMES: Final = {bool: "boolean", str: "string", list: "array", dict: "object", type(None): "null"}


def is_number(value: Value) -> TypeGuard[int | float | Decimal]:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def exact(number: float | Decimal) -> int | Decimal:
    """Return a number with the digits that JSON shows: 0.1 is one tenth."""
    return Decimal(repr(number)) if isinstance(number, float) else number


def is_whole(number: float | Decimal) -> bool:
    """Return whether a number has no fraction: 1.0 has none."""
    if isinstance(number, int):
        return True
    if isinstance(number, float):
        return number.is_integer()
    return number.is_finite() and number == number.to_integral_value()


def is_multiple(number: float | Decimal, factor: float | Decimal) -> bool:
    """Return whether `number` is a whole multiple of `factor`."""
    if isinstance(number, int) and isinstance(factor, int):
        return factor != 0 and number % factor == 0
    number, factor = exact(number), exact(factor)
    for each in (number, factor):
        if isinstance(each, Decimal) and not (
            each.is_finite() and abs(each.adjusted()) < EXPONENT_MAX
        ):
            return False  # Its digits would fill the memory.
    return factor != 0 and (Fraction(number) / Fraction(factor)).denominator == 1


def type_name(value: Value) -> str:
    """Return the name of a value's type, for messages."""
    return "number" if is_number(value) else _NAMES.get(type(value), type(value).__name__)


def has_type(value: Value, name: str, *, whole_floats: bool) -> bool:
    """Return whether a value has a type of JSON Schema.

    Args:
        value: the value.
        name: the type.
        whole_floats: 1.0 is an integer, as from draft 6.
    """
    if name == "number":
        return is_number(value) and not (isinstance(value, float) and not isfinite(value))
    if name == "integer":
        if isinstance(value, int):
            return not isinstance(value, bool)
        return whole_floats and is_number(value) and is_whole(value)
    return _NAMES.get(type(value)) == name


def comparable(value: Value) -> object:
    """Return a hashable form of a value that is equal for equal values."""
    match value:
        case bool():
            return ("bool", value)
        case float():
            return exact(value)
        case list():
            return ("list", tuple(comparable(item) for item in value))
        case dict():
            return ("dict", frozenset((key, comparable(item)) for key, item in value.items()))
    return value


def shown(value: Value) -> str:
    """Return a value for a message, cut if it is long."""
    match value:
        case bool():
            text = "true" if value else "false"
        case None:
            text = "null"
        case str():
            text = f'"{value[:60]}"'
        case list():
            text = f"an array of {len(value)}"
        case dict():
            text = f"an object of {len(value)}"
        case _:
            text = str(value)
    return text if len(text) <= 62 else f"{text[:60]}…"
