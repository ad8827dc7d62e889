"""Check the lengths in a request against its size before kio decodes it.

kio allocates memory for an array by its declared length, and aborts the process if that fails:
twenty malicious bytes would be enough. It also accepts null for fields that are not nullable.
Therefore the bytes are first walked according to the schema; an array cannot have more items than
bytes follow it.

A walk is compiled once per message class; adjacent fixed-size fields are one step.

Source: kio's `dataclasses.Field.metadata`, as in `encoder`.
"""

from collections.abc import Callable
from dataclasses import Field, fields
from struct import error as struct_error
from typing import Final, get_args, get_origin

from duolog.protocol.errors import MalformedRequest
from duolog.protocol.schema import Schema, is_message, without_none
from duolog.protocol.wire import INT16, INT32, read_array_length, read_uvarint

Walk = Callable[[bytes, int], int]
"""Takes the position of a value and returns the position after it."""

_SIZES: Final = {
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint16": 2,
    "float64": 8,
    "bool": 1,
    "error_code": 2,
    "uuid": 16,
    "timedelta_i32": 4,
    "timedelta_i64": 8,
    "datetime_i64": 8,
}
_WALKS: Final[dict[Schema, Walk]] = {}


def ensure_lengths(type_: Schema, data: bytes) -> None:
    """Ensure that no array or string extends beyond the end of the message.

    Raises:
        MalformedRequest: one does, an array has more than a million items, or an array is null but
            not nullable.
    """
    try:
        end = _walk_of(type_)(data, 0)
    except (IndexError, struct_error) as error:
        raise MalformedRequest("request ends inside a field") from error
    if end > len(data):
        raise MalformedRequest("request ends inside a field")


def _walk_of(type_: Schema) -> Walk:
    found = _WALKS.get(type_)
    if found is None:
        found = _WALKS[type_] = _compile(type_)
    return found


def _compile(type_: Schema) -> Walk:
    flexible = type_.__flexible__
    steps: list[Walk | int] = []
    tagged: dict[int, Walk] = {}
    for field in fields(type_):
        tag = field.metadata.get("tag")
        step = _field_step(field, flexible=flexible, tagged=tag is not None)
        if tag is not None:
            tagged[tag] = _as_walk(step)
        elif isinstance(step, int) and steps and isinstance(steps[-1], int):
            steps[-1] += step
        else:
            steps.append(step)
    walks = [_as_walk(step) for step in steps]
    if flexible:
        walks.append(lambda data, position: _tagged_fields(data, position, tagged))

    def walk(data: bytes, position: int) -> int:
        for step in walks:
            position = step(data, position)
        return position

    return walk


def _as_walk(step: Walk | int) -> Walk:
    return (lambda _, position: position + step) if isinstance(step, int) else step


def _field_step(field: "Field[object]", *, flexible: bool, tagged: bool) -> Walk | int:
    """Return how to skip a field: a number of bytes, or a walk."""
    inner, nullable = without_none(field.type)
    if get_origin(inner) is not tuple:
        return _item_step(field, inner, flexible=flexible, nullable=nullable and not tagged)
    item_type, item_nullable = without_none(get_args(inner)[0])
    item = _item_step(field, item_type, flexible=flexible, nullable=item_nullable)

    def walk_array(data: bytes, position: int) -> int:
        length, position = read_array_length(data, position, flexible=flexible)
        if length < 0 and not nullable:
            raise MalformedRequest(f'array "{field.name}" cannot be null')
        if isinstance(item, int):
            end = position + max(length, 0) * item
            if end > len(data):
                raise MalformedRequest("array is longer than its request")
            return end
        for _ in range(length):
            position = item(data, position)
        return position

    return walk_array


def _item_step(
    field: "Field[object]", type_: object, *, flexible: bool, nullable: bool
) -> Walk | int:
    if is_message(type_):
        walk = _walk_of(type_)
        if not nullable:
            return walk
        return lambda data, position: (
            position + 1 if data[position] == 0xFF else walk(data, position + 1)
        )
    kafka_type = field.metadata["kafka_type"]
    if kafka_type in _SIZES:
        return _SIZES[kafka_type]
    assert kafka_type in {"string", "bytes", "records"}, kafka_type
    if flexible:
        return _walk_compact
    return _walk_string if kafka_type == "string" else _walk_bytes


def _walk_string(data: bytes, position: int) -> int:
    return _ensure_inside(data, position + 2 + max(INT16.unpack_from(data, position)[0], 0))


def _walk_bytes(data: bytes, position: int) -> int:
    return _ensure_inside(data, position + 4 + max(INT32.unpack_from(data, position)[0], 0))


def _walk_compact(data: bytes, position: int) -> int:
    byte = data[position]
    if byte < 0x80:  # The usual case.
        return position + (byte or 1)
    length, position = read_uvarint(data, position)
    return _ensure_inside(data, position + max(length - 1, 0))


def _tagged_fields(data: bytes, position: int, known: dict[int, Walk]) -> int:
    if not data[position]:  # No tagged fields, the usual case.
        return position + 1
    count, position = read_uvarint(data, position)
    for _ in range(count):
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        end = _ensure_inside(data, position + size)
        if tag in known and known[tag](data, position) != end:
            raise MalformedRequest(f"tagged field {tag} is not as long as it says")
        position = end
    return position


def _ensure_inside(data: bytes, position: int) -> int:
    if position > len(data):
        raise MalformedRequest("request ends inside a field")
    return position
