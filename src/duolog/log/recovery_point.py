"""How far a partition log is known to be whole on disk, so that a start reads only what follows.

The file `recovery-point`: CRC32C u32 of what follows · format u16 · segment base offset i64 ·
position i64 · next offset i64 · the snapshot of the idempotent producers as of that offset.
Everything before the point is synced: batches, all indexes, the names of the files. A point of
another format counts as none: the log is read as a whole once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from duolog.log.disk import Disk, DiskFile, read_file, replace_file
from duolog.log.producer_state import ProducerStates

POINT_FILE_NAME: Final = "recovery-point"
POINT_AT_CLOSE_BYTES: Final = 16 * 1024
"""A stop with less than this behind the point sets none: reading it again is faster."""
_CRC: Final = Struct(">I")
_POINT: Final = Struct(">Hqqq")
_FORMAT: Final = 2


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """A place in the log, and the producers as they were there."""

    segment: int = 0
    position: int = 0
    next_offset: int = 0
    producers: bytes = field(default_factory=lambda: ProducerStates().encode())

    def encode(self) -> bytes:
        body = _POINT.pack(_FORMAT, self.segment, self.position, self.next_offset) + self.producers
        return _CRC.pack(crc32c(body)) + body


def read_recovery_point(disk: Disk, directory: str) -> RecoveryPoint | None:
    """Return the point; None where there is none or it is damaged: then all is to be read."""
    data = read_file(disk, f"{directory}/{POINT_FILE_NAME}")
    if data is None or len(data) < _CRC.size + _POINT.size:
        return None
    (crc,) = _CRC.unpack_from(data)
    body = data[_CRC.size :]
    if crc != crc32c(body):
        return None
    version, segment, position, next_offset = _POINT.unpack_from(body)
    if version != _FORMAT:
        return None
    return RecoveryPoint(segment, position, next_offset, body[_POINT.size :])


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
        replace_file(self.disk, self.directory, EPOCHS_FILE_NAME, self.epochs)
        replace_file(self.disk, self.directory, POINT_FILE_NAME, self.point.encode())


EPOCHS_FILE_NAME: Final = "leader-epoch-checkpoint"
