"""Read values from JSON text: parse it with limits, then convert it by the type of a column.

Depth and length of numbers are limited, so that the cost of a record depends only on its size. The
kernel's `JsonReader` follows the same rules. A number beyond the range of a DOUBLE, such as 1e400,
is infinity, as Jackson reads it for Spark and for ksqlDB.

Source: Spark `JacksonParser`; ksqlDB for timestamps in milliseconds.
"""

import base64
import binascii
import datetime as dt
import json
import re
from collections.abc import Callable
from decimal import Decimal as PythonDecimal
from typing import Final, NamedTuple, TypeVar, cast

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
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.serde.json_writing import NOT_NUMBERS, WIDE, text_of

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

T = TypeVar("T")
Reader = Callable[[object], object]


class Number(NamedTuple):
    """A number as text; its meaning depends on the column."""

    text: str


def _named(pairs: list[tuple[str, object]]) -> dict[str, object]:
    for name, _ in pairs:
        name.encode()  # Like Jackson, refuse an unpaired surrogate in a name, but not in a text.
    return dict(pairs)


def _decoder(pairs: Callable[[list[tuple[str, object]]], object] | None) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=pairs
    )


_DECODER: Final = _decoder(None)
_DECODER_OF_ESCAPES: Final = _decoder(_named)


def parse(data: bytes) -> tuple[object, bool]:
    """Return the value at the start of `data`, and True if nothing follows it."""
    try:
        text = data.decode("utf-8-sig").lstrip(_SPACE)
        decoder = _DECODER_OF_ESCAPES if b"\\u" in data else _DECODER
        found, end = decoder.raw_decode(text)
        _ensure_shallow(found, data)
    except RecursionError as error:
        raise too_deep("the bytes") from error
    except ValueError as error:
        raise SerdeError("the bytes are not JSON", detail=f"{error}; {data[:40]!r}.") from error
    return found, not text[end:].strip(_SPACE)


def too_deep(what: str) -> SerdeError:
    """Return the error for JSON with more levels than the Python stack has room for.

    At most `NESTING_MAX` are read in any case.
    """
    return SerdeError(
        f"cannot read {what} from JSON: nested too deeply",
        detail=f"Up to {NESTING_MAX} levels are read, if the calls in progress leave room on the "
        "Python stack.",
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


def reader_of(of: Type) -> Reader:
    """Return the function that reads values of a type, including null."""
    read = _plain_reader(of)
    return lambda value: None if value is None else read(value)


def _plain_reader(of: Type) -> Reader:
    match of:
        case Array():
            read = reader_of(of.element)
            return lambda value: [read(item) for item in _expect(list, value)]
        case Map():
            read = reader_of(of.value)
            return lambda value: {key: read(item) for key, item in _expect(dict, value).items()}
        case Struct():
            readers = [(field.name, reader_of(field.type)) for field in of.fields]
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
    if text in NOT_NUMBERS:
        return NOT_NUMBERS[text]
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
