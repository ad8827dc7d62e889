"""A segment that is being rewritten: `.cleaned` files next to those that it will replace.

Bytes are synced as they come, a few megabytes at a time: one sync of a gigabyte would hold up the
group commits of a broker that shares the disk.
"""

from collections.abc import Callable
from typing import Final

from duolog.core.units import MIB
from duolog.log.files.disk import Buffer, Disk, DiskFile
from duolog.log.producers.aborted_index import AbortedIndex
from duolog.log.segments.index_builder import IndexBuilder, Place
from duolog.log.segments.segment import (
    ABORTED_INDEX_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    segment_name,
)
from duolog.log.segments.segment_swap import CLEANED_SUFFIX
from duolog.record.batch import BatchHeader, read_header

_WRITE_BYTES: Final = MIB
_SYNC_BYTES: Final = 8 * MIB


class CleanedSegment:
    """Takes batches in order; `written` is called with the bytes of each write."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        index_interval_bytes: int,
        written: Callable[[int], None],
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._path = f"{directory}/{segment_name(base_offset)}"
        self._written = written
        self._builder = IndexBuilder(base_offset, index_interval_bytes)
        self._buffers: list[Buffer] = []
        self._waiting_bytes = 0
        self._unsynced_bytes = 0
        self.size_bytes = 0
        self._file = self._create(LOG_SUFFIX)

    @property
    def max_timestamp(self) -> int:
        return self._builder.max_timestamp

    def add_new(self, batch: bytearray) -> None:
        self.add(read_header(batch), batch)

    def add(self, header: BatchHeader, batch: Buffer) -> None:
        """Add a batch at the end."""
        size = len(batch)
        self._builder.add(
            Place(
                self.size_bytes, size, header.base_offset, header.last_offset, header.max_timestamp
            )
        )
        self._buffers.append(batch)
        self.size_bytes += size
        self._waiting_bytes += size
        if self._waiting_bytes >= _WRITE_BYTES:
            self._write()

    def _write(self) -> None:
        if not self._buffers:
            return
        self._file.append(self._buffers)
        self._buffers = []
        self._unsynced_bytes += self._waiting_bytes
        self._written(self._waiting_bytes)
        self._waiting_bytes = 0
        if self._unsynced_bytes >= _SYNC_BYTES:
            self._file.sync()
            self._unsynced_bytes = 0

    def finish(self, aborted: AbortedIndex) -> None:
        """Write the rest, and the indexes; when this returns all of it is durable."""
        self._write()
        self._file.sync()
        self._file.close()
        self._builder.seal()
        self._put(INDEX_SUFFIX, self._builder.offset_index.encode())
        self._put(TIME_INDEX_SUFFIX, self._builder.time_index.encode())
        if aborted:
            self._put(ABORTED_INDEX_SUFFIX, aborted.encode())
        self._disk.sync_dir(self._directory)

    def _put(self, suffix: str, data: bytes) -> None:
        file = self._create(suffix)
        try:
            file.append([data])
            file.sync()
        finally:
            file.close()

    def _create(self, suffix: str) -> DiskFile:
        file = self._disk.open(self._path + suffix + CLEANED_SUFFIX, create=True)
        file.truncate(0)
        return file
