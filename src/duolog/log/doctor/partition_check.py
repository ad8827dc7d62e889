"""Verify the log of one partition: every batch, and the files that follow from the batches.

    segments      every checksum, the order of offsets and of leader epochs
    indexes       below the recovery point, where a start relies on them
    small files   their own checksum, then their content against the batches
    records       of the topics that the caller has a decoder for

A gap after the recovery point that a power failure explains is a note: nothing in it was
acknowledged, and the next start removes it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from duolog.core.errors import DuologError
from duolog.log.doctor import rebuilds
from duolog.log.doctor.batch_state import BatchState
from duolog.log.doctor.batch_walk import BatchWalk, Gap, Whole
from duolog.log.doctor.derived_files import Kept, aborted_problem, snapshot_problem
from duolog.log.doctor.finding import Finding, Findings, Place, Repair, Severity
from duolog.log.doctor.index_check import IndexCheck, IndexFiles
from duolog.log.doctor.partition_files import PartitionFiles
from duolog.log.files.disk import Disk, DiskFile, read_file
from duolog.log.producers.aborted_index import ABORTED_ENTRY_BYTES, AbortedIndex
from duolog.log.producers.producer_state import ProducerStates
from duolog.log.recovery.look_ahead import is_cut, is_torn
from duolog.log.segments.segment import (
    ABORTED_INDEX_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    segment_name,
)
from duolog.record.records import decode_records

Decode = Callable[[bytes | None, bytes | None], object]
"""Decodes a record of an internal topic. Raises DuologError or ValueError if it cannot be."""

_FINDINGS_MAX: Final = 100
"""Findings of one kind in one segment: a log of another program would give one for each batch."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A partition to verify.

    Attributes:
        served: the rehearsed start serves it.
        clean: the last broker was stopped in order. After a kill, the last write may be cut off.
        settled: no power failure can have torn a write.
    """

    directory: str
    path: str
    topic: str
    partition: int
    leader_epoch: int
    index_interval_bytes: int = 4096
    decode: Decode | None = None
    served: bool = True
    clean: bool = True
    settled: bool = True


class Counts(NamedTuple):
    """The amount of data that was verified."""

    partitions: int = 0
    segments: int = 0
    batches: int = 0
    bytes: int = 0

    def plus(self, other: "Counts") -> "Counts":
        return Counts(*map(sum, zip(self, other, strict=True)))


class _Torn(Exception):
    """The rest of the log goes at the next start."""


@dataclass(slots=True)
class _SegmentFiles:
    base_offset: int
    bound: int | None
    sealed: bool
    at_point: bool
    indexes: IndexCheck | None = None
    index_end: tuple[int, int] | None = None
    decode_failures: int = field(default=0)


class PartitionCheck:
    """One run over the files of a partition."""

    def __init__(self, disk: Disk, subject: Subject, findings: Findings) -> None:
        self._disk = disk
        self._subject = subject
        self._findings = findings
        self._rebuildable: list[Finding] = []
        self._damaged = False
        self._state = BatchState()
        self._segments = self._batches = self._bytes = 0
        self._next_offset: int | None = None
        self._first_offset: int | None = None
        self._last_epoch = -1
        self._at_point: tuple[ProducerStates, bytes] | None = None

    def run(self) -> Counts:
        """Verify everything; returns how much there was."""
        self._files = PartitionFiles(self._disk, self._subject.directory)
        segments = self._files.segments
        for name, problem in self._files.damaged.items():
            self._damage(name, problem)
        for base_offset in self._files.doomed:
            name = segment_name(base_offset) + LOG_SUFFIX
            self._note(name, "all of its records are deleted; the next start removes it")
        try:
            self._check_first(segments)
            for index, base_offset in enumerate(segments):
                bound = segments[index + 1] if index + 1 < len(segments) else None
                self._check_segment(base_offset, bound)
            self._check_end()
        except _Torn:
            pass
        self._check_small_files()
        self._report_rebuildable()
        return Counts(1, self._segments, self._batches, self._bytes)

    # Segments

    def _check_segment(self, base_offset: int, bound: int | None) -> None:
        self._check_join(base_offset)
        point = self._files.point
        path = f"{self._subject.directory}/{segment_name(base_offset)}"
        file = self._disk.open(path + LOG_SUFFIX)
        segment = _SegmentFiles(
            base_offset, bound, base_offset < point.segment, base_offset == point.segment
        )
        if segment.sealed or (segment.at_point and point.position):
            segment.index_end = None if segment.sealed else (point.position, point.next_offset)
            files = IndexFiles(
                read_file(self._disk, path + INDEX_SUFFIX),
                read_file(self._disk, path + TIME_INDEX_SUFFIX),
            )
            segment.indexes = IndexCheck(base_offset, files, segment.index_end)
        self._state.begin_segment()
        if segment.at_point and not point.position:
            self._note_point()
        self._walk(segment, file)
        if segment.at_point and point.position == file.size_bytes:
            self._note_point()
        self._check_indexes(segment)
        self._check_aborted(segment)
        self._segments += 1
        self._bytes += file.size_bytes

    def _check_first(self, segments: list[int]) -> None:
        start = self._files.log_start
        if not segments or segments[0] <= start:
            return
        name = segment_name(segments[0]) + LOG_SUFFIX
        problem = f"offsets {start} to {segments[0] - 1} are missing before this segment"
        if self._may_be_torn:  # Before the first recovery point, a crash may take the first name.
            self._note(name, f"{problem}; the next start removes all segments", start)
            raise _Torn
        self._damage(name, problem, start)

    def _check_join(self, base_offset: int) -> None:
        expected = self._next_offset
        self._next_offset = base_offset
        if expected is None or base_offset == expected:
            return
        if expected < base_offset <= self._files.checkpoint.holes_below:
            return
        problem = f"offsets {expected} to {base_offset - 1} are missing before this segment"
        if base_offset < expected:
            problem = f"segment begins at {base_offset}, before the end {expected} of the last one"
        name = segment_name(base_offset) + LOG_SUFFIX
        after_point = base_offset > self._files.point.segment
        if self._may_be_torn and after_point and base_offset > expected:
            self._note(name, f"{problem}; the next start removes it", expected)
            raise _Torn
        self._damage(name, problem, min(expected, base_offset))

    @property
    def _may_be_torn(self) -> bool:
        return self._subject.served and not self._subject.settled

    def _walk(self, segment: _SegmentFiles, file: DiskFile) -> None:
        name = segment_name(segment.base_offset) + LOG_SUFFIX
        holes = self._files.checkpoint.holes_below
        walk = BatchWalk(file, segment.base_offset, holes_below=holes, bound=segment.bound)
        for item in walk:
            if isinstance(item, Gap):
                self._meet_gap(name, segment, file, item)
            else:
                self._meet(name, segment, item)
        self._next_offset = walk.next_offset

    def _meet_gap(self, name: str, segment: _SegmentFiles, file: DiskFile, gap: Gap) -> None:
        point = self._files.point
        place = (segment.base_offset, gap.position)
        if place == (point.segment, point.position) and gap.position:
            self._note_point()
        not_stopped = self._subject.served and not self._subject.clean
        if not_stopped and place >= (point.segment, point.position):
            data = file.pread(gap.position, file.size_bytes - gap.position)
            cut = gap.end == file.size_bytes and is_cut(data)
            size = gap.end - gap.position
            torn = not size or is_torn(data, gap.position, size, gap.first_offset)
            if cut or (self._may_be_torn and torn):
                left = file.size_bytes - gap.position
                rest = "" if segment.bound is None else " and removes the segments after it"
                self._note(
                    name,
                    f"a power failure or a kill interrupted a write; the next start cuts the last "
                    f"{left} bytes{rest}",
                    gap.first_offset,
                    gap.position,
                )
                raise _Torn
        lost = f"offsets from {gap.first_offset} on"
        if gap.next_offset is not None:
            lost = f"offsets {gap.first_offset} to {gap.next_offset - 1}"
        if gap.next_offset == gap.first_offset:
            lost = "no offset"
        size = gap.end - gap.position
        self._damage(name, f"{gap.reason}; {lost} in {size} bytes", gap.first_offset, gap.position)

    def _meet(self, name: str, segment: _SegmentFiles, whole: Whole) -> None:
        header, point = whole.header, self._files.point
        if self._first_offset is None:
            self._first_offset = header.base_offset
        if segment.at_point and point.position and whole.position == point.position:
            self._note_point()
        self._state.meet(header, whole.data)
        if segment.indexes is not None:
            in_range = segment.index_end is None or whole.position < segment.index_end[0]
            if in_range:
                segment.indexes.meet(header, whole.position)
        self._check_epoch(name, whole)
        if self._subject.decode is not None and not header.control:
            self._check_records(name, segment, whole)
        self._batches += 1

    def _check_epoch(self, name: str, whole: Whole) -> None:
        header, files = whole.header, self._files
        epoch = header.partition_leader_epoch
        problem = ""
        if epoch < self._last_epoch:
            problem = f"leader epoch {epoch} follows {self._last_epoch}"
        elif epoch > self._subject.leader_epoch:
            problem = f"leader epoch {epoch} is above {self._subject.leader_epoch}, the directory's"
        elif (
            files.epochs is not None
            and files.log_start <= header.base_offset < files.point.next_offset
        ):
            expected = files.epochs.epoch_at(header.base_offset)
            # Epochs are saved with a recovery point; if it is damaged, later ones are not there.
            saved = files.has_point or epoch <= files.epochs.latest
            if saved and expected not in (-1, epoch):
                problem = f"leader epoch {epoch} is {expected} in leader-epoch-checkpoint"
        if problem:
            self._damage(name, problem, header.base_offset, whole.position)
        else:
            self._last_epoch = epoch

    def _check_records(self, name: str, segment: _SegmentFiles, whole: Whole) -> None:
        assert self._subject.decode is not None
        offset = whole.header.base_offset
        try:
            for record in decode_records(whole.data):
                offset = record.offset
                self._subject.decode(record.key, record.value)
        except (DuologError, ValueError) as error:
            segment.decode_failures += 1
            if segment.decode_failures <= _FINDINGS_MAX:
                problem = f"record cannot be decoded: {error}"
                self._damage(name, problem, offset, whole.position)

    def _check_end(self) -> None:
        files, end = self._files, self._next_offset
        if not files.segments:
            if files.point.next_offset > files.log_start:
                self._damage("recovery-point", "there is no segment", files.log_start)
            return
        assert end is not None
        if end < files.log_start:
            self._damage(
                "log-start-offset", f"the log ends at {end}, before its start {files.log_start}"
            )
        if files.checkpoint.holes_below > end:
            self._damage(
                "cleaner-checkpoint",
                f"the log is compacted up to {files.checkpoint.holes_below}, and ends at {end}",
            )

    # Files that follow from the batches

    def _note_point(self) -> None:
        epochs = type(self._state.epochs).decode(self._state.epochs.encode())
        assert epochs is not None
        epochs.advance_to(self._files.log_start)
        copy = ProducerStates.decode(self._state.producers.encode())
        assert copy is not None
        self._at_point = (copy, epochs.encode())

    def _check_indexes(self, segment: _SegmentFiles) -> None:
        if segment.indexes is None:
            return
        for of_times, problem in segment.indexes.problems():
            suffix = TIME_INDEX_SUFFIX if of_times else INDEX_SUFFIX
            self._rebuild(
                segment_name(segment.base_offset) + suffix,
                problem,
                rebuilds.index(
                    self._subject.directory,
                    segment.base_offset,
                    suffix,
                    self._subject.index_interval_bytes,
                    segment.index_end and segment.index_end[0],
                ),
            )

    def _check_aborted(self, segment: _SegmentFiles) -> None:
        point = self._files.point
        if not segment.sealed and not (segment.at_point and point.position):
            return
        name = segment_name(segment.base_offset) + ABORTED_INDEX_SUFFIX
        path = f"{self._subject.directory}/{name}"
        expected = self._state.aborted
        data = read_file(self._disk, path) or b""
        found = AbortedIndex.decode(data, segment.base_offset)
        if not segment.sealed:
            expected.cut(point.next_offset)
            if found is None:  # A crash may leave bytes of any kind after the saved entries.
                saved = data[: len(expected) * ABORTED_ENTRY_BYTES]
                found = AbortedIndex.decode(saved, segment.base_offset)
            if found is not None:
                found.cut(point.next_offset)
        problem = aborted_problem(
            found, expected, self._state.aborts, self._state.first_markers, self._kept
        )
        if problem:
            data = expected.encode()
            self._rebuild(name, problem, rebuilds.content(self._subject.directory, name, data))

    @property
    def _kept(self) -> Kept:
        compacted = self._files.checkpoint.holes_below > 0
        return Kept(self._first_offset or 0, compacted)

    def _check_small_files(self) -> None:
        files, directory = self._files, self._subject.directory
        if files.checkpoint_problem:
            holes = files.checkpoint.holes_below
            self._rebuild(
                "cleaner-checkpoint",
                files.checkpoint_problem,
                rebuilds.cleaner_checkpoint(directory, holes),
            )
        point_problem = files.point_problem or self._point_problem()
        if self._at_point is None and (point_problem or files.epochs_problem):
            # Only a scan up to the point can write these; there is nothing to lose before it.
            missing = [] if not files.point_problem else ["recovery-point"]
            if files.epochs_problem:
                missing.append("leader-epoch-checkpoint")
            for name in missing:
                problem = files.point_problem or files.epochs_problem
                self._rebuild(name, problem, rebuilds.removal(directory, name))
            if point_problem and not files.point_problem:
                self._damage("recovery-point", point_problem)
            return
        if self._at_point is None:
            return
        producers, epochs = self._at_point
        if point_problem:
            last = files.point
            encoded = last.__class__(
                last.segment, last.position, last.next_offset, producers.encode()
            ).encode()
            repair = rebuilds.recovery_point(directory, encoded, epochs)
            self._rebuild("recovery-point", point_problem, repair)
        if files.epochs_problem:
            repair = rebuilds.checked(directory, "leader-epoch-checkpoint", epochs)
            self._rebuild("leader-epoch-checkpoint", files.epochs_problem, repair)

    def _point_problem(self) -> str:
        """Return how the recovery point differs from the log at its position."""
        files = self._files
        if not files.has_point:
            return ""
        if self._at_point is None:
            if self._damaged or files.point.next_offset <= files.log_start:
                return ""
            return f"no record batch begins at its position {files.point.position}"
        kept = self._kept._replace(compacted=self._kept.compacted or self._damaged)
        return snapshot_problem(files.point.producers, self._at_point[0], kept)

    # Findings

    def _place(self, name: str, offset: int | None = None, position: int | None = None) -> Place:
        subject = self._subject
        return Place(f"{subject.path}/{name}", subject.topic, subject.partition, offset, position)

    def _damage(
        self, name: str, problem: str, offset: int | None = None, position: int | None = None
    ) -> None:
        self._damaged = True
        self._findings.damage(self._place(name, offset, position), problem)

    def _note(
        self, name: str, problem: str, offset: int | None = None, position: int | None = None
    ) -> None:
        self._findings.note(self._place(name, offset, position), problem)

    def _rebuild(self, name: str, problem: str, repair: Repair) -> None:
        self._rebuildable.append(Finding(Severity.REBUILDABLE, self._place(name), problem, repair))

    def _report_rebuildable(self) -> None:
        """Add what can be rebuilt; without a repair if the batches themselves are damaged."""
        for finding in self._rebuildable:
            repairable = not self._damaged and not self._files.swapping
            self._findings.add(
                finding if repairable else Finding(finding.severity, finding.place, finding.problem)
            )
