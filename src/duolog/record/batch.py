"""The header of a record batch (v2), and operations on a batch that do not decode its records.

    0 base offset i64 · 8 length of what follows i32 · 12 leader epoch i32 · 16 magic i8 = 2
    17 CRC32C u32 · 21 attributes i16 · 23 last offset delta i32 · 27 base timestamp i64
    35 max timestamp i64 · 43 producer id i64 · 51 producer epoch i16 · 53 base sequence i32
    57 number of records i32 · 61 records

The checksum covers byte 21 to the end. Therefore the broker can write base offset and leader epoch
into a batch without changing its checksum.

Source: Kafka `DefaultRecordBatch`.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from duolog.core.counts import counted
from duolog.record.compression import CODEC_MASK
from duolog.record.errors import CorruptBatch

HEADER: Final = Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = 61
RECORD_BYTES_MIN: Final = 7
"""Smallest record, without key, value, headers: six varints and the attributes, a byte each."""
LENGTH_END: Final = 12
"""Bytes that the length field does not count."""
CRC_START: Final = 21
MAGIC: Final = 2

TIMESTAMP_TYPE_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20

NO_PRODUCER: Final = -1

BASE_OFFSET: Final = Struct(">q")
LEADER_EPOCH: Final = Struct(">i")
LEADER_EPOCH_POSITION: Final = 12
_CRC: Final = Struct(">I")
_CRC_POSITION: Final = 17

assert HEADER.size == HEADER_BYTES

Buffer = bytes | bytearray | memoryview


class BatchHeader(NamedTuple):
    """The header fields of a batch, with Kafka's names and order."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """Size of the whole batch, including the header."""
        return LENGTH_END + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def log_append_time(self) -> bool:
        return bool(self.attributes & TIMESTAMP_TYPE_BIT)

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Return the header at `position` without validating it.

    Raises:
        CorruptBatch: fewer than `HEADER_BYTES` bytes are left.
    """
    if len(buffer) - position < HEADER_BYTES:
        raise CorruptBatch(
            "record batch is cut off",
            detail=f"{counted(len(buffer) - position, 'byte')} of its header",
        )
    return BatchHeader._make(HEADER.unpack_from(buffer, position))


def crc_matches(buffer: Buffer) -> bool:
    """Return whether the checksum in the header of the batch in `buffer` is correct."""
    (crc,) = _CRC.unpack_from(buffer, _CRC_POSITION)
    return bool(crc32c(memoryview(buffer)[CRC_START:]) == crc)


def patch_batch(buffer: memoryview | bytearray, base_offset: int, leader_epoch: int) -> None:
    """Write the two fields that the broker assigns into a batch, in place."""
    BASE_OFFSET.pack_into(buffer, 0, base_offset)
    LEADER_EPOCH.pack_into(buffer, LEADER_EPOCH_POSITION, leader_epoch)


def seal_batch(buffer: bytearray) -> None:
    """Write the length and the checksum into a batch whose other fields are set."""
    LEADER_EPOCH.pack_into(buffer, 8, len(buffer) - LENGTH_END)
    _CRC.pack_into(buffer, _CRC_POSITION, crc32c(memoryview(buffer)[CRC_START:]))


def whole_batches(buffer: Buffer) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield each complete batch in `buffer` with its header, ignoring a truncated last one.

    Raises:
        CorruptBatch: a length is too small for a batch.
    """
    view = memoryview(buffer)
    position = 0
    while len(view) - position >= HEADER_BYTES:
        header = read_header(view, position)
        if header.size_bytes < HEADER_BYTES:
            raise CorruptBatch(f"record batch has the length {header.batch_length}")
        if position + header.size_bytes > len(view):
            return
        yield header, view[position : position + header.size_bytes]
        position += header.size_bytes
