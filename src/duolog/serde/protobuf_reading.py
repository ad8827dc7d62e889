"""Convert Protobuf messages to values of columns: one function per writer's message.

A field matches the column of its name, else the column of its name in upper case. A column without
a field is null. A field without presence that is not in the bytes has the default of its type;
`bytes` without presence are null if they are empty, as in Kafka Connect.
"""

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

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
from duolog.schemas.protobuf import columns as forms
from duolog.serde import text_numbers
from duolog.serde.json_writing import double_text
from duolog.serde.matching import decimal_of, fields_by_name
from duolog.serde.times import timestamp_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

# The values of Protobuf's messages have no static types.
Convert = Callable[[Any], Any]

_MS_OF_DAY: Final = 86_400_000
_BYTES_ON_WIRE: Final = 2
"""The wire type of messages inside messages."""


def converter(
    message: "Descriptor", columns: tuple[Column, ...], path: str = ""
) -> Callable[[Any], dict[str, Any]]:
    """Return the function that converts a message to values by column.

    Raises:
        SerdeError: no value of a field is a value of its column.
    """
    fields = {field.name: field for field in forms.plain_fields_of(message)}
    oneofs = {forms.union_name(one): one for one in forms.oneofs_of(message)}
    names = fields_by_name([*oneofs, *fields], columns)
    readers: list[tuple[str, Convert]] = []
    for column in columns:
        name = names.get(column.name)
        below = f"{path}.{column.name}" if path else column.name
        if name in oneofs:
            readers.append((column.name, _union(oneofs[name], column.type, below)))
        elif name is not None:
            readers.append((column.name, _field(fields[name], column.type, below)))
    missing = {column.name: None for column in columns}

    def convert(value: Any) -> dict[str, Any]:
        return missing | {name: read(value) for name, read in readers}

    return convert


def _union(oneof: Any, of: Type, path: str) -> Convert:
    if not isinstance(of, Struct):
        raise _mismatch("oneof", of, path)
    members = {field.name: field for field in oneof.fields}
    names = fields_by_name(list(members), of.fields)
    types = {field.name: field.type for field in of.fields}
    readers = {
        name: (column, _field(members[name], types[column], f"{path}.{column}"))
        for column, name in names.items()
    }
    name_of_oneof = oneof.name

    def convert(message: Any) -> Any:
        chosen = message.WhichOneof(name_of_oneof)
        if chosen is None:
            return None
        row: dict[str, Any] = dict.fromkeys(types)
        if chosen in readers:
            column, read = readers[chosen]
            row[column] = read(message)
        return row

    return convert


def _field(field: "FieldDescriptor", of: Type, path: str) -> Convert:
    """Return the function that reads a field of a message."""
    name = field.name
    if forms.is_map(field):
        return _map(field, of, path)
    if field.is_repeated:
        if not isinstance(of, Array):
            raise _mismatch(_told(field), of, path)
        item = value_converter(field, of.element, f"{path}[]")
        return lambda message: [item(one) for one in getattr(message, name)]
    read = value_converter(field, of, path)
    if field.has_presence:
        return lambda message: read(getattr(message, name)) if message.HasField(name) else None
    if of == BYTES:
        return lambda message: read(getattr(message, name)) or None
    return lambda message: read(getattr(message, name))


def _map(field: "FieldDescriptor", of: Type, path: str) -> Convert:
    if not isinstance(of, Map):
        raise _mismatch(_told(field), of, path)
    name, parts = field.name, field.message_type.fields_by_name
    if field.message_type.GetOptions().map_entry:
        read_key = value_converter(parts["key"], of.key, f"{path}{{key}}")
        read_value = value_converter(parts["value"], of.value, f"{path}{{}}")
        number, entries = field.number, extended_entries(field.message_type)

        def convert(message: Any) -> Any:
            # Indexing a map of messages adds missing keys; `items` does not.
            pairs = [*getattr(message, name).items(), *entries(message, number)]
            return {read_key(key): read_value(one) for key, one in pairs}

        return convert
    key_of = _field(parts["key"], of.key, f"{path}{{key}}")
    value_of = _field(parts["value"], of.value, f"{path}{{}}")
    return lambda message: {
        _present(key_of(entry)): value_of(entry) for entry in getattr(message, name)
    }


def extended_entries(of: "Descriptor") -> Callable[[Any, int], list[tuple[Any, Any]]]:
    """Return the function that finds entries of a map with fields of a later schema.

    The library (upb) takes such an entry for an unknown field of the message around it, as it does
    with an entry whose value a closed enum does not have. Google's library for Java keeps the
    entry, and drops the field; its generated classes drop only the entries of the second kind.
    """
    entry_class = GetMessageClass(of)
    value = of.fields_by_name["value"]
    is_closed = value.enum_type is not None and value.enum_type.is_closed

    def entries(message: Any, number: int) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        for unknown in UnknownFieldSet(message):
            if unknown.field_number != number or unknown.wire_type != _BYTES_ON_WIRE:
                continue
            entry: Any = entry_class.FromString(unknown.data)
            numbers = {one.field_number for one in UnknownFieldSet(entry)}
            if not (is_closed and value.number in numbers):
                found.append((entry.key, entry.value))
        return found

    return entries


def _present(key: Any) -> Any:
    if key is None:
        raise ValueError("an entry of a map has no key")
    return key


def value_converter(field: "FieldDescriptor", of: Type, path: str) -> Convert:
    """Return the function that converts a value of a field that is neither repeated nor a map.

    Raises:
        SerdeError: no value of the field is a value of the column.
    """
    message = field.message_type
    if message is None:
        found = _scalar(field, of)
    elif message.full_name in forms.WRAPPERS:
        inner = _scalar(message.fields_by_name["value"], of)
        found = None if inner is None else _unwrapped(inner)
    elif isinstance(of, Struct):
        return converter(message, of.fields, path)
    else:
        found = _logical(message.full_name, of)
    if found is None:
        raise _mismatch(_told(field), of, path)
    return found


def _unwrapped(inner: Convert) -> Convert:
    return lambda value: inner(value.value)


def _scalar(field: "FieldDescriptor", of: Type) -> Convert | None:
    if field.type == forms.TYPE_ENUM:
        symbols = {value.number: value.name for value in reversed(field.enum_type.values)}
        return (lambda value: symbols.get(value, str(value))) if of == STRING else None
    kind = forms.type_of_scalar(field.type)
    if of == STRING and kind != BYTES:
        return _text(kind)
    fits = of == kind or (kind == INT and of == BIGINT)
    if field.type in forms.UNSIGNED_64 and fits:
        return _signed
    return _same if fits else None


def _text(kind: Type) -> Convert:
    if kind == STRING:
        return _valid
    if kind == BOOLEAN:
        return lambda value: "true" if value else "false"
    return double_text if kind == DOUBLE else str


def _valid(text: Any) -> Any:
    """Return a text; the library has bytes for one of proto2 that is not UTF-8."""
    if not isinstance(text, str):
        raise ValueError("a text is not UTF-8")  # noqa: TRY004 - the record is damaged
    return text


def _same(value: Any) -> Any:
    return value


def _signed(value: int) -> int:
    """Return the signed number of the same 64 bits, as Java has it."""
    return value - (1 << 64) if value >> 63 else value


def _logical(name: str, of: Type) -> Convert | None:
    if name == forms.TIMESTAMP and of == TIMESTAMP:
        return lambda value: timestamp_of(value.seconds * 1000 + value.nanos // 1_000_000)
    if name == forms.DATE and of == DATE:
        return lambda value: dt.date(value.year, value.month, value.day)
    if name == forms.TIME and of == TIME:
        return _time
    if name == forms.DECIMAL and isinstance(of, Decimal):
        return lambda value: text_numbers.decimal(f"{decimal_of(value.value, value.scale):f}", of)
    return None


def _time(value: Any) -> int:
    seconds = (value.hours * 60 + value.minutes) * 60 + value.seconds
    milliseconds: int = seconds * 1000 + value.nanos // 1_000_000
    if not 0 <= milliseconds < _MS_OF_DAY:
        raise ValueError(f"{milliseconds} ms are not a time of day")
    return milliseconds


def _told(field: "FieldDescriptor") -> str:
    if forms.is_map(field):
        return "map"
    kind = "message" if field.message_type is None else field.message_type.full_name
    if field.message_type is None:
        kind = "enum" if field.enum_type is not None else str(forms.type_of_scalar(field.type))
    return f"repeated {kind}" if field.is_repeated else kind


def _mismatch(written: str, of: Type, path: str) -> SerdeError:
    return SerdeError(
        f'cannot read the Protobuf type {written} as column "{path}" {of}',
        hint="Declare the type that the writer's schema has, or leave the columns out.",
    )
