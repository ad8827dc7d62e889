"""The record batches of a segment below a cut, verified while they are read.

Thread: any.
"""

from collections.abc import Iterator
from typing import Final

from crc32c import crc32c

from duolog.core.units import MIB
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import DiskFile
from duolog.record.batch import CRC_START, HEADER, HEADER_BYTES, MAGIC, BatchHeader

_CHUNK_BYTES: Final = MIB


class BatchesBelow:
    """Iterates over the bytes of whole batches, many at once.

    Afterwards `position` and `next_offset` are where the next batch would begin.

    Args:
        name: of the segment, for errors.
        position, next_offset: where to begin.
        cut: batches from this offset on are not returned.
        holes_below: compaction may have removed offsets below this one.

    Raises:
        BackupRefused: a batch below the cut is damaged.
        OSError: the disk refused.
    """

    def __init__(
        self,
        file: DiskFile,
        name: str,
        *,
        position: int,
        next_offset: int,
        cut: int,
        holes_below: int,
    ) -> None:
        self._file = file
        self._name = name
        self._cut = cut
        self._holes_below = holes_below
        self.position = position
        self.next_offset = next_offset

    def __iter__(self) -> Iterator[memoryview]:
        wanted = _CHUNK_BYTES
        while self.next_offset < self._cut:
            chunk = memoryview(self._file.pread(self.position, wanted))
            if not chunk:
                return
            size, missing = self._whole_bytes(chunk)
            if not size and missing is None:
                return  # The cut is here.
            if size:
                self.position += size
                wanted = _CHUNK_BYTES
                yield chunk[:size]
            elif len(chunk) < wanted:
                raise self._damaged("is cut off")
            else:  # A batch that is larger than the chunk.
                wanted = max(missing or 0, wanted + 1)

    def _whole_bytes(self, chunk: memoryview) -> tuple[int, int | None]:
        """Return the bytes of whole batches below the cut, and the size of one that is not whole.

        The second is None if the cut or the chunk ends there.
        """
        start = 0
        while start < len(chunk) and self.next_offset < self._cut:
            if len(chunk) - start < HEADER_BYTES:
                return start, HEADER_BYTES
            header = BatchHeader._make(HEADER.unpack_from(chunk, start))
            if header.magic == MAGIC and header.base_offset >= self._cut:
                return start, None
            self._ensure_plausible(header)
            end = start + header.size_bytes
            if end > len(chunk):
                return start, header.size_bytes
            if crc32c(chunk[start + CRC_START : end]) != header.crc:
                raise self._damaged("has a wrong checksum")
            if header.next_offset > self._cut:
                raise self._damaged(f"reaches beyond the high watermark {self._cut}")
            self.next_offset = header.next_offset
            start = end
        return start, None

    def _ensure_plausible(self, header: BatchHeader) -> None:
        base_offset = header.base_offset
        joins = base_offset == self.next_offset
        if (
            header.magic != MAGIC
            or header.size_bytes < HEADER_BYTES
            or header.last_offset_delta < 0
        ):
            raise self._damaged("has no header")
        if not joins and not self.next_offset < base_offset < self._holes_below:
            raise self._damaged(f"has the base offset {base_offset}")

    def _damaged(self, problem: str) -> BackupRefused:
        return BackupRefused(
            f'segment "{self._name}" is damaged',
            detail=f"The record batch at offset {self.next_offset} {problem}.",
            hint="Stop the broker; duolog doctor DIRECTORY lists all damage. Earlier backups may "
            "have the records.",
        )
