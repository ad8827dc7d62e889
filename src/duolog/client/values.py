"""Values of the server's JSON as values of Python, by the type of their column.

BOOLEAN      bool          DATE         datetime.date
INT, BIGINT  int           TIME         datetime.time
DOUBLE       float         TIMESTAMP    datetime.datetime, without a zone: UTC
DECIMAL      Decimal       ARRAY        list
STRING       str           MAP          dict
BYTES        bytes         STRUCT       dict
"""

import base64
import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from duolog.client.errors import DataError, InterfaceError
from duolog.core.errors import DuologError
from duolog.ksql.syntax.script import type_written
from duolog.plan.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    TIME,
    TIMESTAMP,
    Array,
    Map,
    Struct,
    Type,
)
from duolog.plan.types import Decimal as DecimalType

Reader = Callable[[Any], Any]
"""Returns a value of JSON, which is not null, as a value of Python."""


@lru_cache(1000)
def type_of(written: str) -> Type:
    """Return a type by its name in SQL.

    Raises:
        InterfaceError: there is no such type.
    """
    try:
        return type_written(written)
    except (DuologError, ValueError) as error:
        raise InterfaceError(
            f"the server sent a column of unknown type {written}",
            hint="Use a client of the same version as the server.",
        ) from error


@lru_cache(1000)
def readers_of(types: tuple[str, ...]) -> tuple[Reader, ...]:
    """Return a reader for each column; `types` are names of types in SQL."""
    return tuple(_reader(type_of(one)) for one in types)


def values_of(row: Sequence[Any], readers: Sequence[Reader]) -> list[Any]:
    """Return the values of a row.

    Raises:
        DataError: a value does not fit its type.
    """
    try:
        return [
            None if value is None else read(value) for read, value in zip(readers, row, strict=True)
        ]
    except (ValueError, TypeError, ArithmeticError, KeyError, AttributeError) as error:
        raise DataError("a row of the server does not fit its types", detail=repr(row)) from error


def _same(value: Any) -> Any:
    return value


def _timestamp(value: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(value)
    return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)


_READERS: Final[dict[Type, Reader]] = {
    INT: int,
    BIGINT: int,
    DOUBLE: float,
    BYTES: lambda value: base64.b64decode(value, validate=True),
    DATE: dt.date.fromisoformat,
    TIME: dt.time.fromisoformat,
    TIMESTAMP: _timestamp,
}


def _reader(of: Type) -> Reader:
    match of:
        case DecimalType():
            return lambda value: Decimal(str(value))
        case Array(element=element):
            return _each(_nullable(_reader(element)))
        case Map(value=value):
            return _map(_nullable(_reader(value)))
        case Struct(fields=fields):
            return _struct({one.name: _nullable(_reader(one.type)) for one in fields})
        case _:
            return _READERS.get(of, _same)


def _nullable(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _each(read: Reader) -> Reader:
    return lambda values: [read(one) for one in values]


def _map(read: Reader) -> Reader:
    return lambda values: {name: read(one) for name, one in values.items()}


def _struct(readers: dict[str, Reader]) -> Reader:
    return lambda values: {name: read(values.get(name)) for name, read in readers.items()}
