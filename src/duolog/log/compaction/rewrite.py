"""One batch without the records that go: its offsets, its producer and its codec stay.

    records go, no new delete horizon    the kept records' bytes as they are, compressed again
    a delete horizon begins              the same with other timestamp deltas: the horizon takes
                                         the place of the base timestamp (attribute bit 6)
    no record stays, the producer's last a header with 0 records, so that a producer that comes
                                         back is known by its sequence

Source: Kafka `MemoryRecords.filterTo`, `DefaultRecordBatch.writeEmptyHeader`; KIP-534.
"""

from typing import Final

from duolog.log.compaction.scan import Integers, Records
from duolog.record.batch import HEADER, HEADER_BYTES, BatchHeader, seal_batch
from duolog.record.compression import CODEC_MASK, Compression, compress
from duolog.record.records import write_varint

DELETE_HORIZON_BIT: Final = 0x40


def delete_horizon_ms(header: BatchHeader) -> int | None:
    """Return from when on the tombstones of a batch, or its marker, may go; None if not set."""
    return header.base_timestamp if header.attributes & DELETE_HORIZON_BIT else None


def rewritten(
    header: BatchHeader, records: Records, rows: Integers, *, new_horizon_ms: int | None
) -> bytearray:
    """Return the batch with the records of `rows` alone, at least one."""
    attributes, base_timestamp = header.attributes, header.base_timestamp
    if new_horizon_ms is None:
        payload = _same_bytes(records, rows)
    else:
        attributes |= DELETE_HORIZON_BIT
        base_timestamp = new_horizon_ms
        payload = _moved_in_time(records, rows, new_horizon_ms)
    newest = int(records.timestamps[rows].max())
    batch = _header(
        header._replace(
            attributes=attributes,
            base_timestamp=base_timestamp,
            max_timestamp=header.max_timestamp if header.log_append_time else newest,
            records_count=len(rows),
        )
    )
    batch += compress(Compression(header.compression), payload)
    seal_batch(batch)
    return batch


def emptied(header: BatchHeader) -> bytearray:
    """Return the batch without any record."""
    batch = _header(
        header._replace(
            attributes=header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT),
            base_timestamp=header.max_timestamp,
            records_count=0,
        )
    )
    seal_batch(batch)
    return batch


def _header(header: BatchHeader) -> bytearray:
    batch = bytearray(HEADER_BYTES)
    HEADER.pack_into(batch, 0, *header)
    return batch


def _same_bytes(records: Records, rows: Integers) -> bytearray:
    plain = memoryview(records.plain)
    payload = bytearray()
    for start, end in zip(records.starts[rows].tolist(), records.ends[rows].tolist(), strict=True):
        payload += plain[start:end]
    return payload


def _moved_in_time(records: Records, rows: Integers, base_timestamp: int) -> bytearray:
    plain = memoryview(records.plain)
    payload = bytearray()
    columns = (records.timestamps, records.after_timestamps, records.ends)
    for timestamp, rest, end in zip(*(column[rows].tolist() for column in columns), strict=True):
        body = bytearray(1)  # The attributes of a record: none is in use.
        write_varint(body, timestamp - base_timestamp)
        body += plain[rest:end]
        write_varint(payload, len(body))
        payload += body
    return payload
