"""Find the schema ids in the records of a batch.

    00 | id, 4 bytes | [message indexes] | payload
    01 | GUID, 16 bytes | [message indexes] | payload

The part before the payload may be alone in the header `__value_schema_id` or `__key_schema_id`.

A frame is the part of these bytes that names the schema; equal frames are looked up once. A record
without the part, such as a tombstone, has no frame and passes. Bytes of any other form are the
frame `UNFRAMED`.

This walks the bytes instead of decoding records: it is most of the cost of the check.

Source: Kafka `DefaultRecord`; `serde/wire_format.py`.
"""

from typing import Final, NamedTuple
from uuid import UUID

from duolog.broker.schema_checks.settings import SchemaChecks
from duolog.record.batch import HEADER_BYTES, read_header
from duolog.record.compression import decompress
from duolog.record.errors import CorruptBatch, InvalidRecord
from duolog.record.records import RECORDS_READ_MAX
from duolog.schemas.subjects import SchemaKey

UNFRAMED: Final = b""
_ID_BYTES: Final = 5
_GUID_BYTES: Final = 17
_GUID_MAGIC: Final = 1
_KEY_HEADER: Final = b"__key_schema_id"
_VALUE_HEADER: Final = b"__value_schema_id"
_NO_HEADERS: Final = (None, None)
_INDEXES_BYTES_MAX: Final = 64
"""Longer indexes are taken for none: no program nests messages so deep."""
_SHIFT_MAX: Final = 28
"""Of the last byte of a number of 32 bits."""

Spans = list[tuple[int, int]]
"""Indexes of records: from, up to."""
Found = dict[bytes, Spans]
"""The records of each frame."""


class Frames(NamedTuple):
    """The frames in the checked parts of a batch; None for a part that is not checked."""

    keys: Found | None
    values: Found | None


def frames_of(batch: memoryview, checks: SchemaChecks, plain_bytes_max: int | None) -> Frames:
    """Return the frames of a batch whose checksum is right.

    Raises:
        InvalidRecord: the records cannot be read, or are too many.
    """
    header = read_header(batch)
    count = header.records_count
    if count > RECORDS_READ_MAX:
        raise InvalidRecord(
            f"record batch has {count} records, and the broker reads {RECORDS_READ_MAX} at most",
            hint="Send smaller batches to a topic whose schema ids are checked.",
        )
    payload = batch[HEADER_BYTES : header.size_bytes]
    try:
        plain = bytes(decompress(header.compression, payload, plain_bytes_max))
        return _walk(plain, count, checks)
    except (IndexError, CorruptBatch) as error:
        # The checksum was right, so the client made it so.
        raise InvalidRecord("records of the batch cannot be read", detail=str(error)) from error


def schema_key(frame: bytes) -> SchemaKey:
    """Return the id or the GUID that a frame names; it is not `UNFRAMED`."""
    if frame[0] == _GUID_MAGIC:
        return str(UUID(bytes=frame[1:_GUID_BYTES]))
    return int.from_bytes(frame[1:_ID_BYTES])


def message_indexes(frame: bytes) -> tuple[int, ...]:
    """Return the place of a Protobuf message that a frame names."""
    start = _GUID_BYTES if frame[0] == _GUID_MAGIC else _ID_BYTES
    return _indexes(frame, start)[0] if len(frame) > start else (0,)


def _walk(plain: bytes, count: int, checks: SchemaChecks) -> Frames:  # noqa: PLR0912 - the hot loop
    keys, values = _Runs(), _Runs()
    checks_keys, checks_values = checks.key is not None, checks.value is not None
    names_keys = checks.key is not None and checks.key.names_records
    names_values = checks.value is not None and checks.value.names_records
    last_key: bytes | None = None
    last_value: bytes | None = None
    position, size = 0, len(plain)
    for index in range(count):
        length = plain[position]
        position += 1
        if length > 0x7F:
            length, position = _long(plain, position - 1)
        end = position + (length >> 1)
        if length & 1 or end > size:
            raise CorruptBatch("record is cut off")
        position += 1  # The attributes, then the deltas of timestamp and offset.
        while plain[position] > 0x7F:
            position += 1
        position += 1
        while plain[position] > 0x7F:
            position += 1
        position += 1
        key_length = plain[position]
        key_at = position = position + 1
        if key_length > 0x7F:
            key_length, key_at = _long(plain, position - 1)
        position = key_at if key_length & 1 else key_at + (key_length >> 1)
        value_length = plain[position]
        value_at = position = position + 1
        if value_length > 0x7F:
            value_length, value_at = _long(plain, position - 1)
        position = value_at if value_length & 1 else value_at + (value_length >> 1)
        if position >= end:
            raise CorruptBatch("record is cut off")
        named = _schema_headers(plain, position, end) if plain[position] else _NO_HEADERS
        position = end
        if checks_keys:
            raw = _raw(plain, key_at, key_length, named[0], names_record=names_keys)
            if raw != last_key:
                keys.begin(raw, index)
                last_key = raw
        if checks_values:
            raw = _raw(plain, value_at, value_length, named[1], names_record=names_values)
            if raw != last_value:
                values.begin(raw, index)
                last_value = raw
    if position != size:
        raise CorruptBatch("record batch has bytes after its last record")
    return Frames(
        keys.end(count) if checks_keys else None, values.end(count) if checks_values else None
    )


def _raw(
    plain: bytes, start: int, length: int, header: bytes | None, *, names_record: bool
) -> bytes | None:
    """Return what may be the frame of a part; `length` is zigzag-encoded, odd if it is null."""
    if length & 1:
        return None
    if header is not None:
        return header
    if plain[start] == _GUID_MAGIC and length >= 2 * _GUID_BYTES:
        end = start + _GUID_BYTES
    elif length < 2 * _ID_BYTES or plain[start]:
        return UNFRAMED
    else:
        end = start + _ID_BYTES
    if names_record:
        end = _end_of_indexes(plain, end, start + (length >> 1))
    return plain[start:end]


def _end_of_indexes(plain: bytes, start: int, end: int) -> int:
    """Return where message indexes end; `start` if there are none, as in other languages."""
    try:
        return start + _indexes(plain[start : min(end, start + _INDEXES_BYTES_MAX)], 0)[1]
    except (IndexError, CorruptBatch):
        return start


def _indexes(data: bytes, position: int) -> tuple[tuple[int, ...], int]:
    """Return the message indexes at a position, and the position after them."""
    count, position = _length(data, position)
    indexes = []
    for _ in range(count):
        index, position = _length(data, position)
        indexes.append(index)
    return tuple(indexes) or (0,), position


class _Runs:
    """Consecutive records of one frame, collected by frame."""

    __slots__ = ("_found", "_frame", "_start")

    def __init__(self) -> None:
        self._found: Found = {}
        self._frame: bytes | None = None
        self._start = 0

    def begin(self, frame: bytes | None, index: int) -> None:
        """Note that the records from `index` on have another frame, or none."""
        if self._frame is not None:
            self._found.setdefault(self._frame, []).append((self._start, index))
        self._frame, self._start = frame, index

    def end(self, count: int) -> Found:
        """Return the records of each frame; there were `count` of them."""
        self.begin(None, count)
        return self._found


def _schema_headers(plain: bytes, position: int, end: int) -> tuple[bytes | None, bytes | None]:
    """Return the frames in the headers of a record: the one of its key, the one of its value."""
    key: bytes | None = None
    value: bytes | None = None
    length, position = _length(plain, position)
    if length < 0:
        raise CorruptBatch("record has an impossible number of headers")
    for _ in range(length):
        length, position = _length(plain, position)
        if length < 0 or position + length > end:
            raise CorruptBatch("header of a record is cut off")
        name = plain[position : position + length]
        length, position = _length(plain, position + length)
        content = plain[position : position + max(length, 0)]
        position += max(length, 0)
        if position > end:
            raise CorruptBatch("header of a record is cut off")
        if name == _KEY_HEADER:
            key = _header_frame(content)
        elif name == _VALUE_HEADER:
            value = _header_frame(content)
    return key, value


def _header_frame(content: bytes) -> bytes:
    if len(content) >= _GUID_BYTES and content[0] == _GUID_MAGIC:
        return content[: _end_of_indexes(content, _GUID_BYTES, len(content))]
    if len(content) >= _ID_BYTES and not content[0]:
        return content[: _end_of_indexes(content, _ID_BYTES, len(content))]
    return UNFRAMED


def _length(plain: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    zigzag, position = _long(plain, position)
    return (zigzag >> 1) ^ -(zigzag & 1), position


def _long(plain: bytes, position: int) -> tuple[int, int]:
    """Return the zigzag-encoded number at a position, and the position after it."""
    value = shift = 0
    while True:
        byte = plain[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > _SHIFT_MAX:
            raise CorruptBatch("record has a length of more than five bytes")
