"""Convert values that fastavro reads to values of columns: one function per writer schema.

Values arrive without logical types: a decimal as bytes, a date as a number. A field matches the
column of its name, else the column of its name in upper case. A column without a field is null.

    writer's type                         column
    int, long                             INT (int only), BIGINT, STRING
    float, double                         DOUBLE, STRING
    boolean, string, enum                 BOOLEAN, STRING
    bytes, fixed                          BYTES; DECIMAL if it is a decimal
    date, time-…, timestamp-…             DATE, TIME, TIMESTAMP, or as the number
    array, array of entries, map, record  ARRAY, MAP, MAP, STRUCT
    [null, T]                             T
    [A, B]                                STRUCT with a field per branch
    any type but a record                 a single column without a record around it

Source: ksqlDB's documentation of AVRO; Kafka Connect's Avro converter.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

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
from duolog.schemas.avro import types as avro
from duolog.schemas.avro.columns import branch_name, entry_of
from duolog.serde import text_numbers
from duolog.serde.json_writing import double_text
from duolog.serde.matching import decimal_of, fields_by_name
from duolog.serde.times import date_of, timestamp_of

# The values of fastavro have no static types.
Convert = Callable[[Any], Any]

_BITS: Final = {"int": 32, "long": 64}
_PER_MILLISECOND: Final = {"millis": 1, "micros": 1_000, "nanos": 1_000_000}


class Branch(tuple[str, Any]):
    """The name of a union's branch and the value."""

    __slots__ = ()


def converter(node: avro.Type, of: Type, path: str) -> Convert:
    """Return the function that converts a value of a writer's type to a value of a column.

    Raises:
        SerdeError: no value of the writer's type is a value of the column.
    """
    if isinstance(node, avro.Union):
        return _from_union(node, of, path)
    convert = _definite(node, of, path)
    return lambda value: None if value is None else convert(value)


def _from_union(node: avro.Union, of: Type, path: str) -> Convert:
    branches = [branch for branch in node.branches if branch.kind != "null"]
    if len(branches) == 1:
        inner = _definite(branches[0], of, path)
        named = isinstance(branches[0], avro.Named)
        return lambda value: (
            None if value is None else inner(value[1] if named and _is_named(value) else value)
        )
    if not isinstance(of, Struct):
        raise _mismatch(node, of, path)
    names = fields_by_name([branch_name(branch) for branch in branches], of.fields)
    types = {field.name: field.type for field in of.fields}
    # By the name that the value carries: the full name of a named type, else its kind.
    readers: dict[str, tuple[str, Convert]] = {}
    for column, field in names.items():
        for branch in branches:
            if branch_name(branch) == field:
                below = f"{path}.{field}" if path else field
                inner = _definite(branch, types[column], below)
                readers[branch.full_name] = (column, inner)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        name, inner_value = value[0].lstrip("."), value[1]
        row: dict[str, Any] = dict.fromkeys(types)
        if name in readers:
            column, read = readers[name]
            row[column] = read(inner_value)
        return row

    return convert


def _is_named(value: object) -> bool:
    return isinstance(value, tuple)


def _definite(node: avro.Type, of: Type, path: str) -> Convert:
    """Return the function for values that are not null."""
    match of:
        case Struct(fields=fields) if isinstance(node, avro.Record):
            return _record(node, fields, path)
        case Array(element=element) if isinstance(node, avro.Array):
            item = converter(node.items, element, f"{path}[]")
            return lambda value: [item(one) for one in value]
        case Map(key=key, value=inner):
            return _map(node, key, inner, path)
        case Decimal() if node.logical is not None and node.logical.name == "decimal":
            scale = node.logical.scale
            return lambda value: text_numbers.decimal(f"{decimal_of(value, scale):f}", of)
        case _:
            found = _plain(node, of)
            if found is None:
                raise _mismatch(node, of, path)
            return found


def _record(node: avro.Record, fields: tuple[Column, ...], path: str) -> Convert:
    names = fields_by_name([field.name for field in node.fields], fields)
    types = {field.name: field.type for field in node.fields}
    readers = [
        (column.name, names[column.name], converter(types[names[column.name]], column.type, below))
        for column in fields
        if column.name in names
        for below in (f"{path}.{column.name}" if path else column.name,)
    ]
    missing = {column.name: None for column in fields}

    def convert(value: Any) -> Any:
        return missing | {column: read(value[name]) for column, name, read in readers}

    return convert


def _map(node: avro.Type, key: Type, inner: Type, path: str) -> Convert:
    if isinstance(node, avro.Map) and key == STRING:
        item = converter(node.values, inner, f"{path}{{}}")
        return lambda value: {name: item(one) for name, one in value.items()}
    entry = entry_of(node)
    if entry is None:
        raise _mismatch(node, Map(key, inner), path)
    types = {field.name: field.type for field in entry.fields}
    read_key = converter(types["key"], key, f"{path}{{key}}")
    read_value = converter(types["value"], inner, f"{path}{{}}")
    return lambda value: {read_key(one["key"]): read_value(one["value"]) for one in value}


def _same(value: Any) -> Any:
    return value


def _texts(node: avro.Type) -> Convert | None:
    match node.kind:
        case "string" | "enum":
            return _same
        case "boolean":
            return lambda value: "true" if value else "false"
        case "int" | "long":
            read = _within(_BITS[node.kind])
            return lambda value: str(read(value))
        case "float" | "double":
            return double_text
        case _:
            return None


def _plain(node: avro.Type, of: Type) -> Convert | None:
    """Return the function for a plain type; None if no value of the writer's type fits."""
    if of == STRING:
        return _texts(node)
    if of in {DATE, TIME, TIMESTAMP}:
        return _times(node, of)
    if of in {INT, BIGINT} and node.kind in _BITS:
        return _within(_BITS[node.kind]) if of == BIGINT or node.kind == "int" else None
    fitting = {
        BOOLEAN: ("boolean",),
        DOUBLE: ("float", "double"),
        BYTES: ("bytes", "fixed"),
    }
    return _same if node.kind in fitting.get(of, ()) else None


def _times(node: avro.Type, of: Type) -> Convert | None:
    name = node.logical.name if node.logical is not None else ""
    if of == DATE:
        return date_of if name == "date" else None
    kind, _, unit = name.removeprefix("local-").partition("-")
    divisor = _PER_MILLISECOND.get(unit)
    if divisor is None or kind != of.name.lower():
        return None
    if of == TIME:
        read = _within(_BITS["int"])
        return lambda value: read(value // divisor)
    return lambda value: _instant(value, divisor)


def _within(bits: int) -> Convert:
    """Return the function that refuses numbers that are too large: damaged bytes have them."""
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def read(value: int) -> int:
        if not least <= value <= most:
            raise OverflowError(f"{value} is not a number of {bits} bits")
        return value

    return read


def _instant(value: int, divisor: int) -> dt.datetime:
    return timestamp_of(value // divisor)


def _mismatch(node: avro.Type, of: Type, path: str) -> SerdeError:
    written = node.kind
    if node.logical is not None:
        written = f"{node.logical.name} ({written})"
    return SerdeError(
        f'cannot read the Avro type {written} as column "{path}" {of}',
        hint="Declare the type that the writer's schema has, or leave the columns out.",
    )
