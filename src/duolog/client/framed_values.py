"""Values in the form of frames, which have no times of day: a TIME is milliseconds of the day.

Statements such as SHOW have values of any type; in a column of STRING, they become texts.
"""

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

from duolog.plan.types import DOUBLE, STRING, TIME, Array, Map, Struct, Type

Convert = Callable[[Any], Any]


def framed(of: Type) -> Convert | None:
    """Return a function that converts values of a type; None if they stay as they are."""
    convert = _converter(of)
    return None if convert is None else lambda value: None if value is None else convert(value)


def shown(of: Type) -> Convert | None:
    """Return a function as `framed`, for values that a statement shows."""
    if of == STRING:
        return _text
    return (lambda value: None if value is None else float(value)) if of == DOUBLE else None


def _converter(of: Type) -> Convert | None:
    match of:
        case Array(element=element):
            return None if (inner := framed(element)) is None else _each(inner)
        case Map(value=value):
            return None if (inner := framed(value)) is None else _of_map(inner)
        case Struct(fields=fields):
            parts = {one.name: convert for one in fields if (convert := framed(one.type))}
            return (lambda value: _struct(value, parts)) if parts else None
        case _:
            return _milliseconds if of == TIME else None


def _each(convert: Convert) -> Convert:
    return lambda values: [convert(one) for one in values]


def _of_map(convert: Convert) -> Convert:
    return lambda values: {name: convert(one) for name, one in values.items()}


def _struct(value: dict[str, Any], parts: dict[str, Convert]) -> dict[str, Any]:
    return value | {name: convert(value.get(name)) for name, convert in parts.items()}


def _milliseconds(time: dt.time) -> int:
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return seconds * 1000 + time.microsecond // 1000


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)
