"""Distinguish a torn write from damage when a start finds an incomplete batch.

    | whole | whole | ??? | whole | whole |
                    ^ position

A power failure tears writes that were not synced: pieces of the file are missing, and a missing
piece of an append-only file reads as zeros. None of these records was acknowledged, so the log is
truncated there. If a disk or a program changes bytes later, there are no zeros, and whole batches
follow: truncating the log there would lose acknowledged records.

So a batch is damaged, and not torn, if whole batches follow and no sector before them is empty.
Only uncompressed records with long runs of zeros can be mistaken for a torn write.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from crc32c import crc32c

from duolog.log.segments.segment import Segment
from duolog.record.batch import (
    BASE_OFFSET,
    CRC_START,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    BatchHeader,
)

_SECTOR_BYTES: Final = 512
_OFFSETS_AHEAD_MAX: Final = 2**31
_HIGH_BYTES: Final = 4
"""The upper half of an offset: batches that follow have it in common, or the next one."""


class Following(NamedTuple):
    """A whole batch after a position where none is."""

    segment: int
    position: int
    base_offset: int


def damaged(segments: Sequence[Segment], position: int, next_offset: int) -> Following | None:
    """Return the first whole batch after the damage at `position` of the first segment.

    None if no whole batch follows, or if the write was torn by a power failure. `next_offset` is
    the offset that a batch at this position would have.

    Raises:
        OSError: a read failed.
    """
    segment = segments[0]
    data = segment.file.pread(position, segment.size_bytes - position)
    found = _find(data, 1, next_offset)
    if found is not None:
        if is_torn(data, position, found[0], next_offset):
            return None
        return Following(segment.base_offset, position + found[0], found[1])
    for later in segments[1:]:
        start = _whole_at(later.file.pread(0, later.size_bytes), 0, next_offset)
        if start is not None:
            torn = is_torn(data, position, len(data), next_offset) or is_cut(data)
            return None if torn else Following(later.base_offset, 0, start)
    return None


def _find(data: bytes, start: int, next_offset: int) -> tuple[int, int] | None:
    """Return position and base offset of the first whole batch in `data` from `start` on."""
    last = next_offset + _OFFSETS_AHEAD_MAX
    high = {BASE_OFFSET.pack(offset)[:_HIGH_BYTES] for offset in (next_offset, last)}
    begins = b"|".join(re.escape(prefix) for prefix in sorted(high))
    pattern = b"(?=(?:%s).{12}%s)" % (begins, re.escape(bytes([MAGIC])))
    for match in re.compile(pattern, re.DOTALL).finditer(data, start):
        base_offset = _whole_at(data, match.start(), next_offset)
        if base_offset is not None:
            return match.start(), base_offset
    return None


def _whole_at(data: bytes, position: int, next_offset: int) -> int | None:
    """Return the base offset of the whole batch at `position`, or None."""
    if len(data) - position < HEADER_BYTES:
        return None
    header = BatchHeader._make(HEADER.unpack_from(data, position))
    plausible = (
        header.magic == MAGIC
        and HEADER_BYTES <= header.size_bytes <= len(data) - position
        and next_offset <= header.base_offset <= next_offset + _OFFSETS_AHEAD_MAX
    )
    end = position + header.size_bytes
    if not plausible or crc32c(memoryview(data)[position + CRC_START : end]) != header.crc:
        return None
    return header.base_offset


def is_torn(data: bytes, position: int, size_bytes: int, next_offset: int) -> bool:
    """Return whether a sector before `size_bytes` of `data`, read at `position`, is missing."""
    first = min(-position % _SECTOR_BYTES or _SECTOR_BYTES, size_bytes)
    # A batch begins with its offset, which is zeros for the most part.
    expected = BASE_OFFSET.pack(next_offset)[:first]
    if not any(data[:first]) and (first > len(expected) or any(expected)):
        return True
    # What follows shares the last sector, so that one was written.
    at_end = size_bytes == len(data)
    ends = size_bytes if at_end else size_bytes - (position + size_bytes) % _SECTOR_BYTES
    return any(
        not any(data[start : min(start + _SECTOR_BYTES, ends)])
        for start in range(first, ends, _SECTOR_BYTES)
    )


def is_cut(data: bytes) -> bool:
    """Return whether a batch at the end of a segment is cut off, not only its size damaged."""
    if len(data) < HEADER_BYTES:
        return True
    header = BatchHeader._make(HEADER.unpack_from(data))
    return header.size_bytes > len(data) and crc32c(memoryview(data)[CRC_START:]) != header.crc
