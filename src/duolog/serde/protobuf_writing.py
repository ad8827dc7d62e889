"""Convert values of columns to Protobuf messages, by the message to write.

Its fields match columns as in reading; a field without a column keeps its default. A null leaves a
field, or the value of an entry of a map, unset. Null elements of arrays are errors, as Protobuf has
none.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal as PythonDecimal
from typing import TYPE_CHECKING, Any

from duolog.core.errors import SerdeError
from duolog.core.types import (
    BIGINT,
    DATE,
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
from duolog.schemas.protobuf import columns as forms
from duolog.serde import text_numbers
from duolog.serde.matching import fields_by_name
from duolog.serde.times import milliseconds_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

# The values of Protobuf's messages have no static types.
Fill = Callable[[Any, Any], None]
"""Sets a message, or a field of it, to a value."""
Convert = Callable[[Any], Any]


def filler(
    message: "Descriptor", columns: tuple[Column, ...], path: str = ""
) -> Callable[[Any, dict[str, Any]], None]:
    """Return the function that fills a message with values by column.

    Raises:
        SerdeError: a column is not a field of the message, or has another type.
    """
    fields = {field.name: field for field in forms.plain_fields_of(message)}
    oneofs = {forms.union_name(one): one for one in forms.oneofs_of(message)}
    names = fields_by_name([*oneofs, *fields], columns)
    writers: list[tuple[str, Fill]] = []
    for column in columns:
        name = names.get(column.name)
        below = f"{path}.{column.name}" if path else column.name
        if name in oneofs:
            writers.append((column.name, _union(oneofs[name], column.type, below)))
        elif name is not None:
            writers.append((column.name, _field(fields[name], column.type, below)))

    def fill(target: Any, row: dict[str, Any]) -> None:
        for name, write in writers:
            value = row.get(name)
            if value is not None:
                write(target, value)

    return fill


def _union(oneof: Any, of: Type, path: str) -> Fill:
    if not isinstance(of, Struct):
        raise _mismatch("oneof", of, path)
    members = {field.name: field for field in oneof.fields}
    types = {field.name: field.type for field in of.fields}
    writers = [
        (column, _field(members[name], types[column], f"{path}.{column}"))
        for column, name in fields_by_name(list(members), of.fields).items()
    ]

    def fill(target: Any, value: dict[str, Any]) -> None:
        for column, write in writers:
            if value.get(column) is not None:
                write(target, value[column])
                return

    return fill


def _field(field: "FieldDescriptor", of: Type, path: str) -> Fill:
    name = field.name
    if forms.is_map(field):
        return _map(field, of, path)
    if field.is_repeated:
        return _repeated(field, of, path)
    if field.message_type is not None:
        write = _message(field.message_type, of, path)

        def fill(target: Any, value: Any) -> None:
            inner = getattr(target, name)
            inner.SetInParent()
            write(inner, value)

        return fill
    convert = _scalar(field, of, path)
    return lambda target, value: setattr(target, name, convert(value))


def _repeated(field: "FieldDescriptor", of: Type, path: str) -> Fill:
    if not isinstance(of, Array):
        raise _mismatch("repeated", of, path)
    name = field.name
    if field.message_type is None:
        convert = _scalar(field, of.element, f"{path}[]")
        return lambda target, value: getattr(target, name).extend(
            convert(_present(one, path)) for one in value
        )
    write = _message(field.message_type, of.element, f"{path}[]")

    def fill(target: Any, value: Any) -> None:
        for one in value:
            write(getattr(target, name).add(), _present(one, path))

    return fill


def _map(field: "FieldDescriptor", of: Type, path: str) -> Fill:
    if not isinstance(of, Map):
        raise _mismatch("map", of, path)
    parts, name = field.message_type.fields_by_name, field.name
    if field.message_type.GetOptions().map_entry:
        return _true_map(field, of, path)
    write_key = _field(parts["key"], of.key, f"{path}{{key}}")
    write_value = _field(parts["value"], of.value, f"{path}{{}}")

    def fill(target: Any, value: Any) -> None:
        for key, one in value.items():
            entry = getattr(target, name).add()
            write_key(entry, _present(key, path))
            if one is not None:
                write_value(entry, one)

    return fill


def _true_map(field: "FieldDescriptor", of: Map, path: str) -> Fill:
    """Return the function for a field that the schema declares as a map; null is its default."""
    parts, name = field.message_type.fields_by_name, field.name
    key = _scalar(parts["key"], of.key, f"{path}{{key}}")
    inner = parts["value"]
    if inner.message_type is None:
        convert, default = _scalar(inner, of.value, f"{path}{{}}"), inner.default_value

        def fill(target: Any, value: Any) -> None:
            made = getattr(target, name)
            for given, one in value.items():
                made[key(_present(given, path))] = default if one is None else convert(one)

        return fill
    write = _message(inner.message_type, of.value, f"{path}{{}}")

    def fill_messages(target: Any, value: Any) -> None:
        made = getattr(target, name)
        for given, one in value.items():
            entry = made[key(_present(given, path))]
            if one is not None:
                write(entry, one)

    return fill_messages


def _present(value: Any, path: str) -> Any:
    if value is None:
        raise SerdeError(
            f'Protobuf has no null inside "{path}"',
            hint="Filter the elements with FILTER(…, x => x IS NOT NULL).",
        )
    return value


def _message(message: "Descriptor", of: Type, path: str) -> Fill:
    name = message.full_name
    if name in forms.WRAPPERS:
        convert = _scalar(message.fields_by_name["value"], of, path)
        return lambda target, value: setattr(target, "value", convert(value))
    if isinstance(of, Struct):
        return filler(message, of.fields, path)
    known: dict[tuple[str, str], Fill] = {
        (forms.TIMESTAMP, TIMESTAMP.name): _timestamp,
        (forms.DATE, DATE.name): _date,
        (forms.TIME, TIME.name): _time,
        (forms.DECIMAL, "DECIMAL"): _decimal(of),
    }
    found = known.get((name, of.name))
    if found is None:
        raise _mismatch(name, of, path)
    return found


def _timestamp(target: Any, value: dt.datetime) -> None:
    seconds, rest = divmod(milliseconds_of(value), 1000)
    target.seconds, target.nanos = seconds, rest * 1_000_000


def _date(target: Any, value: dt.date) -> None:
    target.year, target.month, target.day = value.year, value.month, value.day


def _time(target: Any, value: int) -> None:
    seconds, rest = divmod(value, 1000)
    minutes, target.seconds = divmod(seconds, 60)
    target.hours, target.minutes = divmod(minutes, 60)
    target.nanos = rest * 1_000_000


def _decimal(of: Type) -> Fill:
    precision, scale = (of.precision, of.scale) if isinstance(of, Decimal) else (0, 0)

    def fill(target: Any, value: PythonDecimal) -> None:
        unscaled = int(PythonDecimal(str(value)).scaleb(scale, context=text_numbers.EXACT))
        length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
        target.value = unscaled.to_bytes(length, "big", signed=True)
        target.precision, target.scale = precision, scale

    return fill


def _scalar(field: "FieldDescriptor", of: Type, path: str) -> Convert:
    if field.type == forms.TYPE_ENUM and of == STRING:
        numbers = {value.name: value.number for value in field.enum_type.values}
        return lambda value: _number(value, numbers)
    kind = forms.type_of_scalar(field.type)
    if field.type != forms.TYPE_ENUM and (of == kind or (of == INT and kind == BIGINT)):
        if field.type in forms.UNSIGNED_64:
            return lambda value: value % (1 << 64)
        return lambda value: value
    raise _mismatch(str(kind), of, path)


def _number(value: str, numbers: dict[str, int]) -> int:
    if value not in numbers:
        raise SerdeError(f'"{value}" is not a value of the Protobuf enum')
    return numbers[value]


def _mismatch(written: str, of: Type, path: str) -> SerdeError:
    return SerdeError(
        f'cannot write column "{path}" {of} as the Protobuf type {written}',
        hint="Convert the column with CAST, or choose another schema.",
    )
