"""Walk over all whole record batches of a segment, also over those that follow damage.

    | whole | whole | ??? | whole | whole |
                    ^ gap: its bytes, and the offsets that are missing

A batch counts as whole if its checksum is right, and if its offsets continue those before it. The
checksum does not cover the base offset. So where a base offset leaves a hole that no compaction
explains, the next batch decides: if it continues from before the hole, the base offset is wrong.

After damage, the length in the damaged header is believed if a batch with the offset that comes
next follows there. Otherwise each position is tried: a record may contain the bytes of a batch, so
this comes second.

Thread: any.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from crc32c import crc32c

from duolog.core.units import MIB
from duolog.log.files.disk import DiskFile
from duolog.record.batch import (
    BASE_OFFSET,
    CRC_START,
    HEADER,
    HEADER_BYTES,
    LEADER_EPOCH_POSITION,
    MAGIC,
    BatchHeader,
)

_READ_BYTES: Final = MIB
_SEARCH_BYTES: Final = 4 * MIB
_OFFSETS_AHEAD_MAX: Final = 2**31
_HIGH_BYTES: Final = 4
_MAGIC_AFTER: Final = LEADER_EPOCH_POSITION + 4


class Whole(NamedTuple):
    """A whole batch, and where it begins in the file."""

    header: BatchHeader
    position: int
    data: memoryview


class Gap(NamedTuple):
    """Bytes from `position` to `end` that are not whole batches.

    The offsets from `first_offset` up to `next_offset` are missing; None if nothing follows. A gap
    without bytes is a hole in the offsets.
    """

    position: int
    end: int
    first_offset: int
    next_offset: int | None
    reason: str


class BatchWalk:
    """Iterates over the batches and gaps of a file in the order of their positions.

    Args:
        next_offset: the offset that the first batch should have.
        holes_below: compaction may have removed offsets below this one.
        bound: the base offset of the next segment; None for the last one.
    """

    def __init__(
        self, file: DiskFile, next_offset: int, *, holes_below: int = 0, bound: int | None = None
    ) -> None:
        self._file = file
        self._size = file.size_bytes
        self._holes_below = holes_below
        self._bound = bound
        self.next_offset = next_offset
        self._chunk, self._chunk_start = memoryview(b""), 0

    def __iter__(self) -> Iterator[Whole | Gap]:
        position = 0
        while position < self._size:
            found = self._whole_at(position)
            if found is None:
                gap = self._gap(position, self._problem_at(position))
            elif found.base_offset != self.next_offset and not self._may_leave_hole(
                found, position
            ):
                end = position + found.size_bytes
                missing = self.next_offset + found.last_offset_delta + 1
                reason = f"record batch has the base offset {found.base_offset}"
                gap = Gap(position, end, self.next_offset, missing, reason)
            else:
                if found.base_offset >= max(self.next_offset + 1, self._holes_below):
                    hole = f"no record batch has the offset {self.next_offset}"
                    yield Gap(position, position, self.next_offset, found.base_offset, hole)
                yield Whole(found, position, self._bytes(position, found.size_bytes))
                position += found.size_bytes
                self.next_offset = found.next_offset
                continue
            yield gap
            position = gap.end
            self.next_offset = max(self.next_offset, gap.next_offset or 0)

    def _problem_at(self, position: int) -> str:
        data = self._bytes(position, HEADER_BYTES)
        if len(data) < HEADER_BYTES:
            return "record batch is cut off in its header"
        header = BatchHeader._make(HEADER.unpack_from(data))
        if header.magic != MAGIC or header.size_bytes < HEADER_BYTES:
            return "no record batch begins here"
        if header.size_bytes > self._size - position:
            return "record batch is cut off"
        return "record batch has a wrong checksum"

    def _whole_at(self, position: int) -> BatchHeader | None:
        """Return the header of the batch at `position` if its bytes are whole."""
        data = self._bytes(position, HEADER_BYTES)
        if len(data) < HEADER_BYTES:
            return None
        header = BatchHeader._make(HEADER.unpack_from(data))
        plausible = (
            header.magic == MAGIC
            and HEADER_BYTES <= header.size_bytes <= self._size - position
            and header.last_offset_delta >= 0
        )
        if not plausible:
            return None
        batch = self._bytes(position, header.size_bytes)
        return header if crc32c(batch[CRC_START:]) == header.crc else None

    def _may_leave_hole(self, header: BatchHeader, position: int) -> bool:
        """Return whether a batch may be where its base offset says, beyond the next offset."""
        if header.base_offset < self.next_offset:
            return False
        if self._bound is not None and header.next_offset > self._bound:
            return False
        following = self._whole_at(position + header.size_bytes)
        if following is not None:
            # Within a compacted part, the next batch only has to be later.
            compacted = following.base_offset < self._holes_below
            joins = following.base_offset == header.next_offset
            return joins or (compacted and following.base_offset > header.next_offset)
        if header.base_offset < self._holes_below:
            return True
        return self._bound is not None and header.next_offset == self._bound

    def _gap(self, position: int, reason: str) -> Gap:
        end = self._next_whole(position)
        following = self._whole_at(end) if end < self._size else None
        next_offset = self._bound if following is None else following.base_offset
        return Gap(position, end, self.next_offset, next_offset, reason)

    def _next_whole(self, position: int) -> int:
        """Return where the first batch after the damage at `position` begins, or the end."""
        data = self._bytes(position, HEADER_BYTES)
        if len(data) == HEADER_BYTES:
            header = BatchHeader._make(HEADER.unpack_from(data))
            end = position + header.size_bytes
            expected = self.next_offset + header.last_offset_delta + 1
            if header.size_bytes >= HEADER_BYTES and end < self._size:
                following = self._whole_at(end)
                if following is not None and following.base_offset == expected:
                    return end
        return self._search(position + 1)

    def _search(self, start: int) -> int:
        last = self.next_offset + _OFFSETS_AHEAD_MAX
        high = {BASE_OFFSET.pack(offset)[:_HIGH_BYTES] for offset in (self.next_offset, last)}
        begins = b"|".join(re.escape(prefix) for prefix in sorted(high))
        between = b".{%d}" % (_MAGIC_AFTER - _HIGH_BYTES)
        pattern = re.compile(
            b"(?=(?:%s)%s%s)" % (begins, between, re.escape(bytes([MAGIC]))), re.DOTALL
        )
        while start < self._size:
            data = self._file.pread(start, _SEARCH_BYTES)
            for match in pattern.finditer(data):
                header = self._whole_at(start + match.start())
                if header is not None and self.next_offset <= header.base_offset <= last:
                    return start + match.start()
            if start + len(data) >= self._size:
                break
            start += len(data) - _MAGIC_AFTER
        return self._size

    def _bytes(self, position: int, size_bytes: int) -> memoryview:
        """Return up to `size_bytes` at a position, through a chunk that is read ahead."""
        start = position - self._chunk_start
        if start < 0 or start + size_bytes > len(self._chunk):
            self._chunk = memoryview(self._file.pread(position, max(size_bytes, _READ_BYTES)))
            self._chunk_start = position
            start = 0
        return self._chunk[start : start + size_bytes]
