"""Conversion of values between the kernel's JSON and Python, by type.

    BOOLEAN, INT, BIGINT, STRING   unchanged         DECIMAL    a text or number -> Decimal
    DOUBLE   a number, or "NaN"                      BYTES      base64           -> bytes
    TIMESTAMP, DATE   ISO 8601 -> datetime, date     STRUCT     an object        -> dict

Both directions agree with `duolog.serde.json`, which the kernel uses. A value that is not of its
type is a `WrongType` error, and never converted to another value.
"""

import base64
import datetime as dt
import enum
import inspect
import json
import math
import uuid
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from decimal import Decimal as PythonDecimal
from decimal import InvalidOperation
from typing import Any, Final, cast

from duolog.plan.types import (
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
from duolog.serde.json_writing import WIDE

Change = Callable[[Any], Any]
"""Converts a value of one type, which the caller knows."""
ToText = Callable[[Any], str]

_BITS: Final = {INT: 32, TIME: 32, BIGINT: 64}
_NOT_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class WrongType(TypeError):
    """A value that is not of its type."""

    def __init__(self, value: object, of: Type) -> None:
        message = f"{shown(value)} is not a valid {of}"
        if inspect.isawaitable(value):
            message += ", and is not awaited here; use map_async"
        super().__init__(message)
        self.of = of


def shown(value: object) -> str:
    """Return a value as text for an error."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


def from_json(of: Type) -> Change | None:  # noqa: PLR0911 - a table of cases
    """Return the conversion of a parsed non-null value to Python; None if it is the identity."""
    match of:
        case Array(element=element):
            item = from_json(element)
            if item is None:
                return None
            read = _or_none(item)
            return lambda value: [read(one) for one in value]
        case Map(key=key, value=inner):
            return _map_reader(key, inner)
        case Struct(fields=fields):
            readers = {name: change for name, kind in fields if (change := from_json(kind))}
            if not readers:
                return None
            each = {name: _or_none(change) for name, change in readers.items()}
            return lambda value: {**value, **{name: each[name](value[name]) for name in each}}
        case Decimal():
            return PythonDecimal
        case _:
            return _READERS.get(of)


def _map_reader(key: Type, inner: Type) -> Change | None:
    read_key = _KEY_READERS.get(key)
    item = from_json(inner)
    if read_key is None and item is None:
        return None
    name = read_key or (lambda text: text)
    read = _or_none(item) if item else (lambda value: value)
    return lambda value: {name(text): read(one) for text, one in value.items()}


def _or_none(change: Change) -> Change:
    return lambda value: None if value is None else change(value)


_READERS: Final[dict[Type, Change]] = {
    DOUBLE: lambda value: _NOT_NUMBERS[value] if isinstance(value, str) else float(value),
    BYTES: base64.b64decode,
    DATE: dt.date.fromisoformat,
    TIMESTAMP: lambda value: dt.datetime.fromisoformat(value).astimezone(dt.UTC),
}
_KEY_READERS: Final[dict[Type, Change]] = {
    INT: int,
    BIGINT: int,
    DOUBLE: float,
    BOOLEAN: lambda text: text == "true",
}


def has_decimal(of: Type) -> bool:
    """Return True if numbers must be read with all digits."""
    match of:
        case Array(element=inner):
            return has_decimal(inner)
        case Map(value=inner):
            return has_decimal(inner)
        case Struct(fields=fields):
            return any(has_decimal(kind) for _, kind in fields)
        case _:
            return isinstance(of, Decimal)


def plain(of: Type) -> Change:
    """Return a function that checks a result and converts it to row form: an object becomes a dict.

    It raises:
        WrongType: the value is not of the type.
    """
    check = _plain(of)
    return lambda value: None if value is None else check(value)


def _plain(of: Type) -> Change:
    match of:
        case Array(element=element):
            item = plain(element)
            return lambda value: [item(one) for one in _sequence(value, of)]
        case Map(key=key, value=inner):
            name, item = _plain(key), plain(inner)
            return lambda value: {name(k): item(v) for k, v in _mapping(value, of).items()}
        case Struct(fields=fields):
            checks = [(name, plain(kind)) for name, kind in fields]
            return lambda value: _fields(value, checks, of)
        case Decimal():
            return lambda value: _decimal(value, of)
        case _ if of in _BITS:
            bound = 2 ** (_BITS[of] - 1)
            return lambda value: _integer(value, bound, of)
        case _:
            return _PLAIN[of]


def _native(value: object) -> object:
    """Convert a NumPy or Arrow scalar to a Python value."""
    for name in ("item", "as_py"):
        native = getattr(value, name, None)
        if callable(native):
            return native()
    return value


def _integer(value: object, bound: int, of: Type) -> int:
    if value.__class__ is not int:
        value = _native(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise WrongType(value, of)
        # str() of an IntEnum member is its name, not its number.
        value = int.__int__(value)
    if not -bound <= value < bound:
        raise WrongType(value, of)
    return value


def _double(value: object) -> float:
    if value.__class__ is float:
        return value
    value = _native(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise WrongType(value, DOUBLE)
    return float(value)


def _kind(kind: type, of: Type) -> Change:
    def check(value: object) -> object:
        if value.__class__ is kind:
            return value
        value = _native(value)
        if not isinstance(value, kind):
            raise WrongType(value, of)
        return value

    return check


def _string(value: object) -> str:
    """Return a text; that of a UUID, and the name of a member of an Enum.

    A member of a StrEnum is a text itself.
    """
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, enum.Enum) and not isinstance(value, str):
        return value.name
    found = _TEXT(value)
    assert isinstance(found, str)
    return found


def _timestamp(value: object) -> dt.datetime:
    if not isinstance(value, dt.datetime):
        raise WrongType(value, TIMESTAMP)
    if value.tzinfo is None:
        raise WrongType(f"{value} without a time zone", TIMESTAMP)
    return value.astimezone(dt.UTC)


def _date(value: object) -> dt.date:
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise WrongType(value, DATE)
    return value


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise WrongType(value, BYTES)
    return bytes(value)


def _decimal(value: object, of: Decimal) -> PythonDecimal:
    if isinstance(value, bool) or not isinstance(value, int | PythonDecimal):
        raise WrongType(value, of)
    try:
        found = PythonDecimal(value).quantize(PythonDecimal(1).scaleb(-of.scale), context=WIDE)
    except InvalidOperation:
        raise WrongType(value, of) from None
    if found.copy_abs() >= PythonDecimal(10) ** (of.precision - of.scale):
        raise WrongType(value, of)
    return found


def _sequence(value: object, of: Type) -> Iterable[object]:
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__"):
        raise WrongType(value, of)
    return cast("Iterable[object]", value)


def _mapping(value: object, of: Type) -> dict[object, object]:
    if not isinstance(value, dict):
        raise WrongType(value, of)
    return value


def _fields(value: object, checks: list[tuple[str, Change]], of: Type) -> dict[str, object]:
    if isinstance(value, dict):
        unknown = value.keys() - {name for name, _ in checks}
        if unknown:
            raise TypeError(f'"{min(map(str, unknown))}" is not a field of {of}')
        return {name: check(value.get(name)) for name, check in checks}
    if isinstance(value, tuple) and len(value) == len(checks):
        return {name: check(one) for one, (name, check) in zip(value, checks, strict=True)}
    if not is_dataclass(value):
        raise WrongType(value, of)
    return {name: check(getattr(value, name)) for name, check in checks}


_TEXT: Final = _kind(str, STRING)
_PLAIN: Final[dict[Type, Change]] = {
    BOOLEAN: _kind(bool, BOOLEAN),
    DOUBLE: _double,
    STRING: _string,
    BYTES: _bytes,
    DATE: _date,
    TIMESTAMP: _timestamp,
}


def to_json(of: Type) -> Change | None:
    """Return the conversion of a row's value for `json`; None if it is the identity."""
    match of:
        case Array(element=element):
            item = _each(element)
            return None if item is None else _list_writer(item)
        case Map(value=inner):
            return _map_writer(_each(inner) or (lambda value: value))
        case Struct(fields=fields):
            writers = {name: write for name, kind in fields if (write := _each(kind))}
            if not writers:
                return None
            return lambda value: {**value, **{name: writers[name](value[name]) for name in writers}}
        case Decimal():
            return lambda value: format(value, "f")
        case _:
            return _WRITERS.get(of)


def text(of: Type) -> ToText:
    """Return a function that writes a row's value as JSON, except nulls."""
    plain_text = _TEXTS.get(of)
    if plain_text is not None:
        return plain_text
    write = to_json(of)
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    return encode if write is None else lambda value: encode(write(value))


def _list_writer(item: Change) -> Change:
    return lambda value: [item(one) for one in value]


def _map_writer(write: Change) -> Change:
    return lambda value: {_key(name): write(one) for name, one in value.items()}


def _each(of: Type) -> Change | None:
    write = to_json(of)
    return None if write is None else _or_none(write)


def _key(name: object) -> str:
    return str(name).lower() if isinstance(name, bool) else str(name)


def _double_text(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


# For a single value, the json encoder takes ten times as long.
_TEXTS: Final[dict[Type, ToText]] = {
    INT: repr,
    BIGINT: repr,
    DOUBLE: lambda value: repr(value) if math.isfinite(value) else f'"{_double_text(value)}"',
    STRING: json.encoder.encode_basestring,
    BOOLEAN: lambda value: "true" if value else "false",
}

_WRITERS: Final[dict[Type, Change]] = {
    DOUBLE: _double_text,
    BYTES: lambda value: base64.b64encode(value).decode(),
    DATE: lambda value: value.isoformat(),
    TIMESTAMP: lambda value: f"{value.replace(tzinfo=None).isoformat(timespec='microseconds')}Z",
}
