"""Write values as JSON text: a function for each type, byte for byte as Spark's Jackson writes.

Source: Spark `JacksonGenerator`.
"""

import base64
import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context
from decimal import Decimal as PythonDecimal
from typing import Final, cast

from duolog.core.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
)

WIDE: Final = Context(prec=60, rounding=ROUND_HALF_UP)
"""Arithmetic with room for every DECIMAL, rounded as in Spark."""

NOT_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

Writer = Callable[[object], str]


def double_text(value: float) -> str:
    """Return a DOUBLE as Java writes it.

    Java before 19 writes an extra digit for a few values; this is not copied.

    Example:
        >>> double_text(12.5), double_text(1e7), double_text(0.00012)
        ('12.5', '1.0E7', '1.2E-4')
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = PythonDecimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "a finite number has a number for its exponent"
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{digits[0]}.{rest}E{exponent + len(digits) - 1}"


_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\"} | {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def text_of(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return f'"{_ESCAPED.sub(lambda found: _escape(found[0]), value)}"'


def _escape(character: str) -> str:
    return _SHORT.get(character) or f"\\u{ord(character):04X}"


def key_text(key: object) -> str:
    """Return a key of a map as the name that it has in a JSON object.

    Example:
        >>> key_text(True), key_text(1e7), key_text(-1), key_text("a")
        ('true', '1.0E7', '-1', 'a')
    """
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return double_text(key) if isinstance(key, float) else str(key)


def writer_of(of: Type) -> Writer:
    """Return the function that writes values of a type, including null."""
    write = _plain_writer(of)
    return lambda value: "null" if value is None else write(value)


def _plain_writer(of: Type) -> Writer:
    match of:
        case Array():
            write = writer_of(of.element)
            return lambda value: f"[{','.join(map(write, cast('Sequence[object]', value)))}]"
        case Map():
            return _map_writer(of)
        case Struct():
            return _struct_writer(of)
        case Decimal():
            step = PythonDecimal(1).scaleb(-of.scale)
            # Integers and texts are accepted as numbers.
            return lambda value: str(PythonDecimal(cast("str", value)).quantize(step, context=WIDE))
        case _:
            return SCALAR_WRITERS[of]


def _map_writer(of: Map) -> Writer:
    write = writer_of(of.value)

    def write_map(value: object) -> str:
        items = cast("Mapping[object, object]", value).items()
        return f"{{{','.join(f'{text_of(key_text(key))}:{write(item)}' for key, item in items)}}}"

    return write_map


def _struct_writer(of: Struct) -> Writer:
    writers = [(field.name, text_of(field.name), writer_of(field.type)) for field in of.fields]

    def write_struct(value: object) -> str:
        fields = cast("Mapping[str, object]", value)
        return f"{{{','.join(f'{text}:{write(fields.get(n))}' for n, text, write in writers)}}}"

    return write_struct


def _integer(value: object) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not an integer")
    return str(value)


def _boolean(value: object) -> str:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not a boolean")
    return "true" if value else "false"


def _double(value: object) -> str:
    text = double_text(float(cast("float", value)))
    return f'"{text}"' if text in NOT_NUMBERS else text


def _timestamp(value: object) -> str:
    in_utc = cast("dt.datetime", value).astimezone(dt.UTC).replace(tzinfo=None)
    digits = "microseconds" if in_utc.microsecond % 1000 else "milliseconds"
    return f'"{in_utc.isoformat(timespec=digits)}Z"'


SCALAR_WRITERS: Final[dict[Type, Writer]] = {
    BOOLEAN: _boolean,
    INT: _integer,
    BIGINT: _integer,
    TIME: _integer,
    DOUBLE: _double,
    STRING: text_of,
    BYTES: lambda value: f'"{base64.b64encode(cast("bytes", value)).decode()}"',
    DATE: lambda value: f'"{cast("dt.date", value).isoformat()}"',
    TIMESTAMP: _timestamp,
}
