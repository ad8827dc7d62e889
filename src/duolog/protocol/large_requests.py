"""Decode large requests item by item, so that other threads can run in between.

kio decodes a whole message in one native call that holds the GIL: half a second for a million
partitions, during which no client is served, even if another thread does the decoding. Here the
arrays are iterated in Python, and only their items are decoded by kio. This takes about twice as
long.

A reader is compiled once per message class. Its results equal kio's.

Source: kio's `dataclasses.Field.metadata`, as in `encoder`.
"""

from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from typing import Final, get_args, get_origin

from kio._kio_native import entity_reader, get_field_reader, get_reader

from duolog.protocol.schema import Schema, is_message, without_none
from duolog.protocol.wire import read_array_length, read_uvarint

Read = Callable[[bytes, int], tuple[object, int]]
"""Takes the position of a value; returns the value and its size in bytes."""

_READERS: Final[dict[Schema, Read]] = {}


def large_reader(type_: Schema) -> Read:
    """Return the reader for messages of kio's class `type_`; lengths must have been checked."""
    found = _READERS.get(type_)
    if found is None:
        found = _READERS[type_] = _compile(type_)
    return found


def _compile(type_: Schema) -> Read:
    flexible = type_.__flexible__
    plain = [field for field in fields(type_) if field.metadata.get("tag") is None]
    if not any(get_origin(without_none(field.type)[0]) is tuple for field in plain):
        whole: Read = entity_reader(type_)
        return whole
    rows = [(field.name, _field_reader(type_, field, flexible=flexible)) for field in plain]
    tagged = {
        field.metadata["tag"]: (field.name, get_field_reader(type_, field, False, True))  # noqa: FBT003
        for field in fields(type_)
        if field not in plain
    }

    make: Callable[..., object] = type_

    def read(data: bytes, start: int) -> tuple[object, int]:
        values: dict[str, object] = {}
        position = start
        for name, read_field in rows:
            values[name], size = read_field(data, position)
            position += size
        if flexible:
            position = _read_tagged(data, position, tagged, values)
        return make(**values), position - start

    return read


def _field_reader(type_: Schema, field: "Field[object]", *, flexible: bool) -> Read:
    inner, _ = without_none(field.type)
    if get_origin(inner) is not tuple:
        found: Read = get_field_reader(type_, field, False, False)  # noqa: FBT003
        return found
    item_type, optional = without_none(get_args(inner)[0])
    if is_message(item_type):
        read_item = large_reader(item_type)
    else:
        read_item = get_reader(field.metadata["kafka_type"], flexible, optional)

    def read_array(data: bytes, start: int) -> tuple[object, int]:
        length, position = read_array_length(data, start, flexible=flexible)
        if length < 0:
            return None, position - start
        items = []
        for _ in range(length):
            item, size = read_item(data, position)
            items.append(item)
            position += size
        return tuple(items), position - start

    return read_array


def _read_tagged(
    data: bytes, position: int, known: Mapping[int, tuple[str, Read]], values: dict[str, object]
) -> int:
    count, position = read_uvarint(data, position)
    for _ in range(count):
        tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        if tag in known:
            name, read = known[tag]
            values[name], _ = read(data, position)
        position += size
    return position
