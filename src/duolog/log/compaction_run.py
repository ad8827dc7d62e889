"""The disk operations of one compaction run over one log; the caller schedules them.

    helper thread    prepare ─▶         promise ─▶      end ─▶    … ─▶ finish
    event loop              announce            swap                        announce

If the process or the broker dies between any two of these, the log is as it was before a swap or
after it; see `segment_swap`. A failed write or sync is as final here as anywhere: the log directory
goes offline, and nothing is undone on a disk that may have lost data.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint, write_checkpoint
from duolog.log.compaction.job import CleanedGroup
from duolog.log.compaction.policy import Cleanable
from duolog.log.partition.compactable_log import CompactableLog
from duolog.log.segments.segment import LOG_SUFFIX, Segment, segment_name
from duolog.log.segments.segment_swap import (
    Swap,
    cleaned_segment,
    drop_cleaned,
    end_swap,
    promise_swap,
    recall_swap,
)

if TYPE_CHECKING:
    from duolog.log.files.disk import DiskFile


@dataclass
class Promised:
    """A swap that is promised on disk, and all that it needs in memory."""

    swap: Swap
    segment: Segment


class CompactionRun:
    """A run over `log`, which may be compacted as far as `found` says."""

    def __init__(self, log: CompactableLog, found: Cleanable) -> None:
        self.log = log
        self.found = found
        self._held: list[DiskFile] = []
        """The files of segments to be replaced: their space is released off the event loop."""

    def prepare(self) -> CleanerCheckpoint:
        """Drop what an earlier run has left, and say on disk how far holes may be found."""
        log = self.log
        holes_below = max(log.checkpoint.holes_below, self.found.end_offset)
        checkpoint = log.checkpoint._replace(holes_below=holes_below)
        with self._on_disk():
            drop_cleaned(log.disk, log.directory)
            write_checkpoint(log.disk, log.directory, checkpoint)
        return checkpoint

    def announce(self, checkpoint: CleanerCheckpoint) -> None:
        """Let readers know of a checkpoint that is on disk."""
        self.log.allow_holes(checkpoint)

    def promise(self, group: CleanedGroup) -> Promised:
        """Promise a swap on disk: from here on a start completes it."""
        log = self.log
        with self._on_disk():
            self._held = [
                log.disk.open(f"{log.directory}/{segment_name(base_offset)}{LOG_SUFFIX}")
                for base_offset in group.base_offsets
            ]
            segment = cleaned_segment(
                log.disk,
                log.directory,
                group.base_offsets[0],
                group.size_bytes,
                group.max_timestamp,
                aborted=group.aborted,
            )
            swap = Swap(group.base_offsets, group.aborted)
            promise_swap(log.disk, log.directory, swap)
        return Promised(swap, segment)

    def swap(self, promised: Promised) -> bool:
        """Put the cleaned segment in place: the one step that readers could notice.

        Returns False where the log start has moved into these segments; `drop` is to follow.

        Raises:
            LogDirOffline: the disk refused, now or before. The next start completes the swap.
        """
        if not self.log.can_swap(promised.swap.base_offsets):
            return False
        self.log.swap(promised.swap, promised.segment)
        return True

    def end(self) -> None:
        """Make the swap durable, and drop its promise."""
        with self._on_disk():
            end_swap(self.log.disk, self.log.directory)
        self._let_go()

    def finish(self, clean_offset: int) -> CleanerCheckpoint:
        """Say on disk how far the log is clean; returns what to announce."""
        checkpoint = self.log.checkpoint._replace(clean_offset=clean_offset)
        with self._on_disk():
            write_checkpoint(self.log.disk, self.log.directory, checkpoint)
        return checkpoint

    def drop(self) -> None:
        """Take back what was promised and not swapped, and remove what was written."""
        self._let_go()
        log = self.log
        if log.disk.exists(log.directory):
            with self._on_disk():
                recall_swap(log.disk, log.directory)

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for file in held:
            file.close()

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        """Take the log directory offline where the disk refuses.

        Raises:
            FileNotFoundError: the topic was deleted meanwhile.
            LogDirOffline: the disk refused, now or before.
        """
        log = self.log
        with log.guard(f'compacting "{log.topic_partition}"'):
            yield
