"""Convert values of columns to what fastavro writes, by the schema of the records to write.

The schema is either made from the columns or one that a statement names by its id. Its fields match
columns as in reading. A field without a column gets its default, or null, or is an error; a field
that does not allow null gets its default for a null.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal as PythonDecimal
from typing import Any, Final

from duolog.core.counts import counted_are
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
from duolog.serde.matching import fields_by_name
from duolog.serde.times import days_of, milliseconds_of

# The values of fastavro have no static types.
Convert = Callable[[Any], Any]

_PER_MILLISECOND: Final = {"millis": 1, "micros": 1_000, "nanos": 1_000_000}


def converter(node: avro.Type, of: Type, path: str) -> Convert:
    """Return the function that converts a value of a column to a value of a schema's type.

    Raises:
        SerdeError: no value of the column is a value of the type.
    """
    if not isinstance(node, avro.Union):
        convert = _definite(node, of, path)
        return lambda value: convert(_present(value, path))
    nullable = any(branch.kind == "null" for branch in node.branches)
    branches = [branch for branch in node.branches if branch.kind != "null"]
    if len(branches) == 1:
        inner = _definite(branches[0], of, path)
    elif isinstance(of, Struct):
        inner = _branches(branches, of, path)
    else:
        raise _mismatch(node, of, path)
    if nullable:
        return lambda value: None if value is None else inner(value)
    return lambda value: inner(_present(value, path))


def _present(value: Any, path: str) -> Any:
    if value is None:
        raise SerdeError(
            f'the Avro schema does not allow null in "{path}"',
            hint="Add null to the type of the field, or filter the rows.",
        )
    return value


def _branches(branches: list[avro.Type], of: Struct, path: str) -> Convert:
    names = fields_by_name([branch_name(branch) for branch in branches], of.fields)
    types = {field.name: field.type for field in of.fields}
    writers = [
        (column, _called(branch), _definite(branch, types[column], f"{path}.{column}"))
        for column, field in names.items()
        for branch in branches
        if branch_name(branch) == field
    ]

    def convert(value: Any) -> Any:
        for column, name, write in writers:
            if value.get(column) is not None:
                found = write(value[column])
                return found if name is None else (name, found)
        return _present(None, path)

    return convert


def _called(branch: avro.Type) -> str | None:
    """Return the name by which fastavro chooses a branch; None if it goes by the value."""
    return branch.full_name if isinstance(branch, avro.Record | avro.Primitive) else None


def _definite(node: avro.Type, of: Type, path: str) -> Convert:
    match of:
        case Struct(fields=fields) if isinstance(node, avro.Record):
            return _record(node, fields, path)
        case Array(element=element) if isinstance(node, avro.Array) and entry_of(node) is None:
            item = converter(node.items, element, f"{path}[]")
            return lambda value: [item(one) for one in value]
        case Map(key=key, value=inner):
            return _map(node, key, inner, path)
        case Decimal() if node.logical is not None and node.logical.name == "decimal":
            return _decimal(node, node.logical)
        case _:
            found = _plain(node, of)
            if found is None:
                raise _mismatch(node, of, path)
            return found


def _record(node: avro.Record, fields: tuple[Column, ...], path: str) -> Convert:
    names = fields_by_name([field.name for field in node.fields], fields)
    columns = {column.name: column.type for column in fields}
    by_field = {field: column for column, field in names.items()}
    writers: list[tuple[str, str, Convert]] = []
    defaults: dict[str, Any] = {}
    for field in node.fields:
        below = f"{path}.{field.name}" if path else field.name
        column = by_field.get(field.name)
        if column is not None:
            writers.append((field.name, column, _field(field, columns[column], below)))
        elif not isinstance(field.default, avro.Missing):
            defaults[field.name] = default_of(field.type, field.default)
        elif _nullable(field.type):
            defaults[field.name] = None
        else:
            raise SerdeError(
                f'cannot write the Avro schema: field "{below}" has no column',
                detail="The field has no default, and null is not allowed.",
                hint="Add a column of this name, or give the field a default.",
            )

    def convert(value: Any) -> Any:
        return defaults | {field: write(value.get(column)) for field, column, write in writers}

    return convert


def _field(field: avro.Field, of: Type, path: str) -> Convert:
    write = converter(field.type, of, path)
    if isinstance(field.default, avro.Missing) or _nullable(field.type):
        return write
    default = default_of(field.type, field.default)
    return lambda value: default if value is None else write(value)


def default_of(node: avro.Type, default: avro.Json) -> Any:
    """Return the value that a default of a schema stands for; bytes are texts in schemas."""
    match node:
        case avro.Union():
            return default_of(node.branches[0], default)
        case avro.Record() if isinstance(default, dict):
            return {
                field.name: default_of(
                    field.type,
                    default[field.name]
                    if field.name in default or isinstance(field.default, avro.Missing)
                    else field.default,
                )
                for field in node.fields
            }
        case avro.Array() if isinstance(default, list):
            return [default_of(node.items, one) for one in default]
        case avro.Map() if isinstance(default, dict):
            return {name: default_of(node.values, one) for name, one in default.items()}
        case _ if node.kind in {"bytes", "fixed"} and isinstance(default, str):
            return default.encode("latin-1")
        case _:
            return default


def _nullable(node: avro.Type) -> bool:
    return isinstance(node, avro.Union) and any(one.kind == "null" for one in node.branches)


def _map(node: avro.Type, key: Type, inner: Type, path: str) -> Convert:
    entry = entry_of(node)
    if entry is not None:
        types = {field.name: field.type for field in entry.fields}
        write_key = converter(types["key"], key, f"{path}{{key}}")
        write_value = converter(types["value"], inner, f"{path}{{}}")
        return lambda value: [
            {"key": write_key(name), "value": write_value(one)} for name, one in value.items()
        ]
    if isinstance(node, avro.Map) and key == STRING:
        item = converter(node.values, inner, f"{path}{{}}")
        return lambda value: {name: item(one) for name, one in value.items()}
    raise _mismatch(node, Map(key, inner), path)


def _decimal(node: avro.Type, logical: avro.LogicalType) -> Convert:
    size = node.size if isinstance(node, avro.Fixed) else None
    limit = 10**logical.precision

    def convert(value: PythonDecimal) -> bytes:
        exact = PythonDecimal(str(value)).scaleb(logical.scale, context=text_numbers.EXACT)
        unscaled = int(exact)
        if unscaled != exact or abs(unscaled) >= limit:
            raise SerdeError(
                f"{value} is not a decimal({logical.precision},{logical.scale}) of Avro"
            )
        length = size if size is not None else (unscaled + (unscaled < 0)).bit_length() // 8 + 1
        return unscaled.to_bytes(length, "big", signed=True)

    return convert


def _same(value: Any) -> Any:
    return value


def _plain(node: avro.Type, of: Type) -> Convert | None:
    """Return the function for a plain type; None if the type has no such values."""
    if of in {DATE, TIME, TIMESTAMP}:
        return _times(node, of)
    if of == STRING and isinstance(node, avro.Enum):
        symbols = frozenset(node.symbols)
        return lambda value: _symbol(value, symbols)
    if of == BYTES and isinstance(node, avro.Fixed):
        size = node.size
        return lambda value: _fixed(value, size)
    fitting = {
        BOOLEAN: ("boolean",),
        INT: ("int", "long"),
        BIGINT: ("long",),
        DOUBLE: ("double", "float"),
        STRING: ("string",),
        BYTES: ("bytes",),
    }
    return _same if node.kind in fitting.get(of, ()) else None


def _symbol(value: str, symbols: frozenset[str]) -> str:
    if value not in symbols:
        raise SerdeError(f'"{value}" is not a symbol of the Avro enum')
    return value


def _fixed(value: bytes, size: int) -> bytes:
    if len(value) != size:
        raise SerdeError(f"{counted_are(len(value), 'byte')} not a fixed of {size}")
    return value


def _times(node: avro.Type, of: Type) -> Convert | None:
    name = node.logical.name if node.logical is not None else ""
    if of == DATE:
        return days_of if name == "date" else None
    kind, _, unit = name.removeprefix("local-").partition("-")
    factor = _PER_MILLISECOND.get(unit)
    if factor is None or kind != of.name.lower():
        return None
    if of == TIME:
        return lambda value: value * factor
    return lambda value: _number(value, factor)


def _number(value: dt.datetime, factor: int) -> int:
    return milliseconds_of(value) * factor


def _mismatch(node: avro.Type, of: Type, path: str) -> SerdeError:
    written = node.kind
    if node.logical is not None:
        written = f"{node.logical.name} ({written})"
    return SerdeError(
        f'cannot write column "{path}" {of} as the Avro type {written}',
        hint="Convert the column with CAST, or choose another schema.",
    )
