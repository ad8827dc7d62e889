"""Conversion of row values to and from the Python values of user-defined functions.

    in a row                            in a function
    STRUCT: a dict by field             a dataclass if annotated as one, else the dict
    TIME: milliseconds of the day       a time
    TIMESTAMP: a datetime in UTC        the same; one without a zone counts as UTC
    all others                          the same

Results are checked: if a function returns a text for a BIGINT, the call fails, and not a later
write of the row.
"""

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from decimal import ROUND_HALF_UP, Context
from decimal import Decimal as PythonDecimal
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

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
    parts_of,
)

Convert = Callable[[Any], Any]
"""Converts a value; never called with None."""

_BITS: Final = {INT: 32, BIGINT: 64}
_WIDE: Final = Context(prec=100)


def to_python(of: Type, annotation: object = None) -> Convert | None:
    """Return the conversion of a row's value to a function's argument; None if identity."""
    annotation = without_none(annotation)
    if not any(part == TIME or isinstance(part, Struct) for part in parts_of(of)):
        return None
    match of:
        case Array(element=element):
            return _each(to_python(element, _part(annotation, 0)))
        case Map(key=key, value=value):
            return _entries(
                to_python(key, _part(annotation, 0)), to_python(value, _part(annotation, 1))
            )
        case Struct():
            return _struct_to_python(of, annotation)
        case _:
            return _time_of


def from_python(of: Type) -> Convert:
    """Return the conversion of a function's result to a row's value.

    It raises TypeError or ValueError if the result is invalid.
    """
    match of:
        case Array(element=element):
            item = _or_null(from_python(element))
            return lambda value: [item(one) for one in _known(value, of, list, tuple)]
        case Map(key=key, value=inner):
            of_key, of_value = _or_null(from_python(key)), _or_null(from_python(inner))
            return lambda value: {
                of_key(k): of_value(v) for k, v in _known(value, of, Mapping).items()
            }
        case Struct():
            return _struct_from_python(of)
        case Decimal():
            return lambda value: _decimal(value, of)
        case _ if of in _BITS:
            return lambda value: _whole(value, of)
        case _:
            return _PLAIN.get(of, lambda value: value)


def field_name(name: str) -> str:
    """Return the name of the STRUCT field for a dataclass field: SQL's names are in capitals."""
    return name.upper()


def without_none(annotation: object) -> Any:
    """Return an annotation without `| None` and without `Annotated`."""
    if get_origin(annotation) is Annotated:
        return without_none(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        some = [one for one in get_args(annotation) if one is not NoneType]
        return without_none(some[0]) if len(some) == 1 else annotation
    return annotation


def _part(annotation: object, at: int) -> object:
    args = get_args(annotation)
    return args[at] if len(args) > at else None


def _each(item: Convert | None) -> Convert:
    assert item is not None, "an array without parts that are converted is not either"
    one = _or_null(item)
    return lambda value: [one(part) for part in value]


def _entries(key: Convert | None, value: Convert | None) -> Convert:
    of_key, of_value = _or_null(key or _same), _or_null(value or _same)
    return lambda entries: {of_key(k): of_value(v) for k, v in entries.items()}


def _struct_to_python(of: Struct, annotation: object) -> Convert:
    hints: Mapping[str, object] = {}
    names = {column.name: column.name for column in of.fields}
    made: Callable[..., object] = dict
    if is_dataclass(annotation) and isinstance(annotation, type):
        hints = get_type_hints(annotation, include_extras=True)
        names = {field_name(one.name): one.name for one in fields(annotation)}
        hints = {field_name(name): said for name, said in hints.items()}
        made = annotation
    parts = [
        (column.name, names[column.name], to_python(column.type, hints.get(column.name)))
        for column in of.fields
    ]

    def convert(value: Mapping[str, object]) -> object:
        given = {}
        for name, to, change in parts:
            part = value.get(name)
            given[to] = part if part is None or change is None else change(part)
        return made(**given)

    return convert


def _struct_from_python(of: Struct) -> Convert:
    parts = [(column.name, _or_null(from_python(column.type))) for column in of.fields]
    known = {name for name, _ in parts}

    def convert(value: object) -> dict[str, object]:
        if is_dataclass(value) and not isinstance(value, type):
            given = {field_name(one.name): getattr(value, one.name) for one in fields(value)}
        else:
            given = dict(_known(value, of, Mapping))
            given = {name if name in known else field_name(name): v for name, v in given.items()}
        if strange := given.keys() - known:
            raise TypeError(f"it returned an unknown field {min(strange)} of {of}")
        return {name: change(given.get(name)) for name, change in parts}

    return convert


def _known(value: object, of: Type, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(f"it returned {_shown(value)}, not {of}")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    text = text if len(text) <= 80 else f"{text[:77]}..."
    return f"{text} ({type(value).__name__})"


def _whole(value: Any, of: Type) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"it returned {_shown(value)}, not {of}")
    number = operator.index(value)
    if not -(2 ** (_BITS[of] - 1)) <= number < 2 ** (_BITS[of] - 1):
        raise ValueError(f"it returned {number}, which is not a valid {of}")
    return number


def _double(value: Any) -> float:
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"it returned {_shown(value)}, not DOUBLE")
    return float(value)


def _decimal(value: object, of: Decimal) -> PythonDecimal:
    if isinstance(value, bool) or not isinstance(value, PythonDecimal | int):
        raise TypeError(f"it returned {_shown(value)}, not {of}")
    exact = PythonDecimal(value)
    if not exact.is_finite():
        raise ValueError(f"it returned {exact}, which is not a valid {of}")
    found = exact.quantize(PythonDecimal(1).scaleb(-of.scale), ROUND_HALF_UP, _WIDE)
    if found and found.adjusted() + 1 > of.precision - of.scale:
        raise ValueError(f"it returned {exact}, which is not a valid {of}")
    return found


def _timestamp(value: object) -> dt.datetime:
    found: dt.datetime = _known(value, TIMESTAMP, dt.datetime)
    found = found.replace(tzinfo=dt.UTC) if found.tzinfo is None else found.astimezone(dt.UTC)
    return found.replace(microsecond=found.microsecond // 1000 * 1000)


def _date(value: object) -> dt.date:
    if isinstance(value, dt.datetime):
        raise TypeError(f"it returned {_shown(value)}, not DATE")
    found: dt.date = _known(value, DATE, dt.date)
    return found


def _time(value: object) -> int:
    found: dt.time = _known(value, TIME, dt.time)
    seconds = found.hour * 3600 + found.minute * 60 + found.second
    return seconds * 1000 + found.microsecond // 1000


def _time_of(ms: int) -> dt.time:
    seconds, ms = divmod(ms, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return dt.time(hour, minute, second, ms * 1000)


def _or_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: object) -> object:
    return value


_PLAIN: Final[Mapping[Type, Convert]] = {
    BOOLEAN: lambda value: bool(_known(value, BOOLEAN, bool)),
    DOUBLE: _double,
    STRING: lambda value: str(_known(value, STRING, str)),
    BYTES: lambda value: bytes(_known(value, BYTES, bytes, bytearray, memoryview)),
    DATE: _date,
    TIME: _time,
    TIMESTAMP: _timestamp,
}
