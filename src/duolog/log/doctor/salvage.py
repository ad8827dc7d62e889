"""Copy all whole record batches of a data directory to a new one, and list the lost offsets.

    DIR (read only) ──► journal and compactions completed in memory ──► batches ──► OUT

Batches keep their bytes and offsets. A leader epoch that no broker can have written, which the
checksum does not cover, is replaced by the one before it. Where offsets are missing, the file
`cleaner-checkpoint` of the new log says so, as after a compaction: a broker starts on it, and
consumers skip the hole. The new directory has no indexes and no recovery points; the first start
reads the logs as a whole.

Thread: one.
"""

import base64
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from duolog.core.counts import counted
from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint, write_checkpoint
from duolog.log.checkpoints.log_start import write_log_start
from duolog.log.data_directory.data_dir import FORMAT_VERSION
from duolog.log.data_directory.topics import NAME_PREFIX, TOPIC_FILE_NAME, TopicEntry
from duolog.log.doctor.batch_state import BatchState
from duolog.log.doctor.batch_walk import BatchWalk, Gap, Whole
from duolog.log.doctor.examination import quiet, replayed
from duolog.log.doctor.finding import Findings
from duolog.log.doctor.partition_files import PartitionFiles
from duolog.log.doctor.root_files import KEPT_FILES, LEADER_EPOCH, META, RootFiles, meta_lines
from duolog.log.doctor.topic_files import Topic, check_topics
from duolog.log.errors import DamagedFile, DataDirRefused
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk, DiskFile, make_durable_dir
from duolog.log.segments.segment import LOG_SUFFIX, segment_name
from duolog.log.segments.segment_swap import is_left_over, recover_swap
from duolog.record.batch import patch_batch

_WRITE_BYTES: Final = 4 * 1024 * 1024


class LostRange(NamedTuple):
    """Offsets of a partition that are not in the copy; `next_offset` is None if it is unknown.

    They are missing on disk, or in bytes that are no longer whole batches.
    """

    topic: str
    partition: int
    first_offset: int
    next_offset: int | None
    reason: str


@dataclass(slots=True)
class Salvaged:
    """The result: how much was copied, what was lost, and what to know about the copy."""

    topics: int = 0
    partitions: int = 0
    batches: int = 0
    bytes: int = 0
    lost: list[LostRange] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def salvage(disk: Disk, data_dir: str, out_disk: Disk, out: str) -> Salvaged:
    """Copy what is whole in `data_dir` to the new data directory `out`.

    Raises:
        DataDirRefused: `out` is not empty, or `data_dir` is not a data directory.
        OSError: a disk refused.
    """
    if out_disk.list(out):
        raise DataDirRefused(
            f'directory "{out}" is not empty',
            detail="A salvage writes a whole new data directory.",
            hint="Name a directory that is empty or does not exist.",
        )
    with quiet():
        return _Salvage(disk, data_dir, out_disk, out).run()


class _Salvage:
    def __init__(self, disk: Disk, data_dir: str, out_disk: Disk, out: str) -> None:
        self._data_dir = data_dir
        self._out_disk = out_disk
        self._out = out
        self._root = RootFiles(disk, data_dir, Findings())
        self._disk = replayed(disk, data_dir)
        self._topics = check_topics(self._disk, data_dir, Findings())
        self._ends = self._root.ends
        self._latest_epoch = -1
        self.result = Salvaged()

    def run(self) -> Salvaged:
        make_durable_dir(self._out_disk, self._out)
        for topic in self._topics:
            self._copy_topic(topic)
        self._copy_root()
        return self.result

    def _copy_root(self) -> None:
        """Write the files at the top last: a directory without them is refused by a start."""
        for name in KEPT_FILES:
            try:
                data = read_checked(self._disk, self._data_dir, name)
            except DamagedFile:
                self.result.remarks.append(f"{name} is damaged and was left out")
                continue
            if data is not None:
                write_checked(self._out_disk, self._out, name, data)
        epoch = self._root.leader_epoch
        if epoch == RootFiles.UNKNOWN_EPOCH:
            epoch = self._latest_epoch
            self.result.remarks.append(
                f"leader-epoch is damaged: {epoch} is the latest in the copied record batches"
            )
        write_checked(self._out_disk, self._out, LEADER_EPOCH, b"%d\n" % max(epoch, 0))
        meta = meta_lines(self._disk, self._data_dir)
        if meta is None:
            meta = {"cluster.id": _new_cluster_id(), "node.id": "0"}
            self.result.remarks.append(
                f"{META} is damaged: the copy has the new cluster id {meta['cluster.id']}"
            )
        lines = (
            f"format.version={FORMAT_VERSION}",
            f"cluster.id={meta['cluster.id']}",
            f"node.id={meta['node.id']}",
            "",
        )
        write_checked(self._out_disk, self._out, META, "\n".join(lines).encode())

    def _copy_topic(self, topic: Topic) -> None:
        entry = topic.entry
        if entry is None:
            count = max(topic.partitions, default=0) + 1
            entry = TopicEntry(topic.name, topic.id, count)
            self.result.remarks.append(
                f'the description of topic "{topic.name}" is damaged: the copy has '
                f"{count} partitions and no configs"
            )
        directory = f"{self._out}/{topic.path}"
        make_durable_dir(self._out_disk, directory)
        self._out_disk.open(f"{directory}/{NAME_PREFIX}{entry.name}", create=True).close()
        self._out_disk.sync_dir(directory)
        for partition in topic.partitions:
            if partition < entry.partitions:
                self._copy_partition(topic, entry.name, partition)
        write_checked(self._out_disk, directory, TOPIC_FILE_NAME, entry.encode())
        self.result.topics += 1

    def _copy_partition(self, topic: Topic, name: str, partition: int) -> None:
        source = f"{self._data_dir}/{topic.path}/{partition}"
        try:
            if any(map(is_left_over, self._disk.list(source))):
                recover_swap(self._disk, source)
        except DamagedFile:
            self.result.remarks.append(
                f'partition "{name}-{partition}" has an interrupted compaction that is damaged'
            )
        target = f"{self._out}/{topic.path}/{partition}"
        copy = _PartitionCopy(self._disk, source, self._out_disk, target, self._root.leader_epoch)
        end = self._ends.get((str(topic.id), partition), 0)
        for gap in copy.run(end):
            lost = LostRange(name, partition, gap.first_offset, gap.next_offset, gap.reason)
            self.result.lost.append(lost)
        for producer_id, offset in copy.undecided():
            self.result.remarks.append(
                f'partition "{name}-{partition}": the transaction of producer {producer_id} is '
                f"open since offset {offset}; its marker may be in a lost range"
            )
        if copy.changed_epochs:
            self.result.remarks.append(
                f'partition "{name}-{partition}": '
                f"{counted(copy.changed_epochs, 'record batch', 'record batches')} had an "
                "impossible leader epoch, which was replaced"
            )
        self._latest_epoch = max(self._latest_epoch, copy.state.epochs.latest)
        self.result.partitions += 1
        self.result.batches += copy.batches
        self.result.bytes += copy.bytes


class _PartitionCopy:
    """Copies one partition."""

    def __init__(
        self, disk: Disk, source: str, out_disk: Disk, target: str, leader_epoch: int
    ) -> None:
        self._disk = disk
        self._source = source
        self._out_disk = out_disk
        self._target = target
        self._leader_epoch = leader_epoch
        self.changed_epochs = 0
        self.state = BatchState()
        self.batches = self.bytes = 0
        self._gaps: list[Gap] = []
        self._next: int | None = None
        self._first: int | None = None
        self._holes_below = 0
        self._copied_end = 0

    def run(self, end: int) -> list[Gap]:
        """Copy it; `end` is the log end offset that a stop or start has noted, or 0."""
        files = PartitionFiles(self._disk, self._source)
        self._holes_below = files.checkpoint.holes_below
        compacted_below = self._holes_below
        self._next = files.log_start if files.segments else None
        make_durable_dir(self._out_disk, self._target)
        for index, base_offset in enumerate(files.segments):
            following = files.segments[index + 1 :]
            bound = following[0] if following else None
            self._copy_segment(base_offset, bound, compacted_below)
        found = self._next if self._next is not None else files.log_start
        if found < end:
            reason = "the log ends before the end that a stop or start has noted"
            if self._gaps and self._gaps[-1].next_offset is None:
                reason = self._gaps.pop().reason
            self._lose(found, end, reason)
        holes = CleanerCheckpoint(0, min(self._holes_below, self._copied_end))
        if holes.holes_below:
            write_checkpoint(self._out_disk, self._target, holes)
        start = max(files.log_start, self._first or 0)
        if start:
            write_log_start(self._out_disk, self._target, start)
        self._out_disk.sync_dir(self._target)
        return self._gaps

    def undecided(self) -> list[tuple[int, int]]:
        """Return open transactions whose marker may be lost: producer id and first offset."""
        last_lost = max((gap.first_offset for gap in self._gaps), default=-1)
        open_now = self.state.producers.transactions.open
        return [item for item in open_now.items() if item[1] <= last_lost]

    def _copy_segment(self, base_offset: int, bound: int | None, compacted_below: int) -> None:
        expected = self._next
        if expected is not None and expected < base_offset and base_offset > compacted_below:
            self._lose(expected, base_offset, "no segment holds these offsets")
        name = segment_name(base_offset) + LOG_SUFFIX
        file = self._disk.open(f"{self._source}/{name}")
        walk = BatchWalk(file, base_offset, holes_below=compacted_below, bound=bound)
        writer = _Writer(self._create)
        for item in walk:
            if isinstance(item, Gap):
                self._meet_gap(item)
            elif self._next is None or item.header.next_offset > self._next:
                self._meet(item, writer, base_offset)
        writer.close()
        if self._next is None or walk.next_offset > self._next:
            self._next = walk.next_offset

    def _create(self, first_offset: int) -> DiskFile:
        path = f"{self._target}/{segment_name(first_offset)}{LOG_SUFFIX}"
        return self._out_disk.open(path, create=True)

    def _meet(self, whole: Whole, writer: "_Writer", base_offset: int) -> None:
        if self._first is None:
            self._first = base_offset = whole.header.base_offset
        batch = bytearray(whole.data)
        header = whole.header
        if header.partition_leader_epoch > self._leader_epoch:
            # No broker can have written it, and none would start on it.
            epoch = max(self.state.epochs.latest, 0)
            header = header._replace(partition_leader_epoch=epoch)
            patch_batch(batch, header.base_offset, epoch)
            self.changed_epochs += 1
        writer.write(base_offset, bytes(batch))
        self.state.meet(header, batch)
        self.batches += 1
        self.bytes += len(whole.data)
        self._next = self._copied_end = whole.header.next_offset

    def _meet_gap(self, gap: Gap) -> None:
        if self._next is not None and gap.next_offset is not None and gap.next_offset <= self._next:
            return  # Deleted records, or offsets that another segment has.
        if gap.next_offset is None:
            self._gaps.append(gap)
            return
        self._lose(max(gap.first_offset, self._next or 0), gap.next_offset, gap.reason)
        self._next = gap.next_offset

    def _lose(self, first: int, following: int, reason: str) -> None:
        self._gaps.append(Gap(0, 0, first, following, reason))
        if self._first is not None:  # Before the first batch, the log start says so.
            self._holes_below = max(self._holes_below, following + 1)


class _Writer:
    """Writes the batches of one segment; the file is created with the first one."""

    def __init__(self, create: Callable[[int], DiskFile]) -> None:
        self._create = create
        self._file: DiskFile | None = None
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    def write(self, base_offset: int, batch: bytes) -> None:
        if self._file is None:
            self._file = self._create(base_offset)
        self._waiting.append(batch)
        self._waiting_bytes += len(batch)
        if self._waiting_bytes >= _WRITE_BYTES:
            self._flush()

    def _flush(self) -> None:
        assert self._file is not None
        self._file.append(self._waiting)
        self._waiting, self._waiting_bytes = [], 0

    def close(self) -> None:
        if self._file is not None:
            self._flush()
            self._file.sync()
            self._file.close()


def _new_cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
