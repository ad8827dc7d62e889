"""The recovery point of a partition log: a start reads only what follows it.

The file `recovery-point`, see `checked_file`: segment base offset i64 · position i64 · next offset
i64 · the snapshot of the idempotent producers as of that offset. Everything before the point is
synced: batches, all indexes, the names of the files. A damaged point counts as none: all of its
contents are in the log, too, which is then read as a whole.

A log of a few batches has no recovery point. Only the clean-shutdown mark shows whether its segment
is complete.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk, DiskFile
from duolog.log.producers.producer_state import ProducerStates

logger = logging.getLogger(__name__)

POINT_FILE_NAME: Final = "recovery-point"
POINT_AT_CLOSE_BYTES: Final = 16 * 1024
"""A stop with less than this after the point sets none: reading it again is faster."""
_POINT: Final = Struct(">qqq")


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """A place in the log, and the producers as they were there."""

    segment: int = 0
    position: int = 0
    next_offset: int = 0
    producers: bytes = field(default_factory=lambda: ProducerStates().encode())

    def encode(self) -> bytes:
        return _POINT.pack(self.segment, self.position, self.next_offset) + self.producers


def read_recovery_point(disk: Disk, directory: str) -> RecoveryPoint | None:
    """Return the point; None if it is missing or damaged: then the whole log must be read."""
    try:
        data = read_checked(disk, directory, POINT_FILE_NAME)
    except DamagedFile as error:
        logger.warning("a log is read as a whole", extra={"reason": error.message})
        return None
    if data is None or len(data) < _POINT.size:
        return None
    segment, position, next_offset = _POINT.unpack_from(data)
    return RecoveryPoint(segment, position, next_offset, data[_POINT.size :])


class IndexTail(NamedTuple):
    """New entries of an index file, and where in the file they go."""

    path: str
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class RecoveryPointWrite:
    """All that must be on disk before a new recovery point may be, and the point itself.

    Taken by the thread that appends, written by the group commit's thread.
    """

    disk: Disk
    directory: str
    files: Sequence[DiskFile]
    index_tails: Sequence[IndexTail]
    epochs: bytes
    point: RecoveryPoint

    def write(self) -> None:
        """Sync what lies before the point, then put the point in place.

        Raises:
            OSError: the disk refused; the caller takes the log directory offline.
        """
        for file in self.files:
            file.sync()
        for tail in self.index_tails:
            index = self.disk.open(tail.path, create=True)
            try:
                index.truncate(tail.position)
                index.append([tail.data])
                index.sync()
            finally:
                index.close()
        # Names first: a point that survives never speaks of a file whose name did not.
        self.disk.sync_dir(self.directory)
        self.disk.sync_dir(self.directory.rpartition("/")[0])
        write_checked(self.disk, self.directory, EPOCHS_FILE_NAME, self.epochs)
        write_checked(self.disk, self.directory, POINT_FILE_NAME, self.point.encode())


EPOCHS_FILE_NAME: Final = "leader-epoch-checkpoint"
