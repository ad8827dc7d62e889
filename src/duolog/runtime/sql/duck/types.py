"""Convert types and values to DuckDB's, and back.

BOOLEAN INT BIGINT DOUBLE DECIMAL STRING BYTES DATE    unchanged
TIME         INTEGER, milliseconds of the day
TIMESTAMP    TIMESTAMP, in UTC
ARRAY<T>     T[]
MAP<K, V>    MAP(K, V), passed as a list of entries
STRUCT<…>    STRUCT(f0 …, f1 …), by position: DuckDB ignores case in names
"""

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

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
    map_in,
    parts_of,
)

_PLAIN: Final = {
    BOOLEAN: "BOOLEAN",
    INT: "INTEGER",
    BIGINT: "BIGINT",
    DOUBLE: "DOUBLE",
    STRING: "VARCHAR",
    BYTES: "BLOB",
    DATE: "DATE",
    TIME: "INTEGER",
    TIMESTAMP: "TIMESTAMP",
}

Convert = Callable[[Any], Any]
"""Converts one value; null stays null."""


def duck_type(of: Type, *, given: bool = False) -> str:
    """Return a type of DuckDB.

    With `given`, that of parameters from Python, with maps as entry lists.

    Example:
        >>> from duolog.plan.types import parse_type
        >>> duck_type(parse_type("MAP<STRING, ARRAY<STRUCT<A INT, a DECIMAL(4,2)>>>"))
        'MAP(VARCHAR, STRUCT(f0 INTEGER, f1 DECIMAL(4, 2))[])'
    """
    match of:
        case Array(element=element):
            return f"{duck_type(element, given=given)}[]"
        case Map(key=key, value=value):
            parts = duck_type(key, given=given), duck_type(value, given=given)
            return f"STRUCT(k {parts[0]}, v {parts[1]})[]" if given else f"MAP({', '.join(parts)})"
        case Struct(fields=fields):
            inside = (f"f{at} {duck_type(one.type, given=given)}" for at, one in enumerate(fields))
            return f"STRUCT({', '.join(inside)})"
        case Decimal(precision=precision, scale=scale):
            return f"DECIMAL({precision}, {scale})"
        case _:
            return _PLAIN.get(of, "INTEGER")


def taken(value: str, of: Type, depth: int = 0) -> str:
    """Convert a parameter from Python to a value of its type, in DuckDB's SQL."""
    if not map_in(of):
        return value
    name = f"g{depth}"
    match of:
        case Array(element=element):
            return f"list_transform({value}, lambda {name}: {taken(name, element, depth + 1)})"
        case Map(key=key, value=inner):
            entry = (
                f"struct_pack(k := {taken(f'{name}.k', key, depth + 1)}, "
                f"v := {taken(f'{name}.v', inner, depth + 1)})"
            )
            return f"map_from_entries(list_transform({value}, lambda {name}: {entry}))"
        case Struct(fields=fields):
            parts = ", ".join(
                f"f{at} := {taken(f'({value}).f{at}', one.type, depth)}"
                for at, one in enumerate(fields)
            )
            return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({parts}) END"
        case _:
            raise AssertionError(of)


def giver(of: Type) -> Convert | None:
    """Return a converter from row values to DuckDB's parameters; None if none is needed."""
    if not any(isinstance(part, Map | Struct) or part == TIMESTAMP for part in parts_of(of)):
        return None
    return _null_safe(_giver(of))


def _giver(of: Type) -> Convert:
    match of:
        case Array(element=element):
            one = giver(element)
            return list if one is None else (lambda value: [one(item) for item in value])
        case Map(key=key, value=inner):
            of_key, of_value = giver(key) or _same, giver(inner) or _same
            return lambda value: [{"k": of_key(k), "v": of_value(v)} for k, v in value.items()]
        case Struct(fields=fields):
            made = [
                (name, f"f{at}", giver(kind) or _same) for at, (name, kind) in enumerate(fields)
            ]
            return lambda value: {to: make(value.get(name)) for name, to, make in made}
        case _:
            return lambda value: value.astimezone(dt.UTC).replace(tzinfo=None)


def reader(of: Type) -> Convert | None:
    """Return a converter from DuckDB's results to row values; None if none is needed."""
    if not any(isinstance(part, Struct) or part == TIMESTAMP for part in parts_of(of)):
        return None
    return _null_safe(_reader(of))


def _reader(of: Type) -> Convert:
    match of:
        case Array(element=element):
            one = reader(element) or _same
            return lambda value: [one(item) for item in value]
        case Map(key=key, value=inner):
            of_key, of_value = reader(key) or _same, reader(inner) or _same
            return lambda value: {of_key(k): of_value(v) for k, v in value.items()}
        case Struct(fields=fields):
            made = [
                (name, f"f{at}", reader(kind) or _same) for at, (name, kind) in enumerate(fields)
            ]
            return lambda value: {name: make(value[at]) for name, at, make in made}
        case _:
            return lambda value: value.replace(tzinfo=dt.UTC)


def _null_safe(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: object) -> object:
    return value


def text(value: str) -> str:
    """Return a string literal.

    Example:
        >>> text("it's")
        "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
