"""Recover the state of a log from the files of a partition.

Everything before the recovery point is taken as it is. What follows is read batch by batch, and
the log ends before the first one that is not whole: cut off, with a wrong checksum, or not at
the offset that comes next. Such a tail was never acknowledged, because an acknowledgement waits
for a sync of all that comes before. The rest is synced before any client reads it.

A file that ends before the recovery point, a segment that is missing, or changed bytes followed by
whole batches (see `look_ahead`) are another matter: acknowledged records are gone, and the
partition is refused rather than served with a hole, or without its end.

The contents of the small files next to the segments are compared with the log and with each other.
What the log knows, too, is read there again if such a file is damaged; what it does not, is
refused.
"""

import logging
from dataclasses import dataclass, field
from typing import Final

from duolog.log.checkpoints.cleaner_checkpoint import (
    CHECKPOINT_FILE_NAME,
    CleanerCheckpoint,
    read_checkpoint,
)
from duolog.log.checkpoints.leader_epochs import LeaderEpochs
from duolog.log.checkpoints.log_start import read_log_start
from duolog.log.checkpoints.recovery_point import (
    EPOCHS_FILE_NAME,
    POINT_AT_CLOSE_BYTES,
    POINT_FILE_NAME,
    RecoveryPoint,
    read_recovery_point,
)
from duolog.log.data_directory.last_start import TO_GO_ON
from duolog.log.errors import CorruptLog, DamagedFile
from duolog.log.files.checked_file import read_checked
from duolog.log.files.disk import Disk
from duolog.log.producers.aborted_index import AbortedIndex
from duolog.log.producers.producer_state import ProducerStates, kept_batch
from duolog.log.recovery.epochs_rebuild import epochs_of
from duolog.log.recovery.look_ahead import damaged
from duolog.log.segments.aborted_rebuild import rebuild_aborted
from duolog.log.segments.batch_scan import BatchScan
from duolog.log.segments.index_builder import NO_TIMESTAMP, IndexBuilder, Place
from duolog.log.segments.segment import ABORTED_INDEX_SUFFIX, LOG_SUFFIX, SUFFIXES, Segment
from duolog.log.segments.segment_swap import is_left_over, recover_swap
from duolog.record.batch import BatchHeader
from duolog.record.control import decode_marker

logger = logging.getLogger(__name__)

_INDEX_NAMES: Final = {suffix[1:] for suffix in SUFFIXES if suffix != LOG_SUFFIX}


@dataclass(slots=True)
class Recovered:
    """The initial state of a `PartitionLog`."""

    segments: list[Segment]
    log_start_offset: int = 0
    next_offset: int = 0
    producers: ProducerStates = field(default_factory=ProducerStates)
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    max_timestamp: int = NO_TIMESTAMP
    max_timestamp_offset: int = 0
    scanned_segments: list[Segment] = field(default_factory=list)
    scanned_bytes: int = 0
    checkpoint: CleanerCheckpoint = field(default_factory=CleanerCheckpoint)


def recover(
    disk: Disk,
    directory: str,
    *,
    index_interval_bytes: int = 4096,
    clean: bool = False,
    killed: bool = False,
    synced: bool = True,
) -> Recovered:
    """Read the state of the log in `directory`; a directory that does not exist is an empty log.

    After a `clean` stop everything is synced already. If the broker was `killed` and the machine
    was not, all that was written is there: only the last write may be cut off. If durability is
    left to the system (`synced` is False), what a killed process left in the page cache is not
    synced either: ten gigabytes would take minutes, and no client was promised it.

    Raises:
        CorruptLog: bytes that were acknowledged are gone.
        OSError: the disk refused.
    """
    return _Recovery(
        disk, directory, index_interval_bytes, clean=clean, killed=killed, synced=synced
    ).run()


class _Recovery:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        index_interval_bytes: int,
        *,
        clean: bool,
        killed: bool,
        synced: bool,
    ) -> None:
        self._clean = clean
        self._killed = killed
        self._synced = synced
        self._disk = disk
        self._directory = directory
        self._interval = index_interval_bytes
        self._log_start = read_log_start(disk, directory)
        self._checkpoint = CleanerCheckpoint()
        self._producers = ProducerStates()
        self._epochs = LeaderEpochs()
        self._scanned: list[Segment] = []
        self._scanned_bytes = 0
        self._doomed: list[Segment] = []
        self._builder = IndexBuilder(0)
        self._aborted = AbortedIndex()

    def run(self) -> Recovered:
        recovered = self._read()
        for segment in self._doomed:
            segment.remove()
        return recovered

    def _read(self) -> Recovered:
        point = read_recovery_point(self._disk, self._directory)
        producers = ProducerStates.decode(point.producers) if point else None
        if point is None or producers is None:
            point = RecoveryPoint()
        else:
            self._producers = producers
        segments = self._list_segments(point)
        self._epochs = self._read_epochs(segments, point)
        if segments and segments[0].base_offset > self._log_start:
            self._ensure_never_acknowledged(segments[0])
            self._drop(segments, 0)
        if not segments:
            return self._empty(point)
        next_offset = self._scan(segments, point)
        if next_offset < self._log_start:
            if self._synced or self._is_written:
                raise self._lost(f"offsets {next_offset} to {self._log_start}, its log start")
            self._drop(segments, 0)
            return self._empty(RecoveryPoint())
        if self._checkpoint.holes_below > next_offset:
            raise DamagedFile(
                f"{self._directory}/{CHECKPOINT_FILE_NAME}",
                f"It is compacted up to {self._checkpoint.holes_below}, and ends at {next_offset}.",
            )
        self._epochs.cut(next_offset)
        self._epochs.advance_to(self._log_start)
        return Recovered(
            segments,
            max(self._log_start, segments[0].base_offset),
            next_offset,
            self._producers,
            self._epochs,
            self._builder.max_timestamp,
            self._builder.max_timestamp_offset,
            self._scanned,
            self._scanned_bytes,
            self._checkpoint,
        )

    @property
    def _is_written(self) -> bool:
        """True if all writes must still be there, because there was no power failure since."""
        return self._clean or self._killed

    def _ensure_never_acknowledged(self, first: Segment) -> None:
        # A crash may take the name of the very first segment, before its first commit. Later,
        # the segments before this one were durable.
        lost = f"the segments before {first.base_offset}"
        if self._disk.exists(f"{self._directory}/{POINT_FILE_NAME}"):
            raise self._lost(lost)
        if self._is_written:
            raise self._lost_writes(lost)

    def _empty(self, point: RecoveryPoint) -> Recovered:
        if point.next_offset > self._log_start:
            raise self._lost(f"offsets up to {point.next_offset}, and there is no segment")
        start = self._log_start
        self._epochs.cut(start)
        segment = Segment(self._disk, self._directory, start)
        return Recovered(
            [segment], start, start, self._producers, self._epochs, max_timestamp_offset=start
        )

    def _read_epochs(self, segments: list[Segment], point: RecoveryPoint) -> LeaderEpochs:
        """Return the epochs as of the recovery point, from the headers if their file is damaged."""
        epochs = None
        try:
            data = read_checked(self._disk, self._directory, EPOCHS_FILE_NAME)
            epochs = LeaderEpochs.decode(data or b"")
        except DamagedFile as error:
            logger.warning("read leader epochs from the log", extra={"reason": error.message})
        if epochs is not None or not point.next_offset:
            return epochs or LeaderEpochs()
        return epochs_of(segments, point.next_offset)

    def _read_checkpoint(self, point: RecoveryPoint) -> CleanerCheckpoint:
        """Return how far the log is compacted; only what a recovery point covers ever is."""
        try:
            return read_checkpoint(self._disk, self._directory)
        except DamagedFile as error:
            if not point.segment:
                raise
            logger.warning("a log is compacted again", extra={"reason": error.message})
            return CleanerCheckpoint(0, point.segment)

    def _list_segments(self, point: RecoveryPoint) -> list[Segment]:
        """Return the segments in order, without those that retention was about to remove.

        Those go at the end, when nothing was found that speaks against the log start.
        """
        segments = []
        names = self._disk.list(self._directory)
        if any(map(is_left_over, names)):
            recover_swap(self._disk, self._directory)
            names = self._disk.list(self._directory)
        if CHECKPOINT_FILE_NAME in names:
            self._checkpoint = self._read_checkpoint(point)
        for name in names:
            path = f"{self._directory}/{name}"
            stem, _, suffix = name.partition(".")
            if name.endswith(LOG_SUFFIX) and stem.isdigit():
                size = self._disk.size(path)
                segment = Segment(self._disk, self._directory, int(stem), size)
                segment.aborted_in_file = stem + ABORTED_INDEX_SUFFIX in names
                segments.append(segment)
            elif suffix in _INDEX_NAMES and stem + LOG_SUFFIX not in names:
                self._disk.remove(path)
        while len(segments) > 1 and segments[1].base_offset <= self._log_start:
            self._doomed.append(segments.pop(0))
        return segments

    def _scan(self, segments: list[Segment], point: RecoveryPoint) -> int:
        """Read the log after the recovery point and cut torn writes; return the log end."""
        first = next(
            (i for i, segment in enumerate(segments) if segment.base_offset >= point.segment),
            len(segments),
        )
        self._ensure_reaches(segments, first, point)
        next_offset = segments[first].base_offset
        for index in range(first, len(segments)):
            segment = segments[index]
            if index > first and not self._joins(next_offset, segment.base_offset):
                if self._is_written:
                    raise self._lost_writes(f"offsets {next_offset} to {segment.base_offset}")
                self._drop(segments, index)
                break
            whole, next_offset = self._scan_segment(segments, segment, point)
            if not whole:
                self._drop(segments, index + 1)
                break
        # What is small gets no recovery point at a stop, which would sync it.
        if not self._clean and (self._synced or self._scanned_bytes < POINT_AT_CLOSE_BYTES):
            self._sync_scanned()
        return next_offset

    def _joins(self, next_offset: int, base_offset: int) -> bool:
        """Return whether a segment may follow: at the next offset, or after a compaction's gap."""
        return (
            base_offset == next_offset or next_offset < base_offset <= self._checkpoint.holes_below
        )

    def _ensure_reaches(self, segments: list[Segment], first: int, point: RecoveryPoint) -> None:
        if first == len(segments):
            raise self._lost(f"segment {point.segment}")
        if point.next_offset <= self._log_start:
            return
        segment = segments[first]
        if segment.base_offset == point.segment and segment.size_bytes < point.position:
            raise self._lost(
                f"segment {point.segment} up to position {point.position}, "
                f"and it ends at {segment.size_bytes}"
            )
        if segment.base_offset > max(point.segment, self._log_start):
            raise self._lost(f"segment {point.segment}")

    def _lost(self, what: str, hint: str = "") -> CorruptLog:
        return CorruptLog(
            f'log in "{self._directory}" has lost acknowledged records',
            detail=f"What was synced is missing or changed: {what}.",
            hint=f"Restore the directory from a copy, or delete the topic.{hint}",
        )

    def _lost_writes(self, what: str) -> CorruptLog:
        """Return the refusal of what only a power failure could have taken."""
        since = (
            "" if self._clean else ", and the machine has not restarted since the broker was killed"
        )
        return self._lost(f"{what}{since}", TO_GO_ON)

    def _scan_segment(
        self, segments: list[Segment], segment: Segment, point: RecoveryPoint
    ) -> tuple[bool, int]:
        """Read one segment from the recovery point; returns whether it is whole, and its end."""
        position, next_offset = 0, segment.base_offset
        builder = self._builder = IndexBuilder(segment.base_offset, self._interval)
        saved = None
        if segment.base_offset == point.segment and point.position:
            position, next_offset = point.position, point.next_offset
            saved = self._resume(segment, builder, point)
        aborted_saved = self._resume_aborted(segments, segment, position, next_offset)
        scan = BatchScan(segment, position, next_offset, self._checkpoint.holes_below)
        for header, place in scan:
            builder.add(place)
            self._note(header, place, scan.batch)
        self._scanned_bytes += scan.position - position
        whole = scan.position == segment.size_bytes
        if not whole:
            if not self._clean:
                self._ensure_torn(segments, segment, scan)
            # A kill cuts off the last write at most, and a clean stop none.
            may_be_cut = not self._clean and segment is segments[-1] and scan.ends_within_batch
            if self._is_written and not may_be_cut:
                where = f"segment {segment.base_offset} after position {scan.position}"
                raise self._lost_writes(where)
            self._truncate(segment, scan.position)
        self._scanned.append(segment)
        builder.seal()
        segment.use_indexes(builder.offset_index, builder.time_index, from_disk=saved is not None)
        segment.use_aborted(self._aborted, aborted_saved)
        segment.max_timestamp = builder.max_timestamp
        if saved is not None:
            segment.index_entries_saved, segment.time_entries_saved = saved
        return whole, scan.next_offset

    def _resume(
        self, segment: Segment, builder: IndexBuilder, point: RecoveryPoint
    ) -> tuple[int, int] | None:
        """Begin with the indexes of what lies before the recovery point, rebuilt if need be."""
        indexes = segment.read_indexes()
        if indexes is not None:
            indexes[0].cut(point.position)
            indexes[1].cut(point.next_offset - segment.base_offset)
        if indexes is None or not segment.is_right_end(*indexes, point.position):
            for place in segment.places(0, point.position):
                builder.add(place)
            return None
        builder.resume(*indexes)
        return len(indexes[0]), len(indexes[1])

    def _resume_aborted(
        self, segments: list[Segment], segment: Segment, position: int, next_offset: int
    ) -> int:
        """Begin with the aborted transactions before the recovery point; returns how many."""
        self._aborted = AbortedIndex()
        if not position or not segment.aborted_in_file:
            return 0
        saved = segment.read_aborted()
        if saved is None:
            self._aborted = rebuild_aborted(segments, segment, end=position)
            return 0
        # What follows the point in the file may speak of markers that a crash took.
        saved.cut(next_offset)
        self._aborted = saved
        return len(saved)

    def _note(self, header: BatchHeader, place: Place, batch: memoryview) -> None:
        self._epochs.begin(header.partition_leader_epoch, place.base_offset)
        if header.producer_id < 0:
            return
        if header.control:
            self._note_marker(header, place, batch)
            return
        if header.transactional:
            self._producers.transactions.note_batch(
                header.producer_id, place.base_offset, transactional=True
            )
        if header.base_sequence < 0:
            self._producers.note_epoch(header.producer_id, header.producer_epoch)
            return
        kept = kept_batch(
            header.base_sequence, header.last_offset_delta, place.base_offset, place.max_timestamp
        )
        self._producers.note(header.producer_id, header.producer_epoch, kept)

    def _note_marker(self, header: BatchHeader, place: Place, batch: memoryview) -> None:
        marker = decode_marker(batch)
        if marker is None:
            return
        ended = self._producers.note_marker(
            header.producer_id,
            header.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp_ms=place.max_timestamp,
            offset=place.last_offset,
        )
        if ended is not None and not marker.commit:
            self._aborted.append(header.producer_id, ended)

    def _ensure_torn(self, segments: list[Segment], segment: Segment, scan: BatchScan) -> None:
        following = damaged(segments[segments.index(segment) :], scan.position, scan.next_offset)
        if following is None:
            return
        raise CorruptLog(
            f'log in "{self._directory}" is damaged at offset {scan.next_offset}',
            detail=f"Segment {segment.base_offset} has no whole record batch at position "
            f"{scan.position}, and whole ones follow from offset {following.base_offset} on.",
            hint="Restore the directory from a copy, or delete the topic. To keep the records "
            f"before the damage: stop the broker, cut the file at position {scan.position}, and "
            "remove the segments after it and the files clean-shutdown and last-start.",
        )

    def _truncate(self, segment: Segment, size_bytes: int) -> None:
        logger.warning(
            "cut the torn tail of a segment",
            extra={
                "segment": segment.path,
                "position": size_bytes,
                "bytes": segment.size_bytes - size_bytes,
            },
        )
        segment.file.truncate(size_bytes)
        segment.size_bytes = size_bytes

    def _drop(self, segments: list[Segment], index: int) -> None:
        """Remove the segments from `index` on: they follow a torn one, or do not join it."""
        for segment in segments[index:]:
            logger.warning(
                "removed a segment after a torn one",
                extra={"segment": segment.path, "bytes": segment.size_bytes},
            )
            segment.remove()
        del segments[index:]

    def _sync_scanned(self) -> None:
        # A killed process leaves records, and the names of their files, in the page cache only.
        # They are served and built upon from now on, so they must not vanish with the power later.
        for segment in self._scanned:
            segment.file.sync()
        self._disk.sync_dir(self._directory)
