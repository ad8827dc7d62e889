"""Format JSON: an object of columns, without spaces, including nulls; or one bare value.

    BOOLEAN true          DECIMAL   1.50                 TIMESTAMP "2013-01-01T10:00:00.123Z"
    INT     15            BYTES     base64               ARRAY     [...]
    DOUBLE  15.0, 1.0E7   DATE      "2013-01-01"         MAP       {...}, keys as texts
    STRING  "SFO"         STRUCT    {...}

Output is byte for byte that of the engine, which is that of Spark's Jackson, except for
microseconds: a TIMESTAMP with microseconds is written with all six digits. When reading, fields may
be in any order, missing fields are null, and unknown fields and text after the object are ignored;
only white space may surround a null or a bare value. A value of another type is an error, with
these exceptions: integers are DOUBLEs, texts that contain a number are DECIMALs, a TIMESTAMP may be
a number of milliseconds, and a STRING accepts the text of any value. If a name occurs twice, the
last value counts.

Depth and length of numbers are limited, so that the cost of a record depends only on its size. The
kernel's `JsonReader` follows the same rules.

Source: Spark `JacksonGenerator`; ksqlDB for timestamps in milliseconds.
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
from typing import Any, Final, NamedTuple, TypeVar, cast

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
"""Arithmetic with room for every DECIMAL, rounded as in Spark."""

NESTING_MAX: Final = 200
NUMBER_LENGTH_MAX: Final = 1000
_INTEGER_LENGTH_MAX: Final = 20
_EXPONENT_MAX: Final = 1_000_000_000
_TIMESTAMP_MS_MIN: Final = -62_135_596_800_000  # 0001-01-01
_TIMESTAMP_MS_MAX: Final = 253_402_300_799_999  # 9999-12-31
_INTEGER_BITS: Final = {INT: 32, BIGINT: 64}
_INTEGER: Final = re.compile(r"-?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
    r"(Z|[+-]((0[0-9]|1[0-7]):[0-5][0-9]|18:00))?)?"
)
_SPACE: Final = " \t\n\r"
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NOT_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

T = TypeVar("T")
Writer = Callable[[object], str]
Reader = Callable[[object], object]


class Number(NamedTuple):
    """A number as text; its meaning depends on the column."""

    text: str


class JsonObjects:
    """Reads and writes rows as JSON objects, or one column as a bare value; subclasses define the form of values.

    Args:
        columns: the columns of a row.
        bare: the single column is written without an object.
        writer: returns the function that writes a type as text.
        reader: returns the function that reads a type from a parsed value.
    """

    def __init__(
        self,
        columns: tuple[Column, ...],
        writer: Callable[[Type], Writer],
        reader: Callable[[Type], Reader],
        *,
        bare: bool,
    ) -> None:
        assert not bare or len(columns) == 1, columns
        self._columns = columns
        self._bare = bare
        self._writers = [(text_of(column.name), writer(column.type)) for column in columns]
        self._readers = [(column, reader(column.type)) for column in columns]

    def serialize(self, row: Row | None) -> bytes | None:
        if row is None or (self._bare and row[0] is None):
            return None
        try:
            if self._bare:
                return self._encoded(self._writers[0][1](row[0]))
            fields = [
                f"{name}:{write(value)}"
                for (name, write), value in zip(self._writers, row, strict=True)
            ]
            return self._encoded(f"{{{','.join(fields)}}}")
        except (TypeError, ValueError, AttributeError, DecimalException) as error:
            raise SerdeError("cannot write a row as JSON", detail=f"{row!r}: {error}.") from error

    def deserialize(self, data: bytes | None) -> Row | None:
        if data is None:
            return None
        found, alone = parse(data)
        if not alone and (found is None or self._bare):
            raise SerdeError(
                "there is text after the JSON", detail=f"It starts with {data[:40]!r}."
            )
        if found is None:
            return None
        if self._bare:
            return (self._read(*self._readers[0], found),)
        if not isinstance(found, dict):
            raise SerdeError("the JSON is not an object", detail=f"It starts with {data[:40]!r}.")
        fields = self._fields(found)
        return tuple(
            self._read(column, read, fields.get(column.name)) for column, read in self._readers
        )

    def _read(self, column: Column, read: Reader, value: object) -> object:
        try:
            return read(value)
        except RecursionError as error:
            raise _too_deep(f'column "{column.name}"') from error
        except (TypeError, ValueError, OverflowError, DecimalException) as error:
            raise SerdeError(
                f'cannot read column "{column.name}" from JSON',
                detail=f"{value!r} is not a valid {column.type}.",
            ) from error

    def _encoded(self, text: str) -> bytes:
        return text.encode()

    def _fields(self, found: Mapping[str, object]) -> Mapping[str, object]:
        """Return the fields of an object by column name."""
        return found


class JsonSerde(JsonObjects):
    """Reads and writes rows as JSON objects, or one column as a bare value."""

    def __init__(self, columns: tuple[Column, ...], *, bare: bool = False) -> None:
        assert columns, "a JSON object of no columns says nothing"
        super().__init__(columns, _writer, _reader, bare=bare)


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


def _writer(of: Type) -> Writer:
    """Return the function that writes values of a type, including null."""
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
            # Integers and texts are accepted as numbers.
            return lambda value: str(PythonDecimal(cast("str", value)).quantize(step, context=WIDE))
        case _:
            return SCALAR_WRITERS[of]


def _map_writer(of: Map) -> Writer:
    write = _writer(of.value)

    def write_map(value: object) -> str:
        items = cast("Mapping[object, object]", value).items()
        return f"{{{','.join(f'{text_of(str(key))}:{write(item)}' for key, item in items)}}}"

    return write_map


def _struct_writer(of: Struct) -> Writer:
    writers = [(field.name, text_of(field.name), _writer(field.type)) for field in of.fields]

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
    return f'"{text}"' if text in _NOT_NUMBERS else text


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


def _named(pairs: list[tuple[str, object]]) -> dict[str, object]:
    for name, _ in pairs:
        name.encode()  # Like Jackson, refuse an unpaired surrogate in a name, but not in a text.
    return dict(pairs)


def _decoder(**more: Any) -> json.JSONDecoder:
    return json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, **more)


_DECODER: Final = _decoder()
_DECODER_OF_ESCAPES: Final = _decoder(object_pairs_hook=_named)


def parse(data: bytes) -> tuple[object, bool]:
    """Return the value at the start of `data`, and True if nothing follows it."""
    try:
        text = data.decode("utf-8-sig").lstrip(_SPACE)
        decoder = _DECODER_OF_ESCAPES if b"\\u" in data else _DECODER
        found, end = decoder.raw_decode(text)
        _ensure_shallow(found, data)
    except RecursionError as error:
        raise _too_deep("the bytes") from error
    except ValueError as error:
        raise SerdeError("the bytes are not JSON", detail=f"{error}; {data[:40]!r}.") from error
    return found, not text[end:].strip(_SPACE)


def _too_deep(what: str) -> SerdeError:
    """Return the error for JSON with more levels than the Python stack has frames left; at most 200 are read in any case."""
    return SerdeError(
        f"cannot read {what} from JSON: nested too deeply",
        detail=f"Up to {NESTING_MAX} levels are read, if the calls in progress leave room on the Python stack.",
        hint="Call from fewer nested functions, or raise the limit with sys.setrecursionlimit.",
    )


def _ensure_shallow(value: object, data: bytes) -> None:
    """Check that arrays and objects are nested at most `NESTING_MAX` deep."""
    if data.count(b"[") + data.count(b"{") <= NESTING_MAX:
        return
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, list | dict)]:
        depth += 1
        if depth > NESTING_MAX:
            raise ValueError(f"nested deeper than {NESTING_MAX}")
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]


def _reader(of: Type) -> Reader:
    """Return the function that reads values of a type, including null."""
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
            return SCALAR_READERS[of]


def _decimal_reader(of: Decimal) -> Reader:
    step = PythonDecimal(1).scaleb(-of.scale)
    whole = of.precision - of.scale

    def read(value: object) -> object:
        text = value if isinstance(value, str) else _number(value)
        if len(text) > NUMBER_LENGTH_MAX or not _DECIMAL.fullmatch(text):
            raise ValueError(text)
        number = PythonDecimal(text)
        # Check before using the digits: 1e10000000 has ten million.
        exponent = cast("int", number.as_tuple().exponent)
        if abs(exponent) > _EXPONENT_MAX or (number and number.adjusted() >= whole):
            raise ValueError(text)
        rounded = number.quantize(step, context=WIDE)
        if rounded.copy_abs() >= PythonDecimal(10) ** whole:
            raise ValueError(text)
        return WIDE.plus(rounded)  # Java has no -0

    return read


def _integer_reader(of: Type) -> Reader:
    bound = 2 ** (_INTEGER_BITS[of] - 1)
    return lambda value: _whole(value, -bound, bound - 1)


def _whole(value: object, least: int, most: int) -> int:
    text = _number(value)
    if len(text) > _INTEGER_LENGTH_MAX or not _INTEGER.fullmatch(text):
        raise ValueError(text)
    number = int(text)
    if not least <= number <= most:
        raise ValueError(text)
    return number


def _read_double(value: object) -> float:
    text = value.text if isinstance(value, Number) else _expect(str, value)
    if text in _NOT_NUMBERS:
        return _NOT_NUMBERS[text]
    if len(_number(value)) > NUMBER_LENGTH_MAX:
        raise ValueError(text)
    return float(text)


def _read_text(value: object) -> str:
    # Like Java, replace an unpaired surrogate by a question mark.
    return compact(value).encode(errors="replace").decode()


def compact(value: object) -> str:
    """Return a value's text: a text itself, a number as written, JSON without spaces."""
    return value if isinstance(value, str) else json_of(value)


def json_of(value: object) -> str:
    match value:
        case Number(text):
            return text
        case str():
            return text_of(value)
        case list():
            return "[" + ",".join([json_of(item) for item in value]) + "]"
        case dict():
            fields = [f"{text_of(name)}:{json_of(item)}" for name, item in value.items()]
            return "{" + ",".join(fields) + "}"
        case _:
            return json.dumps(value)  # true, false, null


def _read_bytes(value: object) -> bytes:
    try:
        return base64.b64decode(_expect(str, value), validate=True)
    except binascii.Error as error:
        raise ValueError(value) from error


def _read_date(value: object) -> dt.date:
    text = _expect(str, value)
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    return dt.date.fromisoformat(text)


def _read_timestamp(value: object) -> dt.datetime:
    """Read ISO 8601, in UTC unless it has a zone; a number is milliseconds, as in Kafka."""
    if isinstance(value, Number):
        milliseconds = _whole(value, _TIMESTAMP_MS_MIN, _TIMESTAMP_MS_MAX)
        return _EPOCH + dt.timedelta(milliseconds=milliseconds)
    text = _expect(str, value)
    if not _TIMESTAMP.fullmatch(text):
        raise ValueError(text)
    found = dt.datetime.fromisoformat(text)
    return found.astimezone(dt.UTC) if found.tzinfo else found.replace(tzinfo=dt.UTC)


def _number(value: object) -> str:
    return _expect(Number, value).text


def _expect(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


SCALAR_READERS: Final[dict[Type, Reader]] = {
    BOOLEAN: lambda value: _expect(bool, value),
    INT: _integer_reader(INT),
    BIGINT: _integer_reader(BIGINT),
    TIME: _integer_reader(INT),
    DOUBLE: _read_double,
    STRING: _read_text,
    BYTES: _read_bytes,
    DATE: _read_date,
    TIMESTAMP: _read_timestamp,
}
