"""A record by its time, where batches only claim times: each that claims one may have to be opened.

    first_from   the first record at or after a time: the batches from where the time index says on
    largest      the first record with the largest time: batches that claim it, or else all of
                 them, newest first

A search runs in steps, so that the caller can do other work in between: it yields None, or a look
into one batch, and is sent what the look returns. `run` does it in one go.

Thread: the one that appends to the log; a look may be done on any.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, NamedTuple

from duolog.core.units import KIB
from duolog.log.segments.index_builder import NO_TIMESTAMP
from duolog.log.segments.segments import Segments
from duolog.record.batch import read_header
from duolog.record.records import decode_records

_SHORT_BYTES: Final = 8 * KIB


class TimestampOffset(NamedTuple):
    """A record found by its time."""

    timestamp_ms: int
    offset: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class Look:
    """A look into a batch: for the first record at or after a time; None for the largest time."""

    batch: bytes
    timestamp_ms: int | None
    log_start_offset: int

    @property
    def short(self) -> bool:
        """True if the batch is small, and not larger than its header claims."""
        return len(self.batch) <= _SHORT_BYTES and not read_header(self.batch).compression

    def __call__(self) -> TimestampOffset | None:
        epoch = read_header(self.batch).partition_leader_epoch
        records = (
            TimestampOffset(record.timestamp_ms, record.offset, epoch)
            for record in decode_records(self.batch)
            if record.offset >= self.log_start_offset
        )
        if self.timestamp_ms is None:
            return max(records, key=lambda record: record.timestamp_ms, default=None)
        return next(
            (record for record in records if record.timestamp_ms >= self.timestamp_ms), None
        )


Search = Generator[Look | None, TimestampOffset | None, TimestampOffset | None]


def first_from(segments: Segments, timestamp_ms: int, log_start_offset: int) -> Search:
    for batch in segments.batches_from_time(timestamp_ms, log_start_offset):
        if batch is not None:
            found = yield Look(batch, timestamp_ms, log_start_offset)
            if found is not None:
                return found
        yield None
    return None


def largest(segments: Segments, log_start_offset: int) -> Search:
    claimed = segments.max_timestamp
    if claimed == NO_TIMESTAMP:
        return None
    found = yield from first_from(segments, claimed, log_start_offset)
    if found is not None:
        return found
    # Compaction may have left a batch without the record, and clients may claim what is not so.
    known = [NO_TIMESTAMP]
    for batch in segments.batches_beyond(known, log_start_offset):
        if batch is not None:
            found = yield Look(batch, None, log_start_offset)
            if found is not None:
                known.append(max(known[-1], found.timestamp_ms))
        yield None
    if known[-1] == NO_TIMESTAMP:
        return None
    return (yield from first_from(segments, known[-1], log_start_offset))


def run(search: Search) -> TimestampOffset | None:
    """Return what the search finds."""
    found = None
    while True:
        try:
            look = search.send(found)
        except StopIteration as end:
            result: TimestampOffset | None = end.value
            return result
        found = None if look is None else look()
