"""The two indexes of a segment: offset to position, and time to offset. Both can be rebuilt.

Offset index, 8 bytes an entry: offset - base offset u32 · position u32, a batch that ends with this
offset is at this position. Time index, 12 bytes: timestamp i64 · offset - base offset u32: no
record up to this offset has a later timestamp. Entries only grow in every column, which is also how
a damaged file is detected.

In memory they are arrays; on disk they hold Kafka's bytes. Only the thread that appends to the
log uses them.

Source: Kafka `OffsetIndex`, `TimeIndex`.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise
from struct import Struct
from typing import Final

_TIME_ENTRY: Final = Struct(">qI")
_U32: Final = "I"
_I64: Final = "q"
_LITTLE_ENDIAN: Final = sys.byteorder == "little"

OFFSET_ENTRY_BYTES: Final = 8
RELATIVE_OFFSET_MAX: Final = 2**31 - 1
"""An offset in an index is relative to the base offset of its segment, and has 31 bits."""
TIME_ENTRY_BYTES: Final = _TIME_ENTRY.size

assert array(_U32).itemsize == 4


class OffsetIndex:
    """Positions of batches, about one for each `index.interval.bytes`."""

    __slots__ = ("offsets", "positions")

    def __init__(self) -> None:
        self.offsets = array(_U32)
        self.positions = array(_U32)

    def __len__(self) -> int:
        return len(self.offsets)

    def append(self, relative_offset: int, position: int) -> None:
        self.offsets.append(relative_offset)
        self.positions.append(position)

    def entry_for(self, relative_offset: int) -> int:
        """Return the number of the last entry at or before this offset; -1 where there is none."""
        return bisect_right(self.offsets, relative_offset) - 1

    def entry_within(self, high: int) -> int:
        """Return the number of the last entry whose position is at most `high`; -1 for none."""
        return bisect_right(self.positions, high) - 1

    def cut(self, size_bytes: int) -> None:
        """Forget entries at or after this position of the segment."""
        kept = bisect_left(self.positions, size_bytes)
        del self.offsets[kept:], self.positions[kept:]

    def encode(self, first: int = 0) -> bytes:
        """Return the entries from number `first` on, as they are stored in the file."""
        count = len(self.offsets) - first
        pairs = array(_U32, bytes(count * OFFSET_ENTRY_BYTES))
        pairs[::2] = self.offsets[first:]
        pairs[1::2] = self.positions[first:]
        if _LITTLE_ENDIAN:
            pairs.byteswap()
        return pairs.tobytes()

    @classmethod
    def decode(cls, data: bytes, segment_bytes: int) -> "OffsetIndex | None":
        """Decode a file; return None if it cannot be the index of this segment."""
        if len(data) % OFFSET_ENTRY_BYTES:
            return None
        pairs = array(_U32, data)
        if _LITTLE_ENDIAN:
            pairs.byteswap()
        index = cls()
        index.offsets, index.positions = pairs[::2], pairs[1::2]
        grows = _grows(index.offsets) and _grows(index.positions)
        # No entry is for position 0: those are bytes of a file that grew and was not written.
        inside = (
            not index.positions or 0 < index.positions[0] <= index.positions[-1] < segment_bytes
        )
        return index if grows and inside else None


class TimeIndex:
    """The largest timestamp so far, at about each entry of the offset index."""

    __slots__ = ("offsets", "timestamps")

    def __init__(self) -> None:
        self.timestamps = array(_I64)
        self.offsets = array(_U32)

    def __len__(self) -> int:
        return len(self.offsets)

    def maybe_append(self, timestamp_ms: int, relative_offset: int) -> None:
        """Note the largest timestamp so far, if it grew since the last entry."""
        if not self.timestamps or timestamp_ms > self.timestamps[-1]:
            self.timestamps.append(timestamp_ms)
            self.offsets.append(relative_offset)

    def entry_before(self, timestamp_ms: int) -> int:
        """Return the number of the last entry before a time; -1 where there is none.

        No record before its offset has the timestamp asked for, or a later one.
        """
        return bisect_left(self.timestamps, timestamp_ms) - 1

    def cut(self, relative_offset: int) -> None:
        """Forget entries at or after this offset."""
        kept = bisect_left(self.offsets, relative_offset)
        del self.timestamps[kept:], self.offsets[kept:]

    def encode(self, first: int = 0) -> bytes:
        rows = zip(self.timestamps[first:], self.offsets[first:], strict=True)
        return b"".join(_TIME_ENTRY.pack(timestamp, offset) for timestamp, offset in rows)

    @classmethod
    def decode(cls, data: bytes) -> "TimeIndex | None":
        if len(data) % TIME_ENTRY_BYTES:
            return None
        index = cls()
        for timestamp, offset in _TIME_ENTRY.iter_unpack(data):
            index.timestamps.append(timestamp)
            index.offsets.append(offset)
        return index if _grows(index.timestamps) and _grows(index.offsets) else None


def _grows(column: "array[int]") -> bool:
    return all(a < b for a, b in pairwise(column))
