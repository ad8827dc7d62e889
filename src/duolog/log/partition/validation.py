"""Find the reason why a batch is refused: the slow path of `PartitionLog.append`.

Source: Kafka `LogValidator`, `ProduceRequest.validateRecords`.
"""

from typing import Final

from duolog.core.counts import counted
from duolog.core.errors import KafkaError
from duolog.record.batch import (
    CONTROL_BIT,
    HEADER_BYTES,
    MAGIC,
    RECORD_BYTES_MIN,
    TIMESTAMP_TYPE_BIT,
    Buffer,
    crc_matches,
    read_header,
)
from duolog.record.compression import CODEC_MASK, Compression, plain_bytes_max
from duolog.record.errors import CorruptBatch, InvalidRecord

MESSAGE_TOO_LARGE: Final = 10
INVALID_TIMESTAMP: Final = 32

LARGEST_CODEC: Final = max(Compression).value
"""Checked attributes above this: an unknown codec, or a bit that does not belong here."""


def checked_attributes(*, log_append_time: bool) -> int:
    """Return the attribute bits of which only a known codec may be set.

    The timestamp type is checked only where the topic keeps the client's time: else the broker
    itself has set it before it appends.
    """
    return CONTROL_BIT | CODEC_MASK | (0 if log_append_time else TIMESTAMP_TYPE_BIT)


class BatchTooLarge(KafkaError):
    """The batch is larger than `max.message.bytes`."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, code=MESSAGE_TOO_LARGE, hint=hint)


class InvalidTimestamp(KafkaError):
    """The client says that the broker set the time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=INVALID_TIMESTAMP)


def ensure_appendable(batch: Buffer, bytes_max: int, *, log_append_time: bool = False) -> None:
    """Return if a client may append `batch`.

    Raises:
        KafkaError: it may not; the code is Kafka's for the first thing that is wrong.
    """
    header = read_header(batch)
    if header.magic != MAGIC:
        raise InvalidRecord(
            f"record batch has the magic {header.magic}, only {MAGIC} is taken",
            hint="Use a client that speaks Produce version 3 or later.",
        )
    if len(batch) > bytes_max:
        raise BatchTooLarge(
            f"record batch has {counted(len(batch), 'byte')}, of at most {bytes_max:,}",
            hint="Raise the topic setting max.message.bytes, or send smaller batches.",
        )
    if header.size_bytes != len(batch) or header.size_bytes < HEADER_BYTES:
        raise InvalidRecord(
            "record batch is not as long as it says",
            detail=f"{counted(len(batch), 'byte')}, and it says {header.size_bytes:,}",
        )
    if not crc_matches(batch):
        raise CorruptBatch("record batch has a wrong checksum")
    if header.records_count < 1 or header.last_offset_delta != header.records_count - 1:
        raise InvalidRecord(
            f"record batch with {counted(header.records_count, 'record')} ends at offset delta "
            f"{header.last_offset_delta}"
        )
    plain_bytes = plain_bytes_max(header.compression, len(batch) - HEADER_BYTES)
    if header.records_count * RECORD_BYTES_MIN > plain_bytes:
        raise InvalidRecord(
            f"record batch claims {counted(header.records_count, 'record')}, which its bytes "
            "cannot hold",
            detail=counted(len(batch), "byte"),
        )
    if header.control:
        raise InvalidRecord("record batch of a client has the control bit")
    if header.log_append_time and not log_append_time:
        raise InvalidTimestamp("record batch of a client has the timestamp type LogAppendTime")
    if header.compression > LARGEST_CODEC:
        raise InvalidRecord(f"record batch has the unknown codec {header.compression}")
