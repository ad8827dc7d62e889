"""Control batches: the markers that end a transaction in a partition.

A marker is a batch with one record, with the transactional and control bits set and without a
sequence number. It occupies one offset and is invisible to consumers.

    key    version i16 = 0 · type i16: 0 ABORT, 1 COMMIT
    value  version i16 = 0 · coordinator epoch i32

Source: Kafka `ControlRecordType`, `EndTransactionMarker`, `EndTxnMarker.json`.
"""

from struct import Struct, error
from typing import Final, NamedTuple

from duolog.record.batch import Buffer
from duolog.record.errors import CorruptBatch
from duolog.record.records import BatchProducer, Record, decode_records, encode_batch

_KEY: Final = Struct(">hh")
_VALUE: Final = Struct(">hi")
_ABORT: Final = 0
_COMMIT: Final = 1


class Marker(NamedTuple):
    """Content of a transaction marker."""

    commit: bool
    coordinator_epoch: int


def encode_marker(
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool,
    coordinator_epoch: int,
    timestamp_ms: int,
) -> bytearray:
    """Return the control batch that ends a producer's transaction in a partition."""
    key = _KEY.pack(0, _COMMIT if commit else _ABORT)
    record = Record(0, timestamp_ms, key, _VALUE.pack(0, coordinator_epoch))
    return encode_batch(
        [record],
        producer=BatchProducer(producer_id, producer_epoch, transactional=True),
        control=True,
    )


def decode_marker(batch: Buffer) -> Marker | None:
    """Decode a control batch; None if it is not a transaction marker, or was emptied by compaction.

    Raises:
        CorruptBatch: the batch is not a valid control batch.
    """
    record = next(decode_records(batch), None)
    return decode_marker_record(record) if record is not None else None


def decode_marker_record(record: Record) -> Marker | None:
    """Decode the record of a control batch; None if it is not a transaction marker.

    Raises:
        CorruptBatch: the record is not a valid control record.
    """
    try:
        _, kind = _KEY.unpack_from(record.key or b"")
        if kind not in {_ABORT, _COMMIT}:
            return None
        _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    except error as problem:
        raise CorruptBatch("control record cannot be read", detail=str(problem)) from problem
    return Marker(kind == _COMMIT, coordinator_epoch)
