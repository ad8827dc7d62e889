"""One run over a log: the map of keys is built, then the segments are rewritten.

    |----- clean -----|------ dirty ------|-- not yet --|
    start        first dirty          end offset      log end

    1. the keys of the dirty part → the last offset of each, until the map is full
    2. every segment up to there, some small ones together: a record stays if it is the last of
       its key, and a tombstone for `delete.retention.ms` longer

The output is in `.cleaned` files, synced; the broker swaps them in. A batch of which all
records stay is copied byte for byte.

Source: Kafka `Cleaner.doClean`, `cleanSegments`, `shouldRetainRecord`.
"""

from collections.abc import Callable, Iterator

import numpy as np
from crc32c import crc32c
from numpy.typing import NDArray

from duolog.log.compaction.cleaned_segment import CleanedSegment
from duolog.log.compaction.job import CleanedGroup, CompactionJob
from duolog.log.compaction.key_map import KeyHasher, KeyHashes, KeyMap
from duolog.log.compaction.markers import Transactions
from duolog.log.compaction.policy import group_segments
from duolog.log.compaction.rewrite import delete_horizon_ms, emptied, rewritten
from duolog.log.compaction.scan import Integers, Records, StoredBatch, open_batch, scan
from duolog.log.errors import CorruptLog
from duolog.log.files.disk import Disk
from duolog.log.producers.aborted_index import AbortedIndex
from duolog.log.segments.segment import Segment
from duolog.record.batch import CRC_START, BatchHeader, whole_batches

Mask = NDArray[np.bool_]


class Compactor:
    """Runs one job. `pace(bytes)` is called with what was read or written, and may wait.

    Raises:
        CorruptLog: a batch is not whole, or has a wrong checksum: nothing of it is rewritten.
        CorruptBatch: the records of a batch cannot be read.
        OSError: the disk refused.
    """

    def __init__(
        self,
        disk: Disk,
        job: CompactionJob,
        *,
        random_bytes: Callable[[int], bytes],
        pace: Callable[[int], None] = lambda _bytes: None,
    ) -> None:
        self._disk = disk
        self._job = job
        self._pace = pace
        self._hasher = KeyHasher(random_bytes)
        self._map = KeyMap(job.keys_max)
        self._transactions = Transactions(job.aborted)
        self.clean_offset = job.first_dirty_offset
        """The end of the run: all records before it were in the map."""
        self.bytes_read = 0
        self.bytes_written = 0

    def run(self) -> Iterator[CleanedGroup]:
        """Yield each group of segments when its files are written and synced."""
        self.clean_offset = self._build_map()
        sizes = [segment for segment in self._job.segments if segment[0] < self.clean_offset]
        for group in group_segments(sizes, self._job.segment_bytes_max, self._job.end_offset):
            yield self._clean(group)

    # The map.

    def _build_map(self) -> int:
        """Fill the map; returns the offset up to which it knows all keys."""
        job = self._job
        transactions = Transactions(job.aborted)
        for index, (base_offset, size_bytes) in enumerate(job.segments):
            later = job.segments[index + 1 :]
            end = later[0][0] if later else job.end_offset
            if end <= job.first_dirty_offset:
                continue
            for batches in self._chunks(
                Segment(self._disk, job.directory, base_offset, size_bytes)
            ):
                if not self._put_keys(batches, transactions):
                    return max(batches[0].header.base_offset, job.first_dirty_offset)
        return job.end_offset

    def _put_keys(self, batches: list[StoredBatch], transactions: Transactions) -> bool:
        """Put the keys of a chunk into the map; returns whether they fit."""
        first = self._job.first_dirty_offset
        chosen = [
            batch
            for batch in batches
            if not batch.header.control
            and not transactions.meet_data(batch)
            and batch.header.last_offset >= first
        ]
        if not chosen:
            return True
        records = scan(chosen)
        rows = np.flatnonzero((records.key_lengths >= 0) & (records.offsets >= first))
        if not self._map.accepts(len(rows)):
            return False
        self._map.put(self._hasher.hash(records, rows), records.offsets[rows])
        return True

    # The segments.

    def _clean(self, group: list[tuple[int, int]]) -> CleanedGroup:
        job = self._job
        cleaned = CleanedSegment(
            self._disk, job.directory, group[0][0], job.index_interval_bytes, self._written
        )
        aborted = AbortedIndex()
        for base_offset, size_bytes in group:
            for batches in self._chunks(
                Segment(self._disk, job.directory, base_offset, size_bytes)
            ):
                self._clean_chunk(batches, cleaned, aborted)
        cleaned.finish(aborted)
        return CleanedGroup(
            tuple(base_offset for base_offset, _ in group),
            cleaned.size_bytes,
            cleaned.max_timestamp,
            bool(aborted),
        )

    def _written(self, size_bytes: int) -> None:
        self.bytes_written += size_bytes
        self._pace(size_bytes)

    def _clean_chunk(
        self, batches: list[StoredBatch], cleaned: CleanedSegment, aborted: AbortedIndex
    ) -> None:
        opened = [batch for batch in batches if batch.header.records_count]
        records = scan(opened)
        stay = self._staying(opened, records)
        number = 0
        for batch in batches:
            header = batch.header
            rows = np.empty(0, np.int64)
            if header.records_count:
                first, end = records.first_rows[number], records.first_rows[number + 1]
                rows = np.arange(first, end)
                number += 1
            new_horizon_ms = None
            if header.control:
                unneeded, entry = self._transactions.meet_marker(batch)
                if entry is not None:
                    aborted.add(entry)
                horizon = delete_horizon_ms(header)
                if unneeded and (
                    not header.records_count
                    or (horizon is not None and horizon <= self._job.now_ms)
                ):
                    rows = rows[:0]
                elif unneeded and horizon is None:
                    new_horizon_ms = self._new_horizon_ms
            else:
                discarded = self._transactions.meet_data(batch)
                rows = rows[:0] if discarded else rows[stay[rows]]
                if delete_horizon_ms(header) is None and np.any(records.value_lengths[rows] < 0):
                    new_horizon_ms = self._new_horizon_ms
            self._keep(batch, records, rows, new_horizon_ms, cleaned)

    @property
    def _new_horizon_ms(self) -> int:
        return self._job.now_ms + self._job.delete_retention_ms

    def _keep(
        self,
        batch: StoredBatch,
        records: Records,
        rows: Integers,
        new_horizon_ms: int | None,
        cleaned: CleanedSegment,
    ) -> None:
        """Write what stays of a batch."""
        header = batch.header
        if len(rows):
            if len(rows) == header.records_count and new_horizon_ms is None:
                cleaned.add(header, batch.data)
            else:
                cleaned.add_new(rewritten(header, records, rows, new_horizon_ms=new_horizon_ms))
        elif self._is_last_of_producer(header):
            cleaned.add_new(emptied(header))

    def _staying(self, batches: list[StoredBatch], records: Records) -> Mask:
        """Return for each record whether its key and its value allow to keep it."""
        latest = self.clean_offset - 1
        keyed = records.key_lengths >= 0
        rows = np.flatnonzero(keyed & (records.offsets <= latest))
        newest = np.full(len(records.offsets), -1, np.int64)
        newest[rows] = self._map.last_offsets(self._hashes(records, rows))
        bounds = np.array(records.first_rows, np.int64)
        counts = bounds[1:] - bounds[:-1]
        horizons = [delete_horizon_ms(batch.header) for batch in batches]
        expired = np.repeat(
            np.array([h is not None and h <= self._job.now_ms for h in horizons], np.bool_), counts
        )
        has_value = records.value_lengths >= 0
        staying = keyed & (records.offsets >= newest) & (has_value | ~expired)
        result: Mask = staying | (records.offsets > latest)
        return result

    def _hashes(self, records: Records, rows: Integers) -> KeyHashes:
        return self._hasher.hash(records, rows)

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        last = self._job.producers.get(header.producer_id)
        if last is None:
            return False
        last_data_offset, epoch = last
        if last_data_offset >= 0:
            return header.last_offset == last_data_offset
        return header.control and header.producer_epoch == epoch

    # Reading.

    def _chunks(self, segment: Segment) -> Iterator[list[StoredBatch]]:
        """Yield the batches of a segment, some at a time."""
        job = self._job
        file = self._disk.open(f"{segment.path}.log")
        try:
            position, size_bytes = 0, job.chunk_bytes
            while position < segment.size_bytes:
                wanted = min(size_bytes, segment.size_bytes - position)
                data = file.pread(position, wanted)
                batches, used = _whole(data, segment, position, plain_bytes=job.plain_bytes)
                if not batches:
                    if size_bytes >= segment.size_bytes - position:
                        raise _broken(segment, position)
                    size_bytes *= 2
                    continue
                size_bytes = job.chunk_bytes
                self.bytes_read += used
                self._pace(used)
                yield batches
                position += used
        finally:
            file.close()


def _whole(
    data: bytes, segment: Segment, position: int, *, plain_bytes: int
) -> tuple[list[StoredBatch], int]:
    """Return the whole batches at the start of `data`, and their size in bytes.

    Their records have at most `plain_bytes` uncompressed, unless there is only one batch: its
    uncompressed size is known only after decompression, and a few kilobytes can become megabytes.
    """
    batches: list[StoredBatch] = []
    used = plain = 0
    for header, batch in whole_batches(data):
        if crc32c(batch[CRC_START:]) != header.crc:
            raise _broken(segment, position)
        opened = open_batch(header, batch)
        plain += len(opened.plain)
        if batches and plain > plain_bytes:
            break
        batches.append(opened)
        used += header.size_bytes
    return batches, used


def _broken(segment: Segment, position: int) -> CorruptLog:
    return CorruptLog(
        f'segment "{segment.path}.log" has no whole record batch after position {position}',
        detail="These bytes were whole once; the disk or another program changed them.",
        hint="The log is not compacted any more; restore the segment from a copy.",
    )
