"""The whole record batches of a segment, one after the other, from a position on."""

from typing import Final

from crc32c import crc32c

from duolog.log.segments.index_builder import Place
from duolog.log.segments.segment import Segment
from duolog.record.batch import CRC_START, HEADER, HEADER_BYTES, MAGIC, BatchHeader

_CHUNK_BYTES: Final = 1024 * 1024


class BatchScan:
    """Iterates over the whole batches of a segment; then `position` is where they end."""

    def __init__(
        self, segment: Segment, position: int, next_offset: int, holes_below: int = 0
    ) -> None:
        self._segment = segment
        self._holes_below = holes_below
        self.position = position
        self.next_offset = next_offset
        self.batch = memoryview(b"")
        """The bytes of the batch that was found last."""
        self._chunk = memoryview(b"")
        self._chunk_start = position

    def __iter__(self) -> "BatchScan":
        return self

    def __next__(self) -> tuple[BatchHeader, Place]:
        header = self._header()
        if header is None:
            raise StopIteration
        batch = self._bytes(header.size_bytes)
        if len(batch) < header.size_bytes or crc32c(batch[CRC_START:]) != header.crc:
            raise StopIteration
        place = Place(
            self.position,
            header.size_bytes,
            header.base_offset,
            header.last_offset,
            header.max_timestamp,
        )
        self.batch = batch
        self.position += header.size_bytes
        self.next_offset = header.next_offset
        return header, place

    @property
    def ends_within_batch(self) -> bool:
        """True if the file ends within the next batch, as after an interrupted write."""
        left = self._segment.size_bytes - self.position
        header = self._header()
        return left < HEADER_BYTES or (header is not None and left < header.size_bytes)

    def _header(self) -> BatchHeader | None:
        data = self._bytes(HEADER_BYTES)
        if len(data) < HEADER_BYTES:
            return None
        header = BatchHeader._make(HEADER.unpack_from(data))
        plausible = (
            header.magic == MAGIC
            and header.size_bytes >= HEADER_BYTES
            and (
                header.base_offset == self.next_offset
                or self.next_offset < header.base_offset < self._holes_below
            )
            and header.last_offset_delta >= 0
        )
        return header if plausible else None

    def _bytes(self, size_bytes: int) -> memoryview:
        """Return up to `size_bytes` at the position, through a chunk that is read ahead."""
        start = self.position - self._chunk_start
        if start + size_bytes > len(self._chunk):
            left = self._segment.size_bytes - self.position
            wanted = min(max(size_bytes, _CHUNK_BYTES), left)
            self._chunk = memoryview(b"")  # The allocator gives the same memory again.
            self._chunk = memoryview(self._segment.file.pread(self.position, max(wanted, 0)))
            self._chunk_start = self.position
            start = 0
        return self._chunk[start : start + size_bytes]
