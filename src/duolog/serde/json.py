"""Format JSON: an object of columns, without spaces, nulls written; or one bare value.

    BOOLEAN true          DECIMAL   1.50                 TIMESTAMP "2013-01-01T10:00:00.123Z"
    INT     15            BYTES     base64               ARRAY     [...]
    DOUBLE  15.0, 1.0E7   DATE      "2013-01-01"         MAP       {...}, keys as texts
    STRING  "SFO"         TIME      "10:00:01.5"         STRUCT    {...}

Byte for byte what the engine writes, which is what Spark's Jackson writes. Reading takes fields
in any order, a missing one as null, and passes over unknown ones and over text behind the object.
A value of another type is an error, but whole numbers are DOUBLEs, texts are DECIMALs too if they
hold a number, and a STRING takes any value's text.

Source: Spark `JacksonGenerator`, `JacksonParser`.
"""

import base64
import binascii
import datetime as dt
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, DecimalException
from decimal import Decimal as PythonDecimal
from typing import Final, TypeVar, cast

from duolog.core.errors import SerdeError
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
    Column,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.serde.row import Row

WIDE: Final = Context(prec=60, rounding=ROUND_HALF_UP)
"""Arithmetic with room for every DECIMAL, rounded as Spark rounds."""

_INTEGER_BITS: Final = {INT: 32, BIGINT: 64}
_NOT_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

T = TypeVar("T")
Writer = Callable[[object], str]
Reader = Callable[[object], object]


class JsonSerde:
    """Reads and writes rows as JSON objects, or one column as a bare value."""

    def __init__(self, columns: tuple[Column, ...], *, bare: bool = False) -> None:
        assert columns, "a JSON object of no columns says nothing"
        assert not bare or len(columns) == 1, columns
        self._columns = columns
        self._bare = bare
        self._writers = [_writer(column.type) for column in columns]
        self._readers = [(column, _reader(column.type)) for column in columns]
        self._names = [_text(column.name) for column in columns]

    def serialize(self, row: Row | None) -> bytes | None:
        if row is None or (self._bare and row[0] is None):
            return None
        try:
            if self._bare:
                return self._writers[0](row[0]).encode()
            fields = [
                f"{name}:{write(value)}"
                for name, write, value in zip(self._names, self._writers, row, strict=True)
            ]
            return f"{{{','.join(fields)}}}".encode()
        except (TypeError, ValueError, AttributeError, DecimalException) as error:
            raise SerdeError("cannot write a row as JSON", detail=f"{row!r}: {error}.") from error

    def deserialize(self, data: bytes | None) -> Row | None:
        if data is None:
            return None
        found = _parse(data)
        if found is None:
            return None
        if self._bare:
            return (self._read(*self._readers[0], found),)
        if not isinstance(found, dict):
            raise SerdeError("the JSON is no object", detail=f"It starts with {data[:40]!r}.")
        return tuple(
            self._read(column, read, found.get(column.name)) for column, read in self._readers
        )

    def _read(self, column: Column, read: Reader, value: object) -> object:
        try:
            return read(value)
        except (TypeError, ValueError, OverflowError, DecimalException) as error:
            raise SerdeError(
                f'cannot read column "{column.name}" from JSON',
                detail=f"{value!r} is no {column.type}.",
            ) from error


def double_text(value: float) -> str:
    """Return a DOUBLE as Java writes it.

    Java before 19 writes a digit too many for a few values; those are not copied.

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


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return f'"{_ESCAPED.sub(lambda found: _escape(found[0]), value)}"'


def _escape(character: str) -> str:
    return _SHORT.get(character) or f"\\u{ord(character):04X}"


def _writer(of: Type) -> Writer:
    """Return the function that writes values of a type, null among them."""
    write = _plain_writer(of)
    return lambda value: "null" if value is None else write(value)


def _plain_writer(of: Type) -> Writer:
    match of:
        case Array():
            write = _writer(of.element)
            return lambda value: f"[{','.join(map(write, cast('Sequence[object]', value)))}]"
        case Map():
            return _map_writer(of)
        case Struct():
            return _struct_writer(of)
        case Decimal():
            step = PythonDecimal(1).scaleb(-of.scale)
            return lambda value: str(cast("PythonDecimal", value).quantize(step, context=WIDE))
        case _:
            return _SCALAR_WRITERS[of]


def _map_writer(of: Map) -> Writer:
    write = _writer(of.value)

    def write_map(value: object) -> str:
        items = cast("Mapping[object, object]", value).items()
        return f"{{{','.join(f'{_text(str(key))}:{write(item)}' for key, item in items)}}}"

    return write_map


def _struct_writer(of: Struct) -> Writer:
    writers = [(field.name, _text(field.name), _writer(field.type)) for field in of.fields]

    def write_struct(value: object) -> str:
        fields = cast("Mapping[str, object]", value)
        return f"{{{','.join(f'{text}:{write(fields.get(n))}' for n, text, write in writers)}}}"

    return write_struct


def _integer(value: object) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no integer")
    return str(value)


def _boolean(value: object) -> str:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is no boolean")
    return "true" if value else "false"


def _double(value: object) -> str:
    text = double_text(float(cast("float", value)))
    return f'"{text}"' if text in _NOT_NUMBERS else text


def _time(value: object) -> str:
    time = cast("dt.time", value)
    text = time.isoformat()
    return f'"{text.rstrip("0") if time.microsecond else text}"'


def _timestamp(value: object) -> str:
    in_utc = cast("dt.datetime", value).astimezone(dt.UTC).replace(tzinfo=None)
    return f'"{in_utc.isoformat(timespec="milliseconds")}Z"'


_SCALAR_WRITERS: Final[dict[Type, Writer]] = {
    BOOLEAN: _boolean,
    INT: _integer,
    BIGINT: _integer,
    DOUBLE: _double,
    STRING: _text,
    BYTES: lambda value: f'"{base64.b64encode(cast("bytes", value)).decode()}"',
    DATE: lambda value: f'"{cast("dt.date", value).isoformat()}"',
    TIME: _time,
    TIMESTAMP: _timestamp,
}


_DECODER: Final = json.JSONDecoder(
    parse_float=PythonDecimal, parse_constant=_NOT_NUMBERS.__getitem__
)


def _parse(data: bytes) -> object:
    try:
        return _DECODER.raw_decode(data.decode().lstrip())[0]
    except (ValueError, RecursionError) as error:
        raise SerdeError("the bytes are no JSON", detail=f"{error}; {data[:40]!r}.") from error


def _reader(of: Type) -> Reader:
    """Return the function that reads values of a type, null among them."""
    read = _plain_reader(of)
    return lambda value: None if value is None else read(value)


def _plain_reader(of: Type) -> Reader:
    match of:
        case Array():
            read = _reader(of.element)
            return lambda value: [read(item) for item in _expect(list, value)]
        case Map():
            read = _reader(of.value)
            return lambda value: {key: read(item) for key, item in _expect(dict, value).items()}
        case Struct():
            readers = [(field.name, _reader(field.type)) for field in of.fields]
            return lambda value: {n: read(_expect(dict, value).get(n)) for n, read in readers}
        case Decimal():
            return _decimal_reader(of)
        case _:
            return _SCALAR_READERS[of]


def _decimal_reader(of: Decimal) -> Reader:
    step = PythonDecimal(1).scaleb(-of.scale)

    def read(value: object) -> object:
        text = value if isinstance(value, str) else str(_number(value))
        number = PythonDecimal(text).quantize(step, context=WIDE)
        if abs(number) >= PythonDecimal(10) ** (of.precision - of.scale):
            raise ValueError(value)
        return number

    return read


def _integer_reader(of: Type) -> Reader:
    bound = 2 ** (_INTEGER_BITS[of] - 1)

    def read(value: object) -> object:
        number = _number(value)
        if not isinstance(number, int) or not -bound <= number < bound:
            raise ValueError(value)
        return number

    return read


def _read_double(value: object) -> float:
    if isinstance(value, float):
        return value  # an unquoted NaN or Infinity
    if isinstance(value, str) and value in _NOT_NUMBERS:
        return _NOT_NUMBERS[value]
    return float(_number(value))


def _read_text(value: object) -> str:
    match value:
        case str():
            return value
        case PythonDecimal():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _read_bytes(value: object) -> bytes:
    try:
        return base64.b64decode(_expect(str, value), validate=True)
    except binascii.Error as error:
        raise ValueError(value) from error


def _read_timestamp(value: object) -> dt.datetime:
    found = dt.datetime.fromisoformat(_expect(str, value))
    return found.astimezone(dt.UTC) if found.tzinfo else found.replace(tzinfo=dt.UTC)


def _number(value: object) -> int | PythonDecimal:
    if isinstance(value, bool) or not isinstance(value, int | PythonDecimal):
        raise TypeError(value)
    return value


def _expect(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


_SCALAR_READERS: Final[dict[Type, Reader]] = {
    BOOLEAN: lambda value: _expect(bool, value),
    INT: _integer_reader(INT),
    BIGINT: _integer_reader(BIGINT),
    DOUBLE: _read_double,
    STRING: _read_text,
    BYTES: _read_bytes,
    DATE: lambda value: dt.date.fromisoformat(_expect(str, value)),
    TIME: lambda value: dt.time.fromisoformat(_expect(str, value)),
    TIMESTAMP: _read_timestamp,
}
