"""The logs to back up: their files below a cut, of a running broker or of a stopped one.

A running broker keeps appending, compacting and deleting. So right after the cut, each segment
gets a second name in the directory `.backup` of the data directory. What the broker deletes
afterwards keeps its bytes under that name. Compaction before the links is harmless, because it
keeps the last record of each key, unless it has already looked at records after the cut: then
another cut is taken.

    cut ──► names of all segments ──► log start, compaction progress ──► copied at leisure

A stopped broker's files are read as its next start would find them: with the journal written back,
and torn writes cut off (`duolog.log.doctor`). Nothing of the directory is changed.

Thread: any.
"""

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from duolog.core.ids import TopicId
from duolog.log.backup.copies import Identity
from duolog.log.backup.cut import Cut, TopicCut
from duolog.log.checkpoints.cleaner_checkpoint import read_checkpoint
from duolog.log.checkpoints.log_start import read_log_start
from duolog.log.data_directory.topics import TOPIC_FILE_NAME, TOPICS_DIRECTORY
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import DirLock, Disk, DiskFile
from duolog.log.segments.segment import LOG_SUFFIX, segment_name
from duolog.log.segments.segment_swap import SWAP_FILE_NAME

STAGING: Final = ".backup"
_LOCK: Final = ".lock"
_UNSUPPORTED: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK, errno.ENOSYS}
_TRIES_MAX: Final = 100


class Moved(Exception):
    """The files have changed so that the cut cannot be copied; another one can."""


@dataclass(frozen=True, slots=True)
class SegmentSource:
    """A segment file.

    Attributes:
        identity: None if the bytes are not those of the file on disk.
        replaceable: True if the broker may replace or delete the file at `path`: it has no second
            name, because the file system has no hard links.
    """

    base_offset: int
    path: str
    identity: Identity | None
    replaceable: bool = False


@dataclass(frozen=True, slots=True)
class PartitionSource:
    """The files of one partition, and its end at the cut."""

    topic: str
    topic_id: TopicId
    partition: int
    end: int
    log_start: int
    holes_below: int
    segments: Sequence[SegmentSource]

    @property
    def path(self) -> str:
        return f"{TOPICS_DIRECTORY}/{self.topic_id}/{self.partition}"


@dataclass(frozen=True, slots=True)
class LogSource:
    """All partitions of a cut. Topics that were deleted since are `gone`."""

    disk: Disk
    cut: Cut
    partitions: Sequence[PartitionSource]
    gone: Sequence[str] = ()

    def open(self, segment: SegmentSource) -> DiskFile:
        """Open a segment for reading.

        Raises:
            BackupRefused: it was replaced or deleted, on a file system without second names.
            OSError: the disk refused.
        """
        try:
            file = self.disk.open(segment.path)
        except FileNotFoundError:
            raise replaced_meanwhile(segment.path) from None
        identity = segment.identity
        if segment.replaceable and (identity is None or not identity.is_at(segment.path)):
            file.close()
            raise replaced_meanwhile(segment.path)
        return file


def staged(disk: Disk, data_dir: str, cut: Cut) -> LogSource:
    """Return the logs of a running broker at a cut; `unstage` is to follow.

    Raises:
        Moved: another cut is needed.
        DamagedFile: a small file of a partition is damaged.
        OSError: the disk refused.
    """
    partitions: list[PartitionSource] = []
    gone: list[str] = []
    for topic in cut.topics:
        found = [
            _staged_partition(disk, data_dir, topic, partition) for partition in sorted(topic.ends)
        ]
        # Looked for last: a deletion renames the directory, so all the names were made before it.
        if disk.exists(f"{data_dir}/{TOPICS_DIRECTORY}/{topic.entry.id}/{TOPIC_FILE_NAME}"):
            partitions += found
        else:
            gone.append(topic.entry.name)
    return LogSource(disk, cut, partitions, gone)


def _staged_partition(
    disk: Disk, data_dir: str, topic: TopicCut, partition: int
) -> PartitionSource:
    directory = f"{data_dir}/{TOPICS_DIRECTORY}/{topic.entry.id}/{partition}"
    end = topic.ends[partition]
    target = f"{data_dir}/{STAGING}/{topic.entry.id}/{partition}"
    for _ in range(_TRIES_MAX):
        before = _segments_in(disk, directory)
        segments = list(_linked(before, directory, target))
        # Written before names change, so it covers every compaction that the links show.
        progress = read_checkpoint(disk, directory)
        log_start = read_log_start(disk, directory)
        swapping = disk.exists(f"{directory}/{SWAP_FILE_NAME}")
        if not swapping and _segments_in(disk, directory) == before:
            break
    else:
        raise Moved(f"segments of {topic.entry.name}-{partition} keep changing")
    # A run that has not ended may have replaced segments, and has not yet moved its clean offset.
    if progress.holes_below > end:
        raise Moved(f"{topic.entry.name}-{partition} was compacted beyond the cut")
    return PartitionSource(
        topic.entry.name,
        topic.entry.id,
        partition,
        end,
        log_start,
        progress.holes_below,
        _needed(segments, log_start, end),
    )


def _segments_in(disk: Disk, directory: str) -> list[int]:
    names = (name for name in disk.list(directory) if name.endswith(LOG_SUFFIX))
    stems = (name.removesuffix(LOG_SUFFIX) for name in names)
    return sorted(int(stem) for stem in stems if stem.isdigit())


def _linked(base_offsets: Sequence[int], directory: str, target: str) -> Iterator[SegmentSource]:
    """Yield the segments under their second names; fewer if one has gone meanwhile."""
    os.makedirs(target, 0o700, exist_ok=True)  # noqa: PTH103 - paths are texts here
    for base_offset in base_offsets:
        name = segment_name(base_offset) + LOG_SUFFIX
        path = f"{target}/{name}"
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108
            os.link(f"{directory}/{name}", path)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            path = f"{directory}/{name}"
        replaceable = not path.startswith(target)
        yield SegmentSource(base_offset, path, Identity.of(path), replaceable)


def _needed(segments: Sequence[SegmentSource], log_start: int, end: int) -> list[SegmentSource]:
    """Return the segments that have readable offsets below the cut, or end there."""
    found = [segment for segment in segments if segment.base_offset <= end]
    while len(found) > 1 and found[1].base_offset <= log_start:
        found.pop(0)
    return found


def replaced_meanwhile(path: str) -> BackupRefused:
    """Return the error for a file without a second name that is not the staged one any more."""
    return BackupRefused(
        f'file "{path}" was replaced or deleted meanwhile',
        detail="Its file system has no hard links, which would have kept its content.",
        hint="Run the command again: it uses what was copied. If it fails again, stop the broker "
        "for the time of the backup.",
    )


def unstage(data_dir: str) -> None:
    """Remove the second names, also those of a backup that was killed.

    Raises:
        OSError: the disk refused.
    """
    root = f"{data_dir}/{STAGING}"
    for directory, _, names in os.walk(root, topdown=False):
        for name in names:
            if (directory, name) != (root, _LOCK):
                os.unlink(f"{directory}/{name}")  # noqa: PTH108
        if directory != root:
            os.rmdir(directory)  # noqa: PTH106


def remove_left_names(disk: Disk, data_dir: str) -> None:
    """Remove the second names of a backup that was killed; without them, deleted segments are gone.

    Raises:
        OSError: the disk refused.
    """
    if not disk.exists(f"{data_dir}/{STAGING}"):
        return
    try:
        lock = lock_staging(disk, data_dir)
    except BackupRefused:
        return  # The backup is running, and removes them itself.
    try:
        unstage(data_dir)
    finally:
        lock.release()


def lock_staging(disk: Disk, data_dir: str) -> DirLock:
    """Keep other backups away from the second names of a data directory.

    Raises:
        BackupRefused: another backup of it is running.
        OSError: the disk refused.
    """
    disk.make_dir(f"{data_dir}/{STAGING}")
    try:
        return disk.lock(f"{data_dir}/{STAGING}/{_LOCK}")
    except BlockingIOError:
        raise BackupRefused(
            f'another backup of "{data_dir}" is running', hint="Wait until it is complete."
        ) from None


def stopped(disk: Disk, cut: Cut, data_dir: str, changed: frozenset[str]) -> LogSource:
    """Return the logs of a stopped broker on the `disk` where its start was rehearsed.

    `changed` are the files that differ from those of the real disk.

    Raises:
        DamagedFile: a small file of a partition is damaged.
    """
    partitions = []
    for topic in cut.topics:
        for partition, end in sorted(topic.ends.items()):
            directory = f"{data_dir}/{TOPICS_DIRECTORY}/{topic.entry.id}/{partition}"
            log_start = read_log_start(disk, directory)
            segments = []
            for base_offset in _segments_in(disk, directory):
                path = f"{directory}/{segment_name(base_offset)}{LOG_SUFFIX}"
                identity = None if path in changed else Identity.of(path)
                segments.append(SegmentSource(base_offset, path, identity))
            partitions.append(
                PartitionSource(
                    topic.entry.name,
                    topic.entry.id,
                    partition,
                    end,
                    log_start,
                    read_checkpoint(disk, directory).holes_below,
                    _needed(segments, log_start, end),
                )
            )
    return LogSource(disk, cut, partitions)
