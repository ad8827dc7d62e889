"""Repairs of single files, each computed from the batches of its log.

No repair writes to a `.log` file. A file is replaced in one step, so an interrupted repair leaves
the old content or the new.
"""

from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint, write_checkpoint
from duolog.log.checkpoints.recovery_point import EPOCHS_FILE_NAME, POINT_FILE_NAME
from duolog.log.doctor.finding import Repair
from duolog.log.files.checked_file import write_checked
from duolog.log.files.disk import Disk, replace_file
from duolog.log.segments.index_builder import IndexBuilder
from duolog.log.segments.segment import (
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    Segment,
    segment_name,
)


def index(
    directory: str, base_offset: int, suffix: str, interval_bytes: int, end: int | None
) -> Repair:
    """Rebuild an offset index or a time index from the batches up to position `end`."""

    def apply(disk: Disk) -> None:
        name = segment_name(base_offset)
        size = disk.size(f"{directory}/{name}{LOG_SUFFIX}")
        builder = IndexBuilder(base_offset, interval_bytes)
        for place in Segment(disk, directory, base_offset, size).places(0, end):
            builder.add(place)
        builder.seal()
        entries = builder.time_index if suffix == TIME_INDEX_SUFFIX else builder.offset_index
        replace_file(disk, directory, name + suffix, entries.encode())

    return Repair("rebuild it from the segment", apply)


def content(directory: str, name: str, data: bytes) -> Repair:
    """Replace a file; remove it if there is nothing to write."""

    def apply(disk: Disk) -> None:
        if data:
            replace_file(disk, directory, name, data)
        else:
            disk.remove(f"{directory}/{name}")
            disk.sync_dir(directory)

    return Repair("rebuild it from the log" if data else "remove it", apply)


def checked(directory: str, name: str, data: bytes) -> Repair:
    """Replace a small file."""
    return Repair("rebuild it", lambda disk: write_checked(disk, directory, name, data))


def removal(directory: str, name: str) -> Repair:
    """Remove a file that counts as missing, because it is damaged."""

    def apply(disk: Disk) -> None:
        disk.remove(f"{directory}/{name}")
        disk.sync_dir(directory)

    return Repair("remove it", apply)


def cleaner_checkpoint(directory: str, holes_below: int) -> Repair:
    """Let the log be compacted again from its start."""
    checkpoint = CleanerCheckpoint(0, holes_below)
    return Repair(
        "rewrite it: the log is compacted again",
        lambda disk: write_checkpoint(disk, directory, checkpoint),
    )


def recovery_point(directory: str, data: bytes, epochs: bytes) -> Repair:
    """Write a recovery point, with the leader epochs up to it.

    Everything before a recovery point must be durable, so all segments are synced first.
    """

    def apply(disk: Disk) -> None:
        for name in disk.list(directory):
            if name.endswith(LOG_SUFFIX):
                file = disk.open(f"{directory}/{name}")
                file.sync()
                file.close()
        disk.sync_dir(directory)
        write_checked(disk, directory, EPOCHS_FILE_NAME, epochs)
        write_checked(disk, directory, POINT_FILE_NAME, data)

    return Repair("rebuild it from the log", apply)
