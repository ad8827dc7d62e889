"""Write values of rows as JSON, as ksqlDB's responses have them.

DECIMAL    a number with all digits of its scale      BYTES    base64
DOUBLE     as Java writes it; NaN and Infinity are strings
DATE, TIME, TIMESTAMP    strings: "1970-01-02", "10:15", "1970-01-02T10:15:00.000"
"""

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from duolog.ksql.syntax.script import type_written
from duolog.plan.types import DOUBLE, STRING, TIME, TIMESTAMP, Array, Map, Struct, Type
from duolog.runtime.sql.functions.numbers import double_text
from duolog.serde.json_writing import key_text
from duolog.serde.times import time_text

Writer = Callable[[Any], str]
"""Returns a value, which may be None, as JSON."""

_NULL: Final = "null"


@lru_cache(1000)
def writers_of(types: tuple[str, ...]) -> tuple[Writer, ...]:
    """Return a writer for each column; `types` are names of types in SQL."""
    return tuple(writer_of(type_written(of)) for of in types)


def row_json(row: Sequence[object], writers: Sequence[Writer]) -> str:
    """Return a row as an array of JSON.

    Example:
        >>> row_json((1, None, b"a"), writers_of(("INTEGER", "STRING", "BYTES")))
        '[1,null,"YQ=="]'
    """
    return f"[{','.join([write(one) for write, one in zip(writers, row, strict=True)])}]"


def writer_of(of: Type) -> Writer:  # noqa: PLR0911 - a table of cases
    """Return the writer of a type."""
    match of:
        case Array(element=element):
            return _array(writer_of(element))
        case Map(value=value):
            return _map(writer_of(value))
        case Struct(fields=fields):
            return _struct(tuple((one.name, writer_of(one.type)) for one in fields))
        case _ if of == DOUBLE:
            return _double
        case _ if of == STRING:
            return text_json
        case _ if of == TIME:
            return _time
        case _ if of == TIMESTAMP:
            return _timestamp
        case _:
            return _plain


def text_json(value: str | None) -> str:
    """Return a string as JSON, in UTF-8 where no escape is necessary."""
    return _NULL if value is None else json.dumps(value, ensure_ascii=False)


def _array(write: Writer) -> Writer:
    def written(value: Sequence[object] | None) -> str:
        return _NULL if value is None else f"[{','.join(map(write, value))}]"

    return written


def _map(write: Writer) -> Writer:
    def written(value: Mapping[object, object] | None) -> str:
        if value is None:
            return _NULL
        parts = (f"{text_json(key_text(key))}:{write(one)}" for key, one in value.items())
        return f"{{{','.join(parts)}}}"

    return written


def _struct(fields: tuple[tuple[str, Writer], ...]) -> Writer:
    names = [text_json(name) for name, _ in fields]

    def written(value: Mapping[str, object] | None) -> str:
        if value is None:
            return _NULL
        # A STRUCT made by DuckDB has its fields by position, under other names.
        values = [value.get(name) for name, _ in fields]
        if len(value) == len(fields) and not value.keys() >= {name for name, _ in fields}:
            values = list(value.values())
        parts = (
            f"{name}:{write(one)}"
            for name, (_, write), one in zip(names, fields, values, strict=True)
        )
        return f"{{{','.join(parts)}}}"

    return written


def _double(value: float | None) -> str:
    if value is None:
        return _NULL
    text = double_text(float(value))
    return text if text[-1].isdigit() else f'"{text}"'


def _time(value: int | dt.time | None) -> str:
    if value is None:
        return _NULL
    if isinstance(value, dt.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        value = seconds * 1000 + value.microsecond // 1000
    return f'"{time_text(value)}"'


def _timestamp(value: dt.datetime | None) -> str:
    if value is None:
        return _NULL
    return f'"{value.replace(tzinfo=None).isoformat(timespec="milliseconds")}"'


def _plain(value: Any) -> str:  # noqa: PLR0911 - a table of cases
    match value:
        case None:
            return _NULL
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Decimal():
            return f"{value:f}"
        case bytes():
            return f'"{base64.b64encode(value).decode()}"'
        case dt.date():
            return f'"{value.isoformat()}"'
        case _:
            return json.dumps(value, ensure_ascii=False)
