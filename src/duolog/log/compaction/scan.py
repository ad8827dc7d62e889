"""Find the positions and keys of records in many batches, with few steps per record.

A chunk is the uncompressed payload of some batches, joined. One loop follows the lengths of the
records; all other fields are read for all records at once.

    record  length · attributes i8 · timestamp delta · offset delta · key length · key ·
            value length · value · headers          (all lengths and deltas are zigzag varints)

Source: Kafka `DefaultRecord`.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duolog.core.counts import counted
from duolog.record.batch import HEADER_BYTES, BatchHeader
from duolog.record.compression import decompress
from duolog.record.errors import CorruptBatch
from duolog.record.records import RECORDS_READ_MAX

Integers = NDArray[np.int64]

_PAD: Final = bytes(48)
"""More than the varints at the start of a record take: reads beyond a broken one stay inside."""
_VARINT_BYTES_MAX: Final = 10


class StoredBatch(NamedTuple):
    """A batch as it is stored in a segment, and its records' bytes uncompressed."""

    header: BatchHeader
    data: memoryview
    plain: bytes | memoryview


def open_batch(header: BatchHeader, data: memoryview) -> StoredBatch:
    """Return a batch with its records uncompressed.

    Raises:
        CorruptBatch: it holds more records than are read, or cannot be decompressed.
    """
    if header.records_count > RECORDS_READ_MAX:
        raise CorruptBatch(
            f"record batch at {header.base_offset} has "
            f"{counted(header.records_count, 'record')}, "
            f"more than the {RECORDS_READ_MAX} that are read"
        )
    if not header.records_count:
        return StoredBatch(header, data, b"")
    return StoredBatch(header, data, decompress(header.compression, data[HEADER_BYTES:]))


class Records(NamedTuple):
    """The records of a chunk: one row each, in order.

    `plain` holds all payloads; positions are in it. `first_rows` has one entry more than there
    are batches: batch `i` has the rows from `first_rows[i]` to `first_rows[i + 1]`.
    """

    plain: bytes
    first_rows: list[int]
    starts: Integers
    ends: Integers
    after_timestamps: Integers
    timestamps: Integers
    offsets: Integers
    key_starts: Integers
    key_lengths: Integers
    value_lengths: Integers

    @property
    def bytes_view(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.plain, np.uint8)


def scan(batches: Sequence[StoredBatch]) -> Records:
    """Find the records of `batches`.

    Raises:
        CorruptBatch: a payload does not hold what the header says.
    """
    payloads = [batch.plain for batch in batches]
    plain = b"".join([*payloads, _PAD])
    starts: list[int] = []
    first_rows = [0]
    end = 0
    for batch, payload in zip(batches, payloads, strict=True):
        position, end = end, end + len(payload)
        _follow_lengths(plain, position, end, starts)
        first_rows.append(len(starts))
        if first_rows[-1] - first_rows[-2] != batch.header.records_count:
            found = counted(first_rows[-1] - first_rows[-2], "record")
            raise CorruptBatch(
                f"record batch at {batch.header.base_offset} has {found}, "
                f"not {batch.header.records_count}"
            )
    return _fields(batches, plain, starts, first_rows)


def _follow_lengths(plain: bytes, position: int, end: int, starts: list[int]) -> None:
    append = starts.append
    while position < end:
        append(position)
        byte = plain[position]
        if byte < 0x80:  # The shortest way: most records are short.
            position += 1 + (byte >> 1)
            continue
        length = byte & 0x7F
        shift = 7
        while byte >= 0x80:
            position += 1
            byte = plain[position]
            length |= (byte & 0x7F) << shift
            shift += 7
        position += 1 + (length >> 1)
    if position != end:
        raise CorruptBatch("record is cut off")


def _fields(
    batches: Sequence[StoredBatch], plain: bytes, starts: list[int], first_rows: list[int]
) -> Records:
    data = np.frombuffer(plain, np.uint8)
    at = np.array(starts, np.int64)
    bounds = np.array(first_rows, np.int64)
    counts = bounds[1:] - bounds[:-1]
    lengths, bodies = _varints(data, at)
    ends = bodies + lengths
    deltas, after_timestamps = _varints(data, bodies + 1)
    offset_deltas, position = _varints(data, after_timestamps)
    key_lengths, key_starts = _varints(data, position)
    # Compared so that nothing overflows: a key may claim to have 2**63 - 1 bytes.
    if np.any((key_lengths >= ends - key_starts) | (key_starts >= ends) | (lengths < 0)):
        raise CorruptBatch("key of a record is cut off")
    value_lengths, _ = _varints(data, key_starts + np.maximum(key_lengths, 0))
    last_deltas = np.array([batch.header.last_offset_delta for batch in batches], np.int64)
    if np.any((offset_deltas < 0) | (offset_deltas > np.repeat(last_deltas, counts))):
        raise CorruptBatch("record has an offset that is not within its batch")
    base_offsets = np.array([batch.header.base_offset for batch in batches], np.int64)
    base_times = np.array([batch.header.base_timestamp for batch in batches], np.int64)
    timestamps = np.repeat(base_times, counts) + deltas
    for index, batch in enumerate(batches):
        if batch.header.log_append_time:
            timestamps[first_rows[index] : first_rows[index + 1]] = batch.header.max_timestamp
    return Records(
        plain,
        first_rows,
        at,
        ends,
        after_timestamps,
        timestamps,
        np.repeat(base_offsets, counts) + offset_deltas,
        key_starts,
        key_lengths,
        value_lengths,
    )


def _varints(data: NDArray[np.uint8], at: Integers) -> tuple[Integers, Integers]:
    """Return the zigzag varints at these positions, and the positions after them."""
    byte = data[at]
    value = (byte & 0x7F).astype(np.uint64)
    after = at + 1
    more = np.flatnonzero(byte >= 0x80)
    shift = 7
    while len(more):
        if shift >= 7 * _VARINT_BYTES_MAX:
            raise CorruptBatch("record has a varint of more than ten bytes")
        positions = np.minimum(after[more], len(data) - 1)
        byte = data[positions]
        value[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[more] += 1
        more = more[byte >= 0x80]
        shift += 7
    signs = (value & np.uint64(1)).astype(np.int64)
    return (value >> np.uint64(1)).astype(np.int64) ^ -signs, after
