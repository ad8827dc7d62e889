"""The part of a record's key or value that names its schema.

    00 | id, 4 bytes | [message indexes] | payload
    01 | GUID, 16 bytes | [message indexes] | payload

The part before the payload may be alone in the header `__value_schema_id` or `__key_schema_id`.

A frame is the part of these bytes that names the schema; equal frames are looked up once. A record
without the part, such as a tombstone, has no frame and passes. Bytes of any other form are the
frame `UNFRAMED`.

Source: `serde/wire_format.py`.
"""

from typing import Final
from uuid import UUID

from duolog.broker.schema_checks.varints import read_signed
from duolog.record.errors import CorruptBatch
from duolog.schemas.subjects import SchemaKey

UNFRAMED: Final = b""
ID_BYTES: Final = 5
GUID_BYTES: Final = 17
_GUID_MAGIC: Final = 1
_INDEXES_BYTES_MAX: Final = 64
"""Longer indexes are taken for none: no program nests messages so deep."""


def schema_key(frame: bytes) -> SchemaKey:
    """Return the id or the GUID that a frame names; it is not `UNFRAMED`."""
    if frame[0] == _GUID_MAGIC:
        return str(UUID(bytes=frame[1:GUID_BYTES]))
    return int.from_bytes(frame[1:ID_BYTES])


def message_indexes(frame: bytes) -> tuple[int, ...]:
    """Return the place of a Protobuf message that a frame names."""
    start = GUID_BYTES if frame[0] == _GUID_MAGIC else ID_BYTES
    return _indexes(frame, start)[0] if len(frame) > start else (0,)


def frame_at(plain: bytes, start: int, length: int, *, names_record: bool) -> bytes:
    """Return the frame of the `length` bytes at `start`, which are all inside `plain`."""
    if length >= GUID_BYTES and plain[start] == _GUID_MAGIC:
        end = start + GUID_BYTES
    elif length < ID_BYTES or plain[start]:
        return UNFRAMED
    else:
        end = start + ID_BYTES
    if names_record:
        end = _end_of_indexes(plain, end, start + length)
    return plain[start:end]


def is_whole(frame: bytes, *, names_record: bool) -> bool:
    """Say whether all values that start with these bytes, and are as long, have this frame.

    That is not so if message indexes were looked for and the bytes after the id are none.
    """
    if frame == UNFRAMED:
        return False
    id_bytes = GUID_BYTES if frame[0] == _GUID_MAGIC else ID_BYTES
    return not names_record or len(frame) > id_bytes


def _end_of_indexes(plain: bytes, start: int, end: int) -> int:
    """Return where message indexes end; `start` if there are none, as in other languages."""
    try:
        return start + _indexes(plain[start : min(end, start + _INDEXES_BYTES_MAX)], 0)[1]
    except (IndexError, CorruptBatch):
        return start


def _indexes(data: bytes, position: int) -> tuple[tuple[int, ...], int]:
    """Return the message indexes at a position, and the position after them."""
    count, position = read_signed(data, position)
    indexes = []
    for _ in range(count):
        index, position = read_signed(data, position)
        indexes.append(index)
    return tuple(indexes) or (0,), position
