"""Decode the records of a batch, and encode new batches.

A record: length varint · attributes i8 = 0 · timestamp delta varint · offset delta varint ·
key (varint length, -1 = null) · value (likewise) · number of headers varint · headers.
All varints are zigzag-encoded. The broker's hot path does not use this module.

Source: Kafka `DefaultRecord`.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from duolog.core.counts import counted
from duolog.record.batch import (
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    NO_PRODUCER,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    read_header,
    seal_batch,
)
from duolog.record.compression import Compression, compress, decompress
from duolog.record.errors import CorruptBatch

RecordHeaders = tuple[tuple[str, bytes | None], ...]

RECORDS_READ_MAX: Final = 200_000
"""Maximum number of records that the broker decodes of one batch.

A few kilobytes can claim millions of records.
"""
_VARINT_BITS_MAX: Final = 63


class Record(NamedTuple):
    """A record, at its offset in the log.

    `encode_batch` ignores the offset and assigns new ones.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: RecordHeaders = ()


class BatchProducer(NamedTuple):
    """The producer of a batch, as the batch header names it; by default there is none."""

    producer_id: int = NO_PRODUCER
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False


_NOBODY: Final = BatchProducer()


def decode_records(buffer: Buffer, plain_bytes_max: int | None = None) -> Iterator[Record]:
    """Yield the records of one complete batch without checking its checksum.

    `plain_bytes_max` limits the decompressed size of compressed records.

    Raises:
        CorruptBatch: the batch is truncated, or its records do not match its header.
    """
    header = read_header(buffer)
    if header.magic != MAGIC:
        raise CorruptBatch(f"record batch has the magic {header.magic}")
    if not HEADER_BYTES <= header.size_bytes <= len(buffer):
        raise CorruptBatch("record batch is cut off", detail=counted(len(buffer), "byte"))
    payload = memoryview(buffer)[HEADER_BYTES : header.size_bytes]
    plain = bytes(decompress(header.compression, payload, plain_bytes_max))
    try:
        yield from _decode_all(header, plain)
    except (IndexError, UnicodeDecodeError) as error:
        raise CorruptBatch("record cannot be read", detail=str(error)) from error


def encode_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    compression: Compression = Compression.NONE,
    producer: BatchProducer = _NOBODY,
    leader_epoch: int = 0,
    control: bool = False,
) -> bytearray:
    """Return a batch with `records` at `base_offset`, `base_offset` + 1, and so on."""
    numbered = list(records)
    assert numbered, "a batch holds at least one record"
    base_timestamp = numbered[0].timestamp_ms
    payload = bytearray()
    for delta, record in enumerate(numbered):
        _encode_record(payload, record, delta, record.timestamp_ms - base_timestamp)

    attributes = int(compression)
    producer_id, producer_epoch, base_sequence, transactional = producer
    attributes |= TRANSACTIONAL_BIT if transactional else 0
    attributes |= CONTROL_BIT if control else 0
    batch = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        0,
        leader_epoch,
        MAGIC,
        0,
        attributes,
        len(numbered) - 1,
        base_timestamp,
        max(record.timestamp_ms for record in numbered),
        producer_id,
        producer_epoch,
        base_sequence,
        len(numbered),
    )
    batch += compress(compression, payload)
    seal_batch(batch)
    return batch


def _decode_all(header: BatchHeader, plain: bytes) -> Iterator[Record]:
    position = 0
    for _ in range(header.records_count):
        length, start = _read_varint(plain, position)
        position = start + length
        if length < 0 or position > len(plain):
            raise CorruptBatch("record is cut off", detail=f"length {length}")
        yield _decode_record(header, plain, start, position)
    if position != len(plain):
        raise CorruptBatch(
            "record batch has bytes after its last record", detail=f"{len(plain) - position}"
        )


def _decode_record(header: BatchHeader, plain: bytes, start: int, end: int) -> Record:
    timestamp_delta, position = _read_varint(plain, start + 1)
    offset_delta, position = _read_varint(plain, position)
    key, position = _read_bytes(plain, position, end)
    value, position = _read_bytes(plain, position, end)
    count, position = _read_varint(plain, position)
    if not 0 <= count <= end - position:
        raise CorruptBatch("record has an impossible number of headers", detail=f"{count}")
    headers: RecordHeaders = ()
    if count:
        headers, position = _read_headers(plain, position, end, count)
    if position != end:
        raise CorruptBatch("record does not fill its length")
    timestamp_ms = (
        header.max_timestamp if header.log_append_time else header.base_timestamp + timestamp_delta
    )
    return Record(header.base_offset + offset_delta, timestamp_ms, key, value, headers)


def _read_headers(plain: bytes, position: int, end: int, count: int) -> tuple[RecordHeaders, int]:
    headers = []
    for _ in range(count):
        name, position = _read_bytes(plain, position, end)
        if name is None:
            raise CorruptBatch("record header has no name")
        value, position = _read_bytes(plain, position, end)
        headers.append((name.decode(), value))
    return tuple(headers), position


def _read_bytes(plain: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = _read_varint(plain, position)
    if length < 0:
        return None, position
    if position + length > end:
        raise CorruptBatch("field of a record is cut off", detail=f"length {length}")
    return plain[position : position + length], position + length


def _read_varint(plain: bytes, position: int) -> tuple[int, int]:
    byte = plain[position]
    position += 1
    value = byte & 0x7F
    shift = 7
    while byte & 0x80:
        if shift > _VARINT_BITS_MAX:
            raise CorruptBatch("record has a varint of more than ten bytes")
        byte = plain[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), position


def _encode_record(target: bytearray, record: Record, delta: int, timestamp_delta: int) -> None:
    body = bytearray(1)
    write_varint(body, timestamp_delta)
    write_varint(body, delta)
    _write_bytes(body, record.key)
    _write_bytes(body, record.value)
    write_varint(body, len(record.headers))
    for name, value in record.headers:
        _write_bytes(body, name.encode())
        _write_bytes(body, value)
    write_varint(target, len(body))
    target += body


def _write_bytes(target: bytearray, value: bytes | None) -> None:
    if value is None:
        target.append(1)  # -1 in zigzag.
        return
    write_varint(target, len(value))
    target += value


def write_varint(target: bytearray, value: int) -> None:
    """Append a zigzag-encoded varint."""
    zigzag = value << 1 if value >= 0 else (-value << 1) - 1
    while zigzag > 0x7F:
        target.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    target.append(zigzag)
