"""Casts of plain Python values, as in Spark SQL with ansi off: a failed cast is null.

Source: Spark `org.apache.spark.sql.catalyst.expressions.Cast`.
"""

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal as PythonDecimal
from decimal import DecimalException
from typing import Final, cast

from duolog.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Decimal,
    Type,
)
from duolog.serde.json_writing import WIDE, double_text

BITS: Final = {INT: 32, BIGINT: 64}
_WHOLE: Final = re.compile(r"([+-]?)(\d*)(\.\d*)?\Z")
_TRUE: Final = {"t", "true", "y", "yes", "1"}
_FALSE: Final = {"f", "false", "n", "no", "0"}


def wrap(value: int, of: Type) -> int:
    """Return `value` after an overflow of the type's width."""
    half = 1 << (BITS[of] - 1)
    return (value + half) % (2 * half) - half


def saturate(value: float, of: Type) -> int:
    """Return `value` truncated to an integer, limited to the range of the type."""
    half = 1 << (BITS[of] - 1)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return half - 1 if value > 0 else -half
    return max(-half, min(half - 1, math.trunc(value)))


def fit(value: PythonDecimal, of: Decimal) -> PythonDecimal | None:
    """Return `value` rounded half up to the type's scale, or None if it is too wide."""
    # Java has no -0.
    rounded = WIDE.plus(value.quantize(PythonDecimal(1).scaleb(-of.scale), context=WIDE))
    return rounded if rounded.copy_abs() < PythonDecimal(10) ** (of.precision - of.scale) else None


def cast_value(value: object, given: Type, wanted: Type) -> object:
    """Return `value` of the type `given` converted to the type `wanted`, or None.

    Example:
        >>> cast_value(" 15.9 ", STRING, INT), cast_value("x", STRING, INT)
        (15, None)
        >>> cast_value(2**31, BIGINT, INT), cast_value(1e10, DOUBLE, INT)
        (-2147483648, 2147483647)
    """
    if value is None or given == wanted:
        return value
    match wanted:
        case Decimal():
            return _to_decimal(value, wanted)
        case _:
            return _CASTS[wanted](value, wanted)


def _to_integer(value: object, of: Type) -> int | None:
    match value:
        case bool() | int():
            return wrap(int(value), of)
        case float():
            return saturate(value, of)
        case PythonDecimal():
            return wrap(int(value), of)
        case str():
            return _text_to_integer(value.strip(), of)
        case _:
            return None


def _text_to_integer(text: str, of: Type) -> int | None:
    found = _WHOLE.match(text)
    # Spark parses a point without digits as 0, but not a sign alone.
    if not found or not (found[2] or found[3]):
        return None
    number = int(found[1] + (found[2] or "0"))
    return number if wrap(number, of) == number else None


def _to_double(value: object, _of: Type) -> float | None:
    if isinstance(value, str) and "_" in value:
        return None
    try:
        return float(cast("float", value))
    except ValueError:
        return None


def _to_decimal(value: object, of: Decimal) -> PythonDecimal | None:
    text = value.strip() if isinstance(value, str) else repr(value)
    if isinstance(value, bool | PythonDecimal):
        text = str(int(value) if isinstance(value, bool) else value)
    try:
        number = PythonDecimal(text)
        return fit(number, of) if number.is_finite() and "_" not in text else None
    except DecimalException:
        return None


def _to_boolean(value: object, _of: Type) -> bool | None:
    if not isinstance(value, str):
        return value != 0
    text = value.strip().lower()
    if text in _TRUE:
        return True
    return False if text in _FALSE else None


def _to_text(value: object, _of: Type) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case bytes():
            return value.decode(errors="replace")
        case dt.datetime():
            text = value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(" ")
            return text.rstrip("0") if value.microsecond else text
        case dt.date():
            return value.isoformat()
        case _:
            return str(value)


def _to_bytes(value: object, _of: Type) -> bytes:
    return cast("str", value).encode()


def _to_date(value: object, _of: Type) -> dt.date | None:
    if isinstance(value, dt.datetime):
        return value.date()
    try:
        return dt.date.fromisoformat(cast("str", value).strip())
    except ValueError:
        return None


def _to_timestamp(value: object, _of: Type) -> dt.datetime | None:
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time(0), dt.UTC)
    try:
        found = dt.datetime.fromisoformat(cast("str", value).strip())
    except ValueError:
        return None
    return found.astimezone(dt.UTC) if found.tzinfo else found.replace(tzinfo=dt.UTC)


_CASTS: Final[dict[Type, Callable[[object, Type], object]]] = {
    BOOLEAN: _to_boolean,
    INT: _to_integer,
    BIGINT: _to_integer,
    DOUBLE: _to_double,
    STRING: _to_text,
    BYTES: _to_bytes,
    DATE: _to_date,
    TIMESTAMP: _to_timestamp,
}
