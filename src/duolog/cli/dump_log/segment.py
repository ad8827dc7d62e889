"""Dump the record batches of a segment file, with their damage.

A batch with a wrong checksum is reported and skipped. If the length of a batch is unreadable, the
rest of the file is reported as one damaged position.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from duolog.cli.dump_log.row import Row, damaged, plain
from duolog.cli.text.json_bytes import to_json_text
from duolog.coordinator import decoding
from duolog.coordinator.transactions import records as transaction_records
from duolog.core.counts import counted
from duolog.core.errors import DuologError
from duolog.record.batch import HEADER_BYTES, MAGIC, BatchHeader, crc_matches, read_header
from duolog.record.compression import Compression
from duolog.record.control import decode_marker_record
from duolog.record.records import Record, decode_records

Decode = Callable[[bytes, bytes | None], object]
"""Decodes the key and value of a coordinator's record."""

DECODERS: Final[dict[str, Decode]] = {
    "offsets": decoding.decode_record,
    "transactions": transaction_records.decode_record,
}


def segment_rows(path: Path, *, records: bool, decode: Decode | None = None) -> Iterator[Row]:
    """Yield a row for each batch and, with `records` or `decode`, one for each record."""
    size = path.stat().st_size
    position, next_offset = 0, int(path.stem) if path.stem.isdigit() else 0
    with path.open("rb") as file:
        while position < size:
            head = file.read(HEADER_BYTES)
            problem = _unreadable(head, size - position)
            if problem:
                yield damaged(
                    position, f"{problem}; ignoring the last {counted(size - position, 'byte')}"
                )
                return
            header = read_header(head)
            batch = head + file.read(header.size_bytes - HEADER_BYTES)
            yield _batch_row(header, batch, position, next_offset)
            if records or decode is not None:
                yield from _record_rows(header, batch, position, decode)
            next_offset = header.next_offset
            position += header.size_bytes


def _unreadable(head: bytes, left: int) -> str | None:
    if len(head) < HEADER_BYTES:
        return "record batch is truncated in its header"
    header = read_header(head)
    if header.magic != MAGIC:
        return f"record batch has an unknown magic {header.magic}"
    if header.size_bytes < HEADER_BYTES:
        return f"record batch has an invalid length {header.batch_length}"
    if header.size_bytes > left:
        return f"record batch of {counted(header.size_bytes, 'byte')} is truncated"
    return None


def _batch_row(header: BatchHeader, batch: bytes, position: int, next_offset: int) -> Row:
    problems = []
    if not crc_matches(batch):
        problems.append("checksum does not match")
    if header.base_offset < next_offset:
        problems.append(f"base offset is below {next_offset}, the end of the previous batch")
    if header.last_offset_delta < 0:
        problems.append(f"last offset delta is {header.last_offset_delta}")
    return {
        "position": position,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.records_count,
        "size_bytes": header.size_bytes,
        "leader_epoch": header.partition_leader_epoch,
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "timestamp_type": "LogAppendTime" if header.log_append_time else "CreateTime",
        "compression": _codec(header.compression),
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.transactional,
        "control": header.control,
        "crc": header.crc,
        **({"error": "; ".join(problems)} if problems else {}),
    }


def _codec(number: int) -> str:
    try:
        return Compression(number).name.lower()
    except ValueError:
        return f"unknown ({number})"


def _record_rows(
    header: BatchHeader, batch: bytes, position: int, decode: Decode | None
) -> Iterator[Row]:
    try:
        for record in decode_records(batch):
            yield {
                "record": record.offset,
                "timestamp": record.timestamp_ms,
                **_content(header, record, decode),
            }
    except (DuologError, ValueError) as error:
        yield damaged(position, f"records of the batch at {header.base_offset}: {error}")


def _content(header: BatchHeader, record: Record, decode: Decode | None) -> Row:
    if header.control:
        marker = decode_marker_record(record)
        if marker is None:
            return {"control": "unknown", "key": to_json_text(record.key)}
        kind = "COMMIT" if marker.commit else "ABORT"
        return {"control": kind, "coordinator_epoch": marker.coordinator_epoch}
    if decode is not None and record.key is not None:
        try:
            said = decode(record.key, record.value)
        except DuologError as error:
            return damaged(None, f"record has another type: {error}")
        if said is not None:
            return {"kind": type(said).__name__, "content": plain(said)}
    row: Row = {"key": to_json_text(record.key), "value": to_json_text(record.value)}
    if record.headers:
        row["headers"] = [[name, to_json_text(value)] for name, value in record.headers]
    return row
