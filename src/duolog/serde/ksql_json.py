"""JSON in ksqlDB's form: an object of columns, or a single column.

    BOOLEAN true          DECIMAL   1.50, all digits     TIMESTAMP 1356998400123, milliseconds
    INT     15            BYTES     base64               TIME      36000000, milliseconds of the day
    DOUBLE  15.0, 1.0E7   DATE      15706, days          ARRAY, MAP, STRUCT  as in JSON
    STRING  "SFO"

When reading, a field matches the column of its name, else the column of its name in upper case; the
last match counts. Texts may contain numbers; an integer drops decimal places; a DECIMAL that would
need rounding is an error; a STRING accepts the text of any value. The kernel's `KsqlJson` and
`KsqlJsonWriter` do the same.

Source: ksqlDB's documentation and tests. If a number is too large for its column, ksqlDB takes its
lowest bits; here the record is an error.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal as PythonDecimal
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast

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
from duolog.serde import text_numbers
from duolog.serde.json import JsonObjects
from duolog.serde.json_reading import SCALAR_READERS, Number, Reader, json_of
from duolog.serde.json_writing import SCALAR_WRITERS, Writer, key_text, text_of
from duolog.serde.times import (
    DAYS_MAX,
    DAYS_MIN,
    INTEGER_BOUNDS,
    MILLISECONDS_MAX,
    MILLISECONDS_MIN,
    date_of,
    days_of,
    milliseconds_of,
    timestamp_of,
)

if TYPE_CHECKING:
    import datetime as dt

T = TypeVar("T")
Maps = Literal["objects", "entries"]
_BEYOND: Final = re.compile("[\U00010000-\U0010ffff]")


class KsqlJsonSerde(JsonObjects):
    """Reads and writes rows as JSON objects, or one column as a bare value.

    Args:
        columns: the columns of a row.
        bare: the single column is written without an object.
        maps: the form in which maps are written. If it is given, maps are read in both forms:
            "objects", or "entries", arrays of {"key": …, "value": …}. With "objects", maps whose
            keys are not texts are entries, too; by default, they are objects.
    """

    def __init__(
        self, columns: tuple[Column, ...], *, bare: bool = False, maps: Maps | None = None
    ) -> None:
        super().__init__(
            columns,
            partial(_writer, maps=maps),
            partial(_reader, entries=maps is not None),
            bare=bare,
        )
        self._names = [column.name for column in columns]

    def _encoded(self, text: str) -> bytes:
        return _encoded(text)

    def _fields(self, found: Mapping[str, object]) -> Mapping[str, object]:
        return fields_of(self._names, found)


def fields_of(names: list[str], found: Mapping[str, object]) -> dict[str, object]:
    """Return the values of columns: by exact name, else the last field of that name in upper case.

    Example:
        >>> fields_of(["A", "b", "C"], {"A": 2, "a": 1, "B": 3, "c": 4})
        {'A': 2, 'b': None, 'C': 4}
        >>> fields_of(["FOO"], {"foo": 1, "Foo": 2})
        {'FOO': 2}
    """
    loosely = {name.upper(): value for name, value in found.items()}
    return {name: found[name] if name in found else loosely.get(name) for name in names}


def _encoded(text: str) -> bytes:
    r"""Return JSON in UTF-8; like Jackson, write a character beyond U+FFFF as two escapes.

    Example:
        >>> _encoded('"é😀"').decode()
        '"é\\uD83D\\uDE00"'
    """
    return _BEYOND.sub(_escapes, text).encode()


def _escapes(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in (0, 2))


def writer_of(of: Type) -> Writer:
    """Return the function that writes values of a type, including null; maps are objects."""
    return _writer(of, maps=None)


def _writer(of: Type, *, maps: Maps | None) -> Writer:
    """Return the function that writes values of a type, including null."""
    write = _plain_writer(of, maps=maps)
    return lambda value: "null" if value is None else write(value)


def _plain_writer(of: Type, *, maps: Maps | None) -> Writer:
    match of:
        case Array(element=element):
            item = _writer(element, maps=maps)
            return lambda value: f"[{','.join(map(item, cast('list[object]', value)))}]"
        case Map(key=key, value=inner) if maps == "entries" or (maps and key != STRING):
            entry = _writer(Struct((Column("key", key), Column("value", inner))), maps=maps)
            return lambda value: (
                "["
                + ",".join(
                    entry({"key": name, "value": one})
                    for name, one in cast("dict[object, object]", value).items()
                )
                + "]"
            )
        case Map(value=inner):
            item = _writer(inner, maps=maps)
            return lambda value: object_text(
                (key_text(key), item(one))
                for key, one in cast("dict[object, object]", value).items()
            )
        case Struct(fields=fields):
            writers = [(name, _writer(kind, maps=maps)) for name, kind in fields]
            return lambda value: object_text(
                (name, write(cast("dict[str, object]", value).get(name))) for name, write in writers
            )
        case Decimal(scale=scale):
            return lambda value: decimal_text(value, scale)
        case _:
            return _WRITERS[of]


def object_text(fields: Iterable[tuple[str, str]]) -> str:
    """Return the JSON object of names and the JSON of their values."""
    return "{" + ",".join(f"{text_of(name)}:{value}" for name, value in fields) + "}"


def decimal_text(value: object, scale: int) -> str:
    """Return a DECIMAL with all digits of its scale, without an exponent."""
    step = PythonDecimal(1).scaleb(-scale)
    return f"{PythonDecimal(str(value)).quantize(step, context=text_numbers.EXACT):f}"


_WRITERS: Final[dict[Type, Writer]] = {
    **SCALAR_WRITERS,
    TIME: SCALAR_WRITERS[INT],
    DATE: lambda value: str(days_of(cast("dt.date", value))),
    TIMESTAMP: lambda value: str(milliseconds_of(cast("dt.datetime", value))),
}


def _reader(of: Type, *, entries: bool) -> Reader:
    """Return the function that reads values of a type, including null."""
    read = _plain_reader(of, entries=entries)
    return lambda value: None if value is None else read(value)


def _plain_reader(of: Type, *, entries: bool) -> Reader:
    match of:
        case Array(element=element):
            item = _reader(element, entries=entries)
            return lambda value: [item(one) for one in _expect(list, value)]
        case Map(key=key, value=inner) if entries:
            return _entries_reader(key, inner)
        case Map(value=inner):
            item = _reader(inner, entries=entries)
            return lambda value: {key: item(one) for key, one in _expect(dict, value).items()}
        case Struct(fields=fields):
            return _struct_reader(fields, entries=entries)
        case Decimal():
            return lambda value: text_numbers.decimal(_number_text(value), of)
        case _:
            return _READERS[of]


def _struct_reader(fields: tuple[Column, ...], *, entries: bool) -> Reader:
    names = [field.name for field in fields]
    readers = [(field.name, _reader(field.type, entries=entries)) for field in fields]

    def read_struct(value: object) -> object:
        found = fields_of(names, _expect(dict, value))
        return {name: read(found[name]) for name, read in readers}

    return read_struct


def _entries_reader(key: Type, inner: Type) -> Reader:
    """Return the function that reads maps in both forms."""
    read_key, item = _reader(key, entries=True), _reader(inner, entries=True)
    of_name = _truth_named if key == BOOLEAN else read_key

    def read_map(value: object) -> object:
        if isinstance(value, dict):
            return {of_name(name): item(one) for name, one in value.items()}
        found = [_expect(dict, one) for one in _expect(list, value)]
        return {read_key(one.get("key")): item(one.get("value")) for one in found}

    return read_map


def _truth_named(name: object) -> bool:
    if name not in {"true", "false"}:
        raise ValueError(name)
    return name == "true"


def _number_text(value: object) -> str:
    return value.text if isinstance(value, Number) else _expect(str, value)


def _whole(least: int, most: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, Number):
            return text_numbers.truncated(value.text, least, most)
        return text_numbers.integer(_expect(str, value), least, most)

    return read


def _read_double(value: object) -> float:
    if isinstance(value, Number) and not value.text[-1].isdigit():
        raise ValueError(value.text)  # NaN without quotes is not JSON
    return text_numbers.real(_number_text(value))


def _read_text(value: object) -> str:
    # Like Java, replace an unpaired surrogate by a question mark.
    return _text(value).encode(errors="replace").decode()


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case Number(text) if "." in text or "e" in text or "E" in text or text[-1].isalpha():
            return text_numbers.rendered(text)
        case list():
            return f"[{', '.join(map(_text, value))}]"
        case _:
            return json_of(value)


def _expect(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


_in_days, _in_milliseconds = (
    _whole(DAYS_MIN, DAYS_MAX),
    _whole(MILLISECONDS_MIN, MILLISECONDS_MAX),
)
_READERS: Final[dict[Type, Reader]] = {
    BOOLEAN: SCALAR_READERS[BOOLEAN],
    BYTES: SCALAR_READERS[BYTES],
    INT: _whole(*INTEGER_BOUNDS[INT]),
    BIGINT: _whole(*INTEGER_BOUNDS[BIGINT]),
    TIME: _whole(*INTEGER_BOUNDS[INT]),
    DOUBLE: _read_double,
    STRING: _read_text,
    DATE: lambda value: date_of(_in_days(value)),
    TIMESTAMP: lambda value: timestamp_of(_in_milliseconds(value)),
}
