"""A log on a disk in memory that is compacted as the broker does it, one step after the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from duolog.log import LogManager, PartitionLog
from duolog.log.compaction.job import CompactionJob
from duolog.log.partition.appendable_log import Appended
from duolog.record import Record, decode_records, whole_batches
from duolog.record.batch import BatchHeader
from duolog.record.compression import Compression
from duolog.record.records import BatchProducer, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk
from property.driven_cleaner import DrivenCleaner

TOPIC: Final = "kept"
DELETE_RETENTION_MS: Final = 100
CONFIGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": "1024",
    "index.interval.bytes": "300",
    "delete.retention.ms": str(DELETE_RETENTION_MS),
    "min.cleanable.dirty.ratio": "0",
}


class Step(NamedTuple):
    """A batch: its records as pairs of key and value, None for a tombstone."""

    pairs: tuple[tuple[bytes, bytes | None], ...]
    codec: Compression = Compression.NONE
    producer: int = -1
    end: str = ""
    """For a producer in a transaction: "commit" or "abort" instead of records."""


class CleanedLog:
    """One partition, its broker's end of compaction, and what was ever written to it."""

    def __init__(self, disk: CrashDisk | None = None) -> None:
        self.disk = disk or CrashDisk()
        self.clock = FakeClock()
        self.written: dict[int, Record] = {}
        self.aborted: set[int] = set()
        self._open: dict[int, list[int]] = {}
        self._sequences: dict[int, int] = {}
        self.start()

    def start(self) -> None:
        """Open the data directory as it is."""
        self.manager = LogManager(self.disk, "/data", self.clock, {})
        self.commit = self.manager.group_commit("fsync", lambda: None, threaded=False)
        if self.manager.topics.get(TOPIC) is None:
            self.manager.topics.create(TOPIC, 1, CONFIGS)

    @property
    def log(self) -> PartitionLog:
        return self.manager.log(TOPIC, 0)

    # Writing.

    def write(self, steps: Sequence[Step], *, roll: bool = True) -> None:
        for step in steps:
            if step.end:
                self._end(step.producer, commit=step.end == "commit")
            else:
                self._append(step)
        self.settle()
        if roll and self.log._active.size_bytes:  # noqa: SLF001 - a roll needs bytes
            self.log.roll()
            self.settle()

    def _append(self, step: Step) -> None:
        sequence = self._sequences.get(step.producer, 0)
        base = self.sequenced(step, sequence=sequence).base_offset
        records = self._records(step)
        self._sequences[step.producer] = sequence + len(records)
        offsets = range(base, base + len(records))
        self.written |= {
            offset: record._replace(offset=offset)
            for offset, record in zip(offsets, records, strict=True)
        }
        if step.producer >= 0:
            self._open.setdefault(step.producer, []).extend(offsets)

    def _records(self, step: Step) -> list[Record]:
        return [
            Record(0, self.clock.now_ms() + index, key, value, (("h", b"x"),) if index % 2 else ())
            for index, (key, value) in enumerate(step.pairs)
        ]

    def sequenced(self, step: Step, *, sequence: int) -> Appended:
        """Append the batch of a step with this sequence, as its producer may do again."""
        known = step.producer >= 0
        batch = encode_batch(
            self._records(step),
            compression=step.codec,
            producer=BatchProducer(
                step.producer, 0 if known else -1, sequence if known else -1, transactional=known
            ),
        )
        return self.log.append(memoryview(batch))

    def _end(self, producer: int, *, commit: bool) -> None:
        if producer not in self._open:
            return
        self.log.append_marker(
            producer, 0, commit=commit, coordinator_epoch=0, now_ms=self.clock.now_ms()
        )
        offsets = self._open.pop(producer)
        if not commit:
            self.aborted.update(offsets)

    def settle(self) -> None:
        """Make all that was written durable."""
        self.log.write_staged()
        ticket = self.commit.request([self.log])
        self.commit.run_pending()
        assert self.commit.completed_ticket >= ticket
        self.log.high_watermark = self.log.log_end_offset

    # Compacting.

    def compact(
        self, *, change: Callable[[CompactionJob], CompactionJob] = lambda job: job
    ) -> CompactionJob | None:
        """Run one check of the broker's cleaner; returns the job of its run, if one was worth it."""
        driven = DrivenCleaner(self.disk, self.clock, self.commit, [self.log], change)
        driven.run_round()
        return driven.jobs[0] if driven.jobs else None

    # Reading.

    def batches(self) -> Iterator[tuple[BatchHeader, bytes]]:
        """Yield all batches that a consumer can get."""
        offset = self.log.log_start_offset
        while data := self.log.read_bytes(offset, 500, up_to_offset=self.log.high_watermark):
            for header, batch in whole_batches(data):
                assert header.last_offset >= offset
                offset = header.next_offset
                yield header, bytes(batch)

    def records(self) -> dict[int, Record]:
        """Return the records of data by their offsets."""
        return {
            record.offset: record
            for header, batch in self.batches()
            if not header.control
            for record in decode_records(batch)
        }


def in_small_parts(keys_max: int) -> Callable[[CompactionJob], CompactionJob]:
    """Return a change that gives a run a map of `keys_max` keys, filled in small steps."""
    return lambda job: replace(job, keys_max=keys_max, chunk_bytes=100, plain_bytes=100)


def last_of_each_key(records: dict[int, Record], below: int) -> dict[int, Record]:
    """Return what must stay: the model, as naive as can be.

    Below `below` only the last record of each key counts; above all of them do.
    """
    last: dict[bytes | None, int] = {}
    for offset in sorted(records):
        if offset < below:
            last[records[offset].key] = offset
    return {
        offset: record
        for offset, record in records.items()
        if offset >= below or last[record.key] == offset
    }
