"""Primitive types of the protocol, for the hand-written codecs.

Readers take `(buffer, position)` and return `(value, next position)`; writers return bytes. A
reader that passes the end of the buffer raises `MalformedRequest`, and the connection is closed,
because nothing after such a field can be trusted.

Source: Kafka protocol guide, "Protocol Primitive Types"; KIP-482 for the compact forms.
"""

from struct import Struct
from struct import error as struct_error
from typing import Final
from uuid import UUID

from duolog.protocol.errors import MalformedRequest

Buffer = bytes | bytearray | memoryview

INT8: Final = Struct(">b")
INT16: Final = Struct(">h")
INT32: Final = Struct(">i")
INT64: Final = Struct(">q")

NULL_UUID: Final = bytes(16)
_ARRAY_ITEMS_MAX: Final = 1_000_000
_SMALL_VARINTS: Final = tuple(bytes([n]) for n in range(128))


def read_int16(buffer: Buffer, position: int) -> tuple[int, int]:
    try:
        return INT16.unpack_from(buffer, position)[0], position + 2
    except struct_error as error:
        raise MalformedRequest("request ends inside a field") from error


def read_int32(buffer: Buffer, position: int) -> tuple[int, int]:
    try:
        return INT32.unpack_from(buffer, position)[0], position + 4
    except struct_error as error:
        raise MalformedRequest("request ends inside a field") from error


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    value = shift = 0
    try:
        while (byte := buffer[position]) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            position += 1
            if shift > 28:
                raise MalformedRequest("variable-length number is too long")
    except IndexError as error:
        raise MalformedRequest("request ends inside a field") from error
    return value | (byte << shift), position + 1


def write_uvarint(value: int) -> bytes:
    if value < 128:
        return _SMALL_VARINTS[value]
    out = bytearray()
    while value > 127:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_string(buffer: Buffer, position: int, *, flexible: bool) -> tuple[bytes | None, int]:
    """Return a nullable string as UTF-8 bytes, because names are looked up by their bytes."""
    if flexible:
        length, position = read_uvarint(buffer, position)
        length -= 1
    else:
        length, position = read_int16(buffer, position)
    if length < 0:
        return None, position
    end = position + length
    if end > len(buffer):
        raise MalformedRequest("request ends inside a string")
    return bytes(buffer[position:end]), end


def write_string(text: str | None, *, flexible: bool) -> bytes:
    if text is None:
        return b"\0" if flexible else b"\xff\xff"
    data = text.encode()
    if flexible:
        return write_uvarint(len(data) + 1) + data
    return INT16.pack(len(data)) + data


def read_array_length(buffer: Buffer, position: int, *, flexible: bool) -> tuple[int, int]:
    """Return the number of items, -1 for null."""
    if flexible:
        length, position = read_uvarint(buffer, position)
        length -= 1
    else:
        length, position = read_int32(buffer, position)
    # Each item takes at least one byte. A larger length is invalid and would waste memory.
    if length > len(buffer) - position or length > _ARRAY_ITEMS_MAX:
        raise MalformedRequest("array is longer than its request")
    return length, position


def write_array_length(length: int, *, flexible: bool) -> bytes:
    return write_uvarint(length + 1) if flexible else INT32.pack(length)


def skip_tagged_fields(buffer: Buffer, position: int) -> int:
    """Return the position after the tagged fields that start at `position`."""
    if position < len(buffer) and buffer[position] == 0:
        return position + 1  # No tagged fields, the usual case.
    count, position = read_uvarint(buffer, position)
    for _ in range(count):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
    if position > len(buffer):
        raise MalformedRequest("request ends inside a tagged field")
    return position


def read_uuid(buffer: Buffer, position: int) -> tuple[UUID, int]:
    end = position + 16
    if end > len(buffer):
        raise MalformedRequest("request ends inside a field")
    return UUID(bytes=bytes(buffer[position:end])), end
