"""One file that makes the new bytes of many partitions durable with one sync.

A group commit over many dirty segments costs a sync for each: 44 ms for 500. So beyond a few,
their new bytes are copied into the journal, which is synced once; the segments are synced later,
a few after each commit. A start after a crash writes the frames back into the segments.

    frame: CRC32C u32 of what follows · length of path u16 · position i64 · length of data u32 ·
           path of the segment, from the data directory · data

There are at most two files. While the current one fills, the segments that the old one covers
are synced; then the old one is removed. A file is never written again after that, so there are
no stale frames. Frames of a log whose small files are too damaged to say whether it was compacted
since are kept: that log is refused, so that nothing is written to it either.

Thread: the group commit's. See docs/adr/0008-sync-many-partitions-through-one-journal.md.
"""

import logging
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from duolog.log.checkpoints.cleaner_checkpoint import read_checkpoint
from duolog.log.checkpoints.recovery_point import read_recovery_point
from duolog.log.errors import DamagedFile
from duolog.log.files.disk import Buffer, Disk, DiskFile, make_durable_dir, read_file, replace_file

logger = logging.getLogger(__name__)

JOURNAL_BYTES_MAX: Final = 32 * 1024 * 1024
SEGMENTS_SYNCED_AT_ONCE: Final = 8
FILES_OPEN_MAX: Final = 1024
"""Files that a journal holds for their sync; further ones are opened again for it."""

_DIRECTORY: Final = "journal"
_SUFFIX: Final = ".journal"
_KEPT: Final = f"{0:010d}{_SUFFIX}"
"""The file of entries that a start could not write back; journals are numbered from 1."""
_CRC: Final = Struct(">I")
_FRAME: Final = Struct(">HqI")


class SyncWork(NamedTuple):
    """Bytes of a file that are written and not yet durable, and names that are not."""

    disk: Disk
    path: str
    file: DiskFile
    start: int
    end: int
    directories: tuple[str, ...] = ()


class Journal:
    """The journal of one data directory."""

    def __init__(self, disk: Disk, data_dir: str, *, bytes_max: int = JOURNAL_BYTES_MAX) -> None:
        self._disk = disk
        self._root = f"{data_dir}/"
        self._directory = f"{data_dir}/{_DIRECTORY}"
        self._bytes_max = bytes_max
        self._number = 0
        self._file: DiskFile | None = None
        self._waiting: dict[str, DiskFile | None] = {}
        self._old_path: str | None = None
        self._old_waiting: dict[str, DiskFile | None] = {}

    @property
    def busy(self) -> bool:
        """True if segments wait for their own sync."""
        return self._file is not None or self._old_path is not None

    def commit(self, work: Sequence[SyncWork]) -> None:
        """Make all `work` durable: copy it here and sync once.

        Raises:
            OSError: the disk refused; nothing of it may be acknowledged.
        """
        if self._file is None or self._file.size_bytes >= self._bytes_max:
            self._begin_file()
        assert self._file is not None
        frames: list[Buffer] = []
        for item in work:
            frames.extend(self._frame(item))
        self._file.append(frames)
        self._file.sync()
        for item in work:
            self._waiting[item.path] = item.file if len(self._waiting) < FILES_OPEN_MAX else None

    def _frame(self, work: SyncWork) -> tuple[Buffer, ...]:
        data = work.file.pread(work.start, work.end - work.start)
        assert len(data) == work.end - work.start, work.path
        return encode_frame(work.path.removeprefix(self._root), work.start, data)

    def _begin_file(self) -> None:
        if self._file is not None:
            self.sync_segments(len(self._old_waiting))
            self._old_path, self._old_waiting = self._path(), self._waiting
            self._waiting = {}
            self._file.close()
        self._number += 1
        make_durable_dir(self._disk, self._directory)
        self._file = self._disk.open(self._path(), create=True)
        self._disk.sync_dir(self._directory)

    def _path(self) -> str:
        return f"{self._directory}/{self._number:010d}{_SUFFIX}"

    def sync_segments(self, count: int = SEGMENTS_SYNCED_AT_ONCE) -> None:
        """Sync up to `count` segments of the old file, and remove it when all are.

        Raises:
            OSError: the disk refused; the log directory is to go offline.
        """
        for _ in range(min(count, len(self._old_waiting))):
            self._sync(*self._old_waiting.popitem())
        if not self._old_waiting and self._old_path is not None:
            self._disk.remove(self._old_path)
            self._old_path = None

    def _sync(self, path: str, file: DiskFile | None) -> None:
        """Sync a segment; one that is not held is opened for it, if it has not been deleted."""
        if file is not None:
            file.sync()
            return
        try:
            file = self._disk.open(path)
        except FileNotFoundError:
            return  # Retention or a deletion has taken it.
        file.sync()
        file.close()

    def drain(self) -> None:
        """Sync all segments that wait, and remove the journal.

        Raises:
            OSError: the disk refused; the log directory is to go offline.
        """
        self.sync_segments(len(self._old_waiting))
        for path, file in self._waiting.items():
            self._sync(path, file)
        self._waiting.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
            self._disk.remove(self._path())

    def replay(self) -> int:
        """Write what a crash left here into the segments; returns the number of frames.

        Called at a start, before any log is opened.

        Raises:
            OSError: the disk refused.
        """
        names = [name for name in self._disk.list(self._directory) if name.endswith(_SUFFIX)]
        files: dict[str, DiskFile] = {}
        kept: list[Buffer] = []
        frames = 0
        for name in names:
            content = read_file(self._disk, f"{self._directory}/{name}") or b""
            for path, position, data in whole_frames(content):
                if len(files) >= FILES_OPEN_MAX:
                    _sync_and_close(files)
                try:
                    frames += self._write_back(files, path, position, data)
                except DamagedFile:  # The start refuses this log by the name of that file.
                    kept += encode_frame(path, position, data)
        _sync_and_close(files)
        if kept:
            replace_file(self._disk, self._directory, _KEPT, b"".join(kept))
            logger.warning("the journal keeps what it has of damaged logs")
        for name in names:
            if not (kept and name == _KEPT):
                self._disk.remove(f"{self._directory}/{name}")
        if names:
            self._disk.sync_dir(self._directory)
            logger.info("replayed the journal", extra={"frames": frames})
        return frames

    def _write_back(
        self, files: dict[str, DiskFile], path: str, position: int, data: bytes
    ) -> bool:
        if path not in files:
            if not self._disk.exists(self._root + path):
                return False  # The topic or the segment was deleted since.
            if self._may_be_compacted(path):
                return False
            files[path] = self._disk.open(self._root + path)
        if position > files[path].size_bytes:
            return False  # A commit that was cut off: an earlier frame of it is missing.
        files[path].pwrite(position, data)
        return True

    def _may_be_compacted(self, path: str) -> bool:
        """Say whether a segment may have been rewritten since.

        Its own bytes were synced long before that, so nothing of the journal is missing in it.

        Raises:
            DamagedFile: it is impossible to know.
        """
        directory, _, name = (self._root + path).rpartition("/")
        stem = name.partition(".")[0]
        if not stem.isdigit():
            return False
        try:
            return int(stem) < read_checkpoint(self._disk, directory).holes_below
        except DamagedFile:
            point = read_recovery_point(self._disk, directory)
            if point is None:
                raise
            # Nothing else is compacted, and nothing before it needs the journal.
            return int(stem) < point.segment


def _sync_and_close(files: dict[str, DiskFile]) -> None:
    for file in files.values():
        file.sync()
        file.close()
    files.clear()


def encode_frame(path: str, position: int, data: bytes) -> tuple[Buffer, ...]:
    name = path.encode()
    head = _FRAME.pack(len(name), position, len(data)) + name
    return _CRC.pack(crc32c(data, crc32c(head))), head, data


def whole_frames(content: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Yield path, position and data of each frame, up to the first that is not whole."""
    start = 0
    while start + _CRC.size + _FRAME.size <= len(content):
        (crc,) = _CRC.unpack_from(content, start)
        path_length, position, length = _FRAME.unpack_from(content, start + _CRC.size)
        path_start = start + _CRC.size + _FRAME.size
        data_start = path_start + path_length
        end = data_start + length
        if end > len(content) or crc32c(content[start + _CRC.size : end]) != crc:
            return
        yield content[path_start:data_start].decode(), position, content[data_start:end]
        start = end
