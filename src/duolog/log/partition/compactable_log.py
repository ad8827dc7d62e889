"""The part of a log that is sealed and saved: what compaction and retention work on.

    |  sealed, below the recovery point  |  sealed since  |  active  |
    '---- compaction may rewrite this ---'

A start reads what follows the recovery point batch by batch and takes what lies before it as it
is. So only segments before the point are ever replaced by others.

Threads: the broker's loop. `run_beside` gets what takes long, such as to remove a large file.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from duolog.core.ids import TopicPartition
from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint
from duolog.log.checkpoints.log_start import StartAdvance, write_log_start
from duolog.log.compaction.job import CompactionJob
from duolog.log.compaction.policy import (
    NEVER_MS,
    Cleanable,
    LogOffsets,
    SegmentView,
    cleanable,
)
from duolog.log.config import LogConfig
from duolog.log.data_directory.health import DirHealth
from duolog.log.errors import OffsetOutOfRange
from duolog.log.files.disk import Disk
from duolog.log.partition.readable_log import ReadableLog
from duolog.log.partition.unsynced import Unsynced
from duolog.log.recovery.recovery import Recovered
from duolog.log.segments.index_builder import NO_TIMESTAMP
from duolog.log.segments.segment import Segment
from duolog.log.segments.segment_swap import Swap, change_names


class LogLocation(NamedTuple):
    """The place of a log on the disk, and the partition that it belongs to."""

    disk: Disk
    directory: str
    topic_partition: TopicPartition


class CompactableLog(ReadableLog):
    """A log whose sealed segments may be replaced and removed."""

    __slots__ = (
        "_disk",
        "_health",
        "_start_pending",
        "_unsynced",
        "checkpoint",
        "config",
        "directory",
        "run_beside",
    )

    config: LogConfig

    def __init__(self, location: LogLocation, health: DirHealth, recovered: Recovered) -> None:
        super().__init__(location.topic_partition, recovered)
        self._disk = location.disk
        self._health = health
        self.directory = location.directory
        self.checkpoint = recovered.checkpoint
        """The compaction progress."""
        self._start_pending = False
        self.run_beside: Callable[[Callable[[], None]], None] = _at_once
        self._unsynced = Unsynced(
            self._disk, self._segments.active, recovered.scanned_segments, recovered.scanned_bytes
        )

    # Compaction.

    @property
    def disk(self) -> Disk:
        return self._disk

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Take the log directory offline where the disk refuses, unless the log was deleted.

        Raises:
            FileNotFoundError: the topic was deleted meanwhile.
            LogDirOffline: the disk refused, now or before.
        """
        deleted = None
        with self._health.guard(doing):
            try:
                yield
            except FileNotFoundError as error:
                if self._disk.exists(self.directory):
                    raise
                deleted = error
        if deleted is not None:
            raise deleted

    def cleanable(self, now_ms: int, *, saved_only: bool = False) -> Cleanable | None:
        """Say how far this log may be compacted now, or None if that is not worth a run.

        With `saved_only` segments that no recovery point covers are left for later.
        """
        if not self.config.compacted:
            return None
        views: list[SegmentView] = []
        for segment in self._segments:
            views.append(self._view(segment))
            if saved_only and not self._unsynced.is_saved(segment):
                break
        return cleanable(
            views,
            self.config,
            LogOffsets(self.log_start_offset, self.last_stable_offset, self.log_end_offset),
            clean_offset=self.checkpoint.clean_offset,
            now_ms=now_ms,
        )

    def _view(self, segment: Segment) -> SegmentView:
        config = self.config
        first = newest = NO_TIMESTAMP
        # Both may have to be read from the disk.
        if config.max_compaction_lag_ms < NEVER_MS and segment.size_bytes:
            first = next(segment.places(0)).max_timestamp
        if config.min_compaction_lag_ms > 0:
            newest = segment.max_timestamp
        return SegmentView(segment.base_offset, segment.size_bytes, first, newest)

    def compaction_job(
        self,
        found: Cleanable,
        *,
        now_ms: int,
        keys_max: int,
        chunk_bytes: int,
        bytes_per_second: float,
    ) -> CompactionJob:
        """Return the description of a run over this log."""
        sizes = [(segment.base_offset, segment.size_bytes) for segment in self._segments]
        return CompactionJob(
            directory=self.directory,
            segments=tuple(size for size in sizes if size[0] < found.end_offset),
            first_dirty_offset=found.first_dirty_offset,
            end_offset=found.end_offset,
            now_ms=now_ms,
            delete_retention_ms=self.config.delete_retention_ms,
            segment_bytes_max=self.config.segment_bytes_max,
            index_interval_bytes=self.config.index_interval_bytes,
            keys_max=keys_max,
            chunk_bytes=chunk_bytes,
            bytes_per_second=bytes_per_second,
            producers=self._producers.last_offsets(),
            aborted=tuple(self._segments.aborted_entries(found.end_offset)),
        )

    def allow_holes(self, checkpoint: CleanerCheckpoint) -> None:
        """Take a checkpoint that is on disk."""
        self.checkpoint = checkpoint
        self._segments.holes_below = checkpoint.holes_below

    def can_swap(self, base_offsets: Sequence[int]) -> bool:
        """Return whether these segments still exist and are adjacent."""
        return bool(self._segments.find(base_offsets))

    def swap(self, swap: Swap, cleaned: Segment) -> None:
        """Put `cleaned`, whose files are named `.cleaned`, in the place of some segments.

        The swap must have been promised on disk, and is to be ended there after this.

        Raises:
            LogDirOffline: the disk refused, now or before.
        """
        old = self._segments.find(swap.base_offsets)
        assert old, swap
        assert all(self._unsynced.is_saved(segment) for segment in old), swap
        with self._health.guard(f'compacting "{self.topic_partition}"'):
            change_names(self._disk, self.directory, swap)
        self._segments.replace(old, cleaned)
        for segment in old:
            segment.forget_file()

    # The log start.

    def advance_log_start(self, offset: int) -> None:
        """Make `offset` the first that can be read, durably; remove segments below it.

        Raises:
            OffsetOutOfRange: `offset` is above the high watermark.
            LogDirOffline: the disk refused, now or before.
        """
        advance = self.advancing_start(offset)
        advance.write()
        for _ in advance.apply():
            pass

    def advancing_start(self, offset: int) -> StartAdvance:
        """Return `advance_log_start` as two steps: its write may be made off the event loop.

        Until it is applied retention leaves this log alone.

        Raises:
            OffsetOutOfRange: `offset` is above the high watermark.
        """
        if offset > self.high_watermark:
            raise OffsetOutOfRange(
                f'log start of "{self.topic_partition}" cannot be {offset}',
                detail=f"The high watermark is {self.high_watermark}.",
            )
        wanted = max(offset, self.log_start_offset)
        advances = wanted > self.log_start_offset
        doing = f'cutting "{self.topic_partition}"'
        self._start_pending = advances

        def write() -> None:
            if advances:
                with self._health.guard(doing):
                    write_log_start(self._disk, self.directory, wanted)

        def apply() -> Iterator[None]:
            # The start first, the files second: files may vanish in any order in a crash, and
            # recovery drops what lies below the start.
            self._start_pending = False
            self.log_start_offset = wanted
            self._epochs.advance_to(wanted)
            while advances and self._segments.ends_below(wanted):
                with self._health.guard(doing):
                    removed = self._segments.pop_first()
                    self._unsynced.forget([removed])
                    self._discard(removed)
                yield

        return StartAdvance(write, apply)

    def uncovered_below(self, offset: int) -> bool:
        """Return whether only segments below `offset` have state of producers that a crash loses.

        Set a recovery point before they go, or a start forgets sequences and transactions.
        """
        return len(self._producers) > 0 and self._unsynced.has_unsaved_below(offset)

    def _discard(self, segment: Segment) -> None:
        """Remove the files of a segment that is no longer part of the log."""
        paths = segment.set_aside()
        self.run_beside(partial(_remove, self._disk, paths, segment))


def _remove(disk: Disk, paths: list[str], segment: Segment) -> None:
    segment.let_go()
    for path in paths:
        if disk.exists(path):
            disk.remove(path)


def _at_once(call: Callable[[], None]) -> None:
    call()
