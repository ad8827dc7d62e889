"""Validate record batches beyond the checks that every log makes.

`PartitionLog.append` checks structure and checksum. This module has the checks that depend on the
request's version, on the topic's config or on the clock. A batch that breaks a rule here is first
put to the checks of the log: what its header says means nothing if its checksum is wrong.

Records are opened only where a rule is about them: keys on compacted topics, and times when the
header gives a reason. Large requests are checked off the event loop, see `records_check`.

The largest timestamp of a batch comes from the client and is trusted up to a minute ahead of the
clock. Beyond that the records are read; otherwise one batch could keep the time index empty until
that time.

Source: Kafka `ProduceRequest.validateRecords`, `LogValidator`.
"""

from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from duolog.broker.schema_checks.walk import Frames, frames_of
from duolog.broker.topics.topic_config import TopicConfig
from duolog.core.counts import counted
from duolog.core.errors import DuologError, KafkaError
from duolog.log.partition.validation import ensure_appendable
from duolog.protocol.error_codes import ErrorCode
from duolog.record.batch import (
    CRC_START,
    HEADER,
    HEADER_BYTES,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    read_header,
)
from duolog.record.compression import CODEC_MASK, Compression
from duolog.record.errors import CorruptBatch, InvalidRecord
from duolog.record.records import RECORDS_READ_MAX, decode_records

NO_TIMESTAMP: Final = -1
_FIRST_ZSTD: Final = 7
_FIELDS: Final = Struct(">h4x8xqqhi")
"""attributes, max_timestamp, producer_id, producer_epoch, base_sequence, from byte 21."""

RECORD_ERRORS_MAX: Final = 1000
"""The largest number of records that a refusal names: the loop writes the answer in one step."""

RecordErrors = tuple[tuple[int, str | None], ...]


class BatchRefused(KafkaError):
    """A batch that is not taken; `record_errors` names the first records that are why, if any."""

    def __init__(self, message: str, *, code: int, record_errors: RecordErrors = ()) -> None:
        super().__init__(message, code=code)
        self.record_errors = record_errors


class OpenedRecords(NamedTuple):
    """The result of checking all records of a batch."""

    config: TopicConfig
    """By whose rules."""
    refusal: DuologError | None
    max_timestamp: int
    """The values found in the records, whatever the header claims."""
    frames: Frames | None = None
    """The schema ids of the records, until they are judged; see `schema_verdicts`."""


def must_be_opened(batch: memoryview, config: TopicConfig, now_ms: int) -> bool:
    """Say whether the records of a batch are looked at before it is taken."""
    if len(batch) < HEADER_BYTES:
        return False
    return config.opens_records or (
        _FIELDS.unpack_from(batch, CRC_START)[1] > now_ms + config.trusted_ahead_ms
    )


def open_records(
    batch: memoryview, config: TopicConfig, now_ms: int, *, plain_bytes_max: int | None = None
) -> OpenedRecords:
    """Look at all records of a batch; on any thread."""
    try:
        ensure_appendable(batch, config.batch_bytes_max)
        max_timestamp: int = _FIELDS.unpack_from(batch, CRC_START)[1]
        if config.reads_records or max_timestamp > now_ms + config.trusted_ahead_ms:
            max_timestamp = _check_records(batch, config, now_ms, plain_bytes_max)
        checks = config.schema_checks
        frames = None if checks is None else frames_of(batch, checks, plain_bytes_max)
        return OpenedRecords(config, None, max_timestamp, frames)
    except DuologError as error:
        return OpenedRecords(config, error, NO_TIMESTAMP)


def check_batch(
    batch: memoryview,
    config: TopicConfig,
    *,
    version: int,
    now_ms: int,
    opened: OpenedRecords | None = None,
) -> None:
    """Return if the batch may be put to the log; its largest timestamp is then a true one.

    Raises:
        KafkaError: with Kafka's code for the rule that it breaks.
    """
    if len(batch) < HEADER_BYTES:
        raise InvalidRecord("record batch is cut off", detail=counted(len(batch), "byte"))
    attributes, max_timestamp, producer_id, epoch, sequence = _FIELDS.unpack_from(batch, CRC_START)
    to_open = must_be_opened(batch, config, now_ms)
    if not (
        to_open
        or (version < _FIRST_ZSTD and attributes & CODEC_MASK == Compression.ZSTD)
        or (producer_id >= 0 and (sequence < 0 or epoch < 0))
    ):
        return
    if opened is not None and opened.config is not config:  # The topic was changed meanwhile.
        opened = None
    if opened is None or opened.refusal is not None:
        ensure_appendable(batch, config.batch_bytes_max)
    if version < _FIRST_ZSTD and attributes & CODEC_MASK == Compression.ZSTD:
        raise BatchRefused(
            f"zstd is not known in version {version} of Produce",
            code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        )
    if producer_id >= 0 and (sequence < 0 or epoch < 0):
        raise InvalidRecord("record batch of an idempotent producer has no sequence number")
    if opened is None:
        opened = open_records(batch, config, now_ms)
    if opened.refusal is not None:
        raise opened.refusal
    if opened.frames is not None:
        raise KafkaError(
            "the topic was changed while the schema ids of its records were checked",
            code=ErrorCode.NOT_ENOUGH_REPLICAS,
            hint="Send the records again.",
            retriable=True,
        )
    if opened.max_timestamp != max_timestamp and not config.log_append_time:
        _write_header(batch, read_header(batch)._replace(max_timestamp=opened.max_timestamp))


def stamp_with_append_time(batch: memoryview, now_ms: int) -> None:
    """Give a checked batch the broker's time, in place, and a new checksum.

    The base timestamp stays: with the type bit set, readers take the maximum for every record.
    """
    header = read_header(batch)
    _write_header(
        batch,
        header._replace(attributes=header.attributes | TIMESTAMP_TYPE_BIT, max_timestamp=now_ms),
    )


def _write_header(batch: memoryview, header: BatchHeader) -> None:
    HEADER.pack_into(batch, 0, *header)
    HEADER.pack_into(batch, 0, *header._replace(crc=crc32c(batch[CRC_START:])))


def _check_records(
    batch: memoryview, config: TopicConfig, now_ms: int, plain_bytes_max: int | None
) -> int:
    """Return the largest timestamp."""
    count = read_header(batch).records_count
    if count > RECORDS_READ_MAX:
        raise InvalidRecord(
            f"record batch has {count} records, and the broker reads {RECORDS_READ_MAX} at most",
            hint="Send smaller batches to a topic that is compacted.",
        )
    earliest, latest = (
        now_ms - config.timestamp_before_ms_max,
        now_ms + config.timestamp_after_ms_max,
    )
    keyless, wrong_times, largest = [], [], NO_TIMESTAMP
    try:
        for index, record in enumerate(decode_records(batch, plain_bytes_max)):
            timestamp_ms = record.timestamp_ms
            if record.key is None:
                keyless.append(index)
            largest = max(largest, timestamp_ms)
            if not earliest <= timestamp_ms <= latest and timestamp_ms != NO_TIMESTAMP:
                wrong_times.append(index)
    except CorruptBatch as error:
        # The checksum was right, so the client made it so.
        raise InvalidRecord(error.message, detail=error.detail) from error
    if keyless and config.compacted:
        _refuse(
            keyless, "a compacted topic takes no record without a key", ErrorCode.INVALID_RECORD
        )
    if wrong_times and not config.log_append_time:
        # One setting in the text, although a batch may break both: that of its newest record.
        bound = "after" if largest > latest else "before"
        _refuse(
            wrong_times,
            "the time of a record is out of bounds: it is further from the broker's time than the "
            f"topic's message.timestamp.{bound}.max.ms",
            ErrorCode.INVALID_TIMESTAMP,
        )
    return largest


def _refuse(indexes: list[int], message: str, code: ErrorCode) -> None:
    record_errors = tuple((index, message) for index in indexes[:RECORD_ERRORS_MAX])
    raise BatchRefused(message, code=code, record_errors=record_errors)
