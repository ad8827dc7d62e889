"""Encode responses given as plain mappings, using the schemas in kio's classes.

An encoder is compiled once per message class, with a function from value to bytes for each field.
It is several times faster than kio's writer and needs no entity objects. One handler can serve all
versions, because fields that a version lacks are ignored.

Source: Kafka `generator/`; kio's `dataclasses.Field.metadata` (`kafka_type`, `tag`).
"""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, timedelta
from struct import Struct
from typing import Any, Final, get_args, get_origin
from uuid import UUID

from duolog.protocol.schema import Fields, Schema, is_message, without_none
from duolog.protocol.wire import (
    NULL_UUID,
    write_array_length,
    write_string,
    write_uvarint,
)

Encode = Callable[[Any], bytes]
"""Encodes a value of one field; its type is that of the field."""

_FIXED: Final = {
    "int8": ">b",
    "int16": ">h",
    "int32": ">i",
    "int64": ">q",
    "uint16": ">H",
    "float64": ">d",
    "bool": ">?",
    "error_code": ">h",
}
_ZEROS: Final = {"string": "", "bytes": b"", "records": b"", "uuid": UUID(int=0)}
_ENCODERS: Final[dict[Schema, Encode]] = {}
_INT32: Final = Struct(">i").pack
_INT64: Final = Struct(">q").pack


def encoder(type_: Schema) -> Encode:
    """Return the function that encodes a mapping as a message of kio's class `type_`."""
    found = _ENCODERS.get(type_)
    if found is None:
        found = _ENCODERS[type_] = _compile(type_)
    return found


def _compile(type_: Schema) -> Encode:
    flexible = type_.__flexible__
    plain: list[tuple[str, object, Encode]] = []
    tagged: list[tuple[int, str, object, Encode]] = []
    for field in fields(type_):
        tag = field.metadata.get("tag")
        encode = _field_encoder(field, flexible=flexible, tagged=tag is not None)
        if tag is None:
            plain.append((field.name, _default(field), encode))
        else:
            tagged.append((tag, field.name, _default(field), encode))
    tagged.sort(key=lambda row: row[0])

    def write(values: Fields) -> bytes:
        parts = [encode(values.get(name, default)) for name, default, encode in plain]
        if flexible:
            parts.append(_tagged_fields(values, tagged))
        return b"".join(parts)

    return write


def _tagged_fields(values: Fields, rows: list[tuple[int, str, object, Encode]]) -> bytes:
    written = []
    for tag, name, default, encode in rows:
        value = values.get(name, default)
        if value != default:
            data = encode(value)
            written.append(write_uvarint(tag) + write_uvarint(len(data)) + data)
    return write_uvarint(len(written)) + b"".join(written)


def _field_encoder(field: "Field[object]", *, flexible: bool, tagged: bool) -> Encode:
    inner, nullable = without_none(field.type)
    if get_origin(inner) is not tuple:
        return _item_encoder(field, inner, flexible=flexible, nullable=nullable and not tagged)
    item_type, item_nullable = without_none(get_args(inner)[0])
    item = _item_encoder(field, item_type, flexible=flexible, nullable=item_nullable)

    def write_array(values: Sequence[object] | None) -> bytes:
        if values is None:
            return write_array_length(-1, flexible=flexible)
        length = write_array_length(len(values), flexible=flexible)
        return length + b"".join([item(value) for value in values])

    return write_array


def _item_encoder(
    field: "Field[object]", type_: object, *, flexible: bool, nullable: bool
) -> Encode:
    if is_message(type_):
        write = encoder(type_)
        if not nullable:
            # Large items have already been encoded in slices, and are given as bytes.
            return lambda values: values if type(values) is bytes else write(values)
        # A nullable struct starts with a marker byte (KIP-893).
        return lambda values: b"\xff" if values is None else b"\x01" + write(values)
    return _primitive_encoder(field.metadata["kafka_type"], flexible=flexible)


def _primitive_encoder(kafka_type: str, *, flexible: bool) -> Encode:
    if kafka_type in _FIXED:
        return Struct(_FIXED[kafka_type]).pack
    match kafka_type:
        case "string":
            return lambda text: write_string(text, flexible=flexible)
        case "bytes" | "records":
            return lambda data: _bytes(data, flexible=flexible)
        case "uuid":
            return lambda uuid: NULL_UUID if uuid is None else uuid.bytes
        case "timedelta_i32":
            return lambda value: _INT32(_milliseconds(value))
        case "timedelta_i64" | "datetime_i64":
            return lambda value: _INT64(_milliseconds(value))
    raise AssertionError(f"unknown type of a field: {kafka_type}")


def _bytes(data: bytes | None, *, flexible: bool) -> bytes:
    if data is None:
        return b"\0" if flexible else _INT32(-1)
    return (write_uvarint(len(data) + 1) if flexible else _INT32(len(data))) + data


def _milliseconds(value: int | timedelta | datetime | None) -> int:
    if value is None:
        return -1
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return value


def _default(field: "Field[object]") -> object:
    """Return the schema's default as a plain value, or the zero value of the type."""
    inner, nullable = without_none(field.type)
    if field.default is not MISSING:
        return _plain(field.default)
    if get_origin(inner) is tuple:
        return ()
    if is_message(inner):
        return {}
    return None if nullable else _ZEROS.get(field.metadata["kafka_type"], 0)


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return value
