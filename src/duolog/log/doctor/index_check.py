"""Compare the two indexes of a segment with its batches.

Each entry of the offset index must be a batch's last offset and position. Each entry of the time
index must be the first batch that has the largest timestamp so far. A gap between entries is
allowed: it only makes searches slower.

Before a recovery point within the segment, only the entries up to the point count: a start uses no
others. A crash may leave bytes of any kind after them.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from duolog.log.segments.index import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES
from duolog.log.segments.index_builder import NO_TIMESTAMP
from duolog.record.batch import BatchHeader

_OFFSET_ENTRY: Final = Struct(">II")
_TIME_ENTRY: Final = Struct(">qI")


class IndexFiles(NamedTuple):
    """The bytes of both files; None for one that is missing."""

    offsets: bytes | None
    times: bytes | None


class IndexCheck:
    """Takes the batches of a segment in order; `problems` are those of each file.

    `end` is the position and the offset up to which entries count; None for the whole segment.
    """

    def __init__(self, base_offset: int, files: IndexFiles, end: tuple[int, int] | None) -> None:
        self._base_offset = base_offset
        self._files = files
        self._end = end
        self._newest = NO_TIMESTAMP
        self._offset_problem = self._time_problem = ""
        self._positions: dict[int, int] = {}
        self._times: dict[int, int] = {}
        self._last_time = NO_TIMESTAMP
        self._read_offsets(files.offsets)
        self._read_times(files.times)

    def _read_offsets(self, data: bytes | None) -> None:
        if data is None:
            self._offset_problem = "offset index is missing"
            return
        if len(data) % OFFSET_ENTRY_BYTES and self._end is None:
            self._offset_problem = "offset index ends within an entry"
        last = (-1, 0)  # No entry is for position 0.
        for entry in _OFFSET_ENTRY.iter_unpack(
            data[: len(data) // OFFSET_ENTRY_BYTES * OFFSET_ENTRY_BYTES]
        ):
            rises = entry[0] > last[0] and entry[1] > last[1]
            if self._end is not None and (entry[1] >= self._end[0] or not rises):
                break
            if not rises:
                self._offset_problem = "entries of the offset index do not rise"
            self._positions[entry[1]] = entry[0]
            last = entry

    def _read_times(self, data: bytes | None) -> None:
        if data is None:
            self._time_problem = "time index is missing"
            return
        if len(data) % TIME_ENTRY_BYTES and self._end is None:
            self._time_problem = "time index ends within an entry"
        last = (-(2**63) - 1, -1)
        for entry in _TIME_ENTRY.iter_unpack(
            data[: len(data) // TIME_ENTRY_BYTES * TIME_ENTRY_BYTES]
        ):
            rises = entry[0] > last[0] and entry[1] > last[1]
            if self._end is not None and (
                self._base_offset + entry[1] >= self._end[1] or not rises
            ):
                break
            if not rises:
                self._time_problem = "entries of the time index do not rise"
            self._times[entry[1]] = self._last_time = entry[0]
            last = entry

    def meet(self, header: BatchHeader, position: int) -> None:
        """Compare the entries of this batch."""
        relative = header.last_offset - self._base_offset
        indexed = self._positions.pop(position, None)
        if indexed is not None and indexed != relative:
            self._offset_problem = f"offset index has a wrong offset for position {position}"
        if header.max_timestamp > self._newest:
            self._newest = header.max_timestamp
            stamp = self._times.pop(relative, None)
            if stamp is not None and stamp != header.max_timestamp:
                self._time_problem = f"time index has a wrong time for offset {header.last_offset}"

    def problems(self) -> Iterator[tuple[bool, str]]:
        """Yield what is wrong, after the last batch; True for the time index."""
        if self._positions and not self._offset_problem:
            wrong = min(self._positions)
            self._offset_problem = f"no record batch begins at the indexed position {wrong}"
        if self._times and not self._time_problem:
            wrong = self._base_offset + min(self._times)
            self._time_problem = f"time index has an entry for offset {wrong}, which has no maximum"
        if self._end is None and self._last_time != self._newest and not self._time_problem:
            self._time_problem = "time index does not reach the newest timestamp"
        if self._offset_problem:
            yield False, self._offset_problem
        if self._time_problem:
            yield True, self._time_problem
