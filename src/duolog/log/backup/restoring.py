"""Restore a backup to a new data directory, and verify backups.

Segments get the bytes and offsets that they had. Indexes and recovery points are not in a backup:
the first start reads the logs as a whole, and builds them. It finds the mark of a clean stop with
the end of each log, and refuses a log that does not reach its end.

    leader epoch    far above that of the backup: the lost broker may have used the next ones, and
                    a client that has seen them notices that the log was truncated; partly random,
                    so that two restores of one backup hardly ever use the same
    producer ids    above all that the lost broker can have assigned, and apart from those of
                    another restore
    cluster id      kept, because clients, registries and checkpoints know it; or new

The file `.restoring` is there, and locked, until all is written, and `meta.properties` is written
last. A broker refuses what an interrupted restore leaves, and the next restore starts over.

Thread: one.
"""

import base64
import secrets
import uuid
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final

from duolog.log.backup.copies import Copy, Piece
from duolog.log.backup.manifest import Manifest, PartitionCopy
from duolog.log.backup.packs import PackReader
from duolog.log.backup.repository import Repository
from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint, write_checkpoint
from duolog.log.checkpoints.log_start import write_log_start
from duolog.log.data_directory.data_dir import FORMAT_VERSION
from duolog.log.data_directory.topics import NAME_PREFIX, TOPIC_FILE_NAME
from duolog.log.doctor.root_files import CLEAN_SHUTDOWN, LEADER_EPOCH, META, PRODUCER_IDS
from duolog.log.errors import BackupDamaged, BackupRefused
from duolog.log.files.checked_file import write_checked
from duolog.log.files.disk import DirLock, Disk, make_durable_dir
from duolog.log.segments.segment import LOG_SUFFIX, segment_name

EPOCHS_AHEAD: Final = 1000
"""Number of starts after a backup before a restored broker could use a leader epoch again."""
_RESTORES: Final = 1000
_STARTS_BETWEEN: Final = 16
"""Number of starts before one of two restores could use a leader epoch of the other."""
_UNFINISHED: Final = ".restoring"
_BROKERS: Final = ("", "broker")
"""Where a broker's files can be in a data directory; see `Manifest.broker`."""
_EPOCH_SHIFT: Final = 40
"""Producer ids of a start without the file begin there, see `producer_ids`."""


def restore(
    repository: Repository,
    manifest: Manifest,
    disk: Disk,
    target: str,
    *,
    new_cluster: bool = False,
) -> None:
    """Write a backup to `target`, which is missing, empty, or left by an interrupted restore.

    Raises:
        BackupRefused: `target` contains something, or another restore to it is running.
        BackupDamaged: bytes of the backup are missing or changed; nothing usable was written.
        OSError: a disk refused.
    """
    found = set(disk.list(target))
    if found and _UNFINISHED not in found:
        raise _not_empty(target, found)
    _ensure_not_complete(disk, target, found)
    make_durable_dir(disk, target)
    lock = _take_lock(disk, target)
    try:
        disk.sync_dir(target)
        _ensure_not_complete(disk, target, found)  # Another restore may have been, meanwhile.
        for name in found - {_UNFINISHED}:  # Of a restore that was interrupted.
            _remove(disk, f"{target}/{name}")
        _Restore(repository, manifest, disk, target, new_cluster=new_cluster).run()
        disk.remove(f"{target}/{_UNFINISHED}")
        disk.sync_dir(target)
    finally:
        lock.release()


def _take_lock(disk: Disk, target: str) -> DirLock:
    try:
        return disk.lock(f"{target}/{_UNFINISHED}")
    except BlockingIOError:
        raise BackupRefused(
            f'another restore to "{target}" is running', hint="Wait until it is complete."
        ) from None


def _ensure_not_complete(disk: Disk, target: str, found: Set[str]) -> None:
    if any(disk.exists(f"{_under(target, broker)}/{META}") for broker in _BROKERS):
        raise _not_empty(target, found)


def _not_empty(target: str, found: Set[str]) -> BackupRefused:
    return BackupRefused(
        f'directory "{target}" is not empty',
        detail=f'It holds "{min(found - {_UNFINISHED}, default=_UNFINISHED)}".',
        hint="Name a directory that is empty or does not exist.",
    )


def _remove(disk: Disk, path: str) -> None:
    try:
        disk.remove(path)
    except (IsADirectoryError, PermissionError):  # macOS says the second.
        disk.remove_tree(path)


class _Restore:
    def __init__(
        self,
        repository: Repository,
        manifest: Manifest,
        disk: Disk,
        target: str,
        *,
        new_cluster: bool,
    ) -> None:
        self._reader = PackReader(repository.disk, repository.directory)
        self._manifest = manifest
        self._disk = disk
        self._target = target
        self._broker = _under(target, manifest.broker)
        self._new_cluster = new_cluster

    def run(self) -> None:
        try:
            make_durable_dir(self._disk, self._broker)
            self._write_topics()
            for partition in self._manifest.partitions:
                self._write_partition(partition)
            for path, copy in self._manifest.files.items():
                parent = f"{self._target}/{path}".rpartition("/")[0]
                make_durable_dir(self._disk, parent)
                self._write_file(f"{self._target}/{path}", copy)
                self._disk.sync_dir(parent)
            self._write_root()
        finally:
            self._reader.close()

    def _write_topics(self) -> None:
        for topic in self._manifest.cut.topics:
            directory = f"{self._broker}/topics/{topic.entry.id}"
            make_durable_dir(self._disk, directory)
            name = f"{directory}/{NAME_PREFIX}{topic.entry.name}"
            self._disk.open(name, create=True).close()
            write_checked(self._disk, directory, TOPIC_FILE_NAME, topic.entry.encode())

    def _write_partition(self, partition: PartitionCopy) -> None:
        directory = f"{self._broker}/{partition.path}"
        make_durable_dir(self._disk, directory)
        for base_offset, copy in partition.segments.items():
            self._write_file(f"{directory}/{segment_name(base_offset)}{LOG_SUFFIX}", copy)
        if partition.holes_below:
            write_checkpoint(self._disk, directory, CleanerCheckpoint(0, partition.holes_below))
        if partition.log_start:
            write_log_start(self._disk, directory, partition.log_start)
        self._disk.sync_dir(directory)

    def _write_file(self, path: str, copy: Copy) -> None:
        file = self._disk.open(path, create=True)
        try:
            for chunk in self._reader.read(copy):
                file.append([chunk])
            file.sync()
        finally:
            file.close()

    def _write_root(self) -> None:
        cut = self._manifest.cut
        for name, data in self._manifest.settings.items():
            write_checked(self._disk, self._broker, name, data)
        epoch = cut.leader_epoch + EPOCHS_AHEAD + secrets.randbelow(_RESTORES) * _STARTS_BETWEEN
        first_producer_id = epoch << _EPOCH_SHIFT
        write_checked(self._disk, self._broker, PRODUCER_IDS, b"%d" % first_producer_id)
        write_checked(self._disk, self._broker, LEADER_EPOCH, b"%d\n" % epoch)
        ends = "".join(
            f"{topic.entry.id} {partition} {end}\n"
            for topic in cut.topics
            for partition, end in sorted(topic.ends.items())
        )
        write_checked(self._disk, self._broker, CLEAN_SHUTDOWN, f"{epoch}\n{ends}".encode())
        cluster_id = _new_cluster_id() if self._new_cluster else cut.cluster_id
        lines = (
            f"format.version={FORMAT_VERSION}",
            f"cluster.id={cluster_id}",
            f"node.id={cut.node_id}",
            "",
        )
        write_checked(self._disk, self._broker, META, "\n".join(lines).encode())


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong in a directory of backups, and the backups that it concerns."""

    backups: tuple[int, ...]
    problem: str


def verify(repository: Repository) -> Iterator[Problem]:
    """Read every byte of all backups, and yield what is wrong.

    Raises:
        OSError: the disk refused.
    """
    users: dict[Piece, list[int]] = {}
    for number in repository.numbers():
        try:
            manifest = repository.read(number)
        except BackupDamaged as error:
            yield Problem((number,), error.one_line())
            continue
        for piece in sorted(set(manifest.pieces())):
            users.setdefault(piece, []).append(number)
        for key, copy in manifest.copies():
            if sum(piece.size_bytes for piece in copy.pieces) != copy.size_bytes:
                yield Problem((number,), f"{key} does not have the size of its pieces")
    reader = PackReader(repository.disk, repository.directory)
    try:
        for piece, numbers in users.items():
            problem = reader.problem_of(piece)
            if problem is not None:
                yield Problem(tuple(numbers), problem)
    finally:
        reader.close()


def _under(directory: str, name: str) -> str:
    return f"{directory}/{name}" if name else directory


def _new_cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
