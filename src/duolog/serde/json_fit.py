"""Compare a JSON value with the type of a schema, more strictly than readers of topics do.

Readers of topics accept the text "5" as a number and ignore unknown names. In a line that a user
writes, both are mistakes.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from duolog.core.types import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    STRING,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
)
from duolog.serde.json_writing import NOT_NUMBERS

_ROOT: Final = "the value"
_SHOWN_MAX: Final = 60


def misfit(value: object, of: Type, path: str = "") -> str | None:
    """Return why a JSON value is not of a type; None if it is, or if it is null.

    Null is left to the serde: the field may have a default.

    Example:
        >>> from duolog.core.types import BIGINT, Column
        >>> misfit({"ammount": 5}, Struct((Column("amount", BIGINT),)))
        'unknown field "ammount"; did you mean "amount"?'
    """
    if value is None:
        return None
    match of:
        case Struct(fields=fields):
            return _struct(value, {field.name: field.type for field in fields}, path)
        case Array(element=element):
            return _array(value, element, path)
        case Map(key=key, value=inner) if isinstance(value, list):
            return _array(value, Struct((Column("key", key), Column("value", inner))), path)
        case Map(value=inner):
            return _map(value, inner, path)
        case _:
            return _scalar(value, of, path)


def _array(value: object, element: Type, path: str) -> str | None:
    if not isinstance(value, list):
        return _not(value, "an array", path)
    found = (misfit(one, element, f"{path}[{at}]") for at, one in enumerate(value))
    return next(filter(None, found), None)


def _map(value: object, inner: Type, path: str) -> str | None:
    if not isinstance(value, Mapping):
        return _not(value, "an object", path)
    found = (misfit(one, inner, _below(path, str(name))) for name, one in value.items())
    return next(filter(None, found), None)


def _struct(value: object, types: Mapping[str, Type], path: str) -> str | None:
    if not isinstance(value, Mapping):
        return _not(value, "an object", path)
    for name, one in value.items():
        if name not in types:
            near = get_close_matches(name, types, n=1)
            told = f'did you mean "{near[0]}"?' if near else f"the fields are {', '.join(types)}"
            return f'unknown field "{_below(path, name)}"; {told}'
        if (found := misfit(one, types[name], _below(path, name))) is not None:
            return found
    return None


def _scalar(value: object, of: Type, path: str) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if of == BOOLEAN:
        return None if isinstance(value, bool) else _not(value, "true or false", path)
    if of in {STRING, BYTES}:
        return None if isinstance(value, str) else _not(value, "a string", path)
    if of == DOUBLE and value in NOT_NUMBERS:
        return None
    if of == DOUBLE or isinstance(of, Decimal):
        return None if is_number else _not(value, "a number", path)
    return None if is_number and isinstance(value, int) else _not(value, "a whole number", path)


def _not(value: object, expected: str, path: str) -> str:
    shown = str(value)
    shown = shown if len(shown) <= _SHOWN_MAX else f"{shown[:_SHOWN_MAX]}…"
    what = f'field "{path}"' if path else _ROOT
    return f"{what} must be {expected}, not {type_name(value)} {shown}"


def type_name(value: object) -> str:
    """Return JSON's name of a value's type."""
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
