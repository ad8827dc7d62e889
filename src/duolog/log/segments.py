"""The segments of one partition in order, and how a read finds its place among them.

Consumers come back to exactly the offset at which the last answer or the last write ended. So
those places are remembered, and such a read looks at no index and no header to find its start.

Threads: used by the broker's loop only.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from duolog.log.aborted_index import AbortedTransaction
from duolog.log.aborted_rebuild import rebuild_aborted
from duolog.log.disk import DiskFile
from duolog.log.errors import CorruptLog
from duolog.log.segment import Place, Segment
from duolog.record.batch import read_header
from duolog.record.records import decode_records

_HINTS_KEPT: Final = 64


class Slice(NamedTuple):
    """Whole batches in a file: send them with sendfile, or read them with pread.

    `file` is None where there is nothing to send. `first_offset` is the base offset of the first
    batch.
    """

    file: DiskFile | None
    position: int
    size_bytes: int
    first_offset: int


class TimestampOffset(NamedTuple):
    """A record found by its time."""

    timestamp_ms: int
    offset: int
    leader_epoch: int


class Segments:
    """At least one segment; the last is the active one, which grows."""

    __slots__ = ("_hints", "_items", "active", "written_offset")

    def __init__(self, items: list[Segment], written_offset: int) -> None:
        self._items = items
        self._hints: dict[int, tuple[Segment, int]] = {}
        self.active = items[-1]
        self.written_offset = written_offset
        """One past the last offset that is in a file."""

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._items)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._items)

    @property
    def max_timestamp(self) -> int:
        return max(segment.max_timestamp for segment in self._items)

    def add(self, segment: Segment) -> None:
        """Make `segment` the active one."""
        self._items.append(segment)
        self.active = segment

    def grow(self, size_bytes: int, written_offset: int) -> None:
        """Note that the active segment was written up to `size_bytes`."""
        self.active.size_bytes = size_bytes
        self.written_offset = written_offset
        self._hint(written_offset, self.active, size_bytes)

    def ends_below(self, offset: int) -> bool:
        """Tell whether the first segment ends at or below `offset` and is not the active one."""
        return len(self._items) > 1 and self._items[1].base_offset <= offset

    def remove_first(self) -> list[Segment]:
        """Remove the first segment, and return it.

        Raises:
            OSError: the disk refused.
        """
        removed = self._items.pop(0)
        self._hints = {o: hint for o, hint in self._hints.items() if hint[0] is not removed}
        removed.remove()
        return [removed]

    def end_of(self, segment: Segment) -> int:
        """Return the offset at which the next segment begins, or would begin."""
        if segment is self.active:
            return self.written_offset
        return self._items[self._index(segment.base_offset) + 1].base_offset

    def read(self, offset: int, max_bytes: int, up_to_offset: int) -> Slice:
        """Return whole batches; see `PartitionLog.read`."""
        bound = min(up_to_offset, self.written_offset)
        if offset >= bound:
            return Slice(None, 0, 0, offset)
        segment, position, first_offset = self._locate(offset)
        end = self._end_below(segment, bound)
        if end - position > max_bytes:
            end, next_offset = segment.cut_at_batch(position, max_bytes, end)
            if next_offset is not None:  # Where this reader goes on.
                self._hint(next_offset, segment, end)
        elif segment is self.active:
            self._hint(bound, segment, end)
        return Slice(segment.file, position, end - position, first_offset)

    def _locate(self, offset: int) -> tuple[Segment, int, int]:
        """Return segment, position and base offset of the batch that holds `offset`."""
        hint = self._hints.get(offset)
        if hint is not None and hint[1] < hint[0].size_bytes:
            return (*hint, offset)
        segment = self._items[self._index(offset)]
        place = segment.locate(offset)
        if place is None:
            raise CorruptLog(
                f'segment "{segment.path}" ends before offset {offset}',
                detail="The offset is below the log end: records that were acknowledged are gone.",
            )
        return segment, place.position, place.base_offset

    def _end_below(self, segment: Segment, bound: int) -> int:
        """Return the position up to which `segment` holds batches below `bound`."""
        if bound >= self.end_of(segment):
            return segment.size_bytes
        hint = self._hints.get(bound)
        if hint is not None and hint[0] is segment:
            return hint[1]
        place = segment.locate(bound)
        return place.position if place is not None else segment.size_bytes

    def _index(self, offset: int) -> int:
        return max(0, bisect_right(self._items, offset, key=_base_offset) - 1)

    def _hint(self, offset: int, segment: Segment, position: int) -> None:
        hints = self._hints
        hints[offset] = (segment, position)
        if len(hints) > _HINTS_KEPT:
            del hints[next(iter(hints))]

    def offset_bound(self, found: Slice) -> int:
        """Return an offset at or above the end of a slice, which an index knows."""
        segment = self._items[self._index(found.first_offset)]
        bound = segment.offset_bound(found.position + found.size_bytes)
        return self.end_of(segment) if bound is None else bound

    def aborted_from(self, first_offset: int) -> bool:
        """Say whether an aborted transaction may end at `first_offset` or after."""
        return any(
            segment.aborted is not None or segment.aborted_in_file
            for segment in reversed(self._items[self._index(first_offset) :])
        )

    def aborted(self, first_offset: int, up_to_offset: int) -> list[AbortedTransaction]:
        """Return aborted transactions; see `PartitionLog.aborted_transactions`."""
        found: list[AbortedTransaction] = []
        for segment in self._items[self._index(first_offset) :]:
            if segment.aborted is None and segment.aborted_in_file:
                saved = segment.read_aborted()
                if saved is None:
                    saved = rebuild_aborted(self._items, segment)
                segment.aborted = saved
            if segment.aborted is not None and segment.aborted.collect(
                first_offset, up_to_offset, found
            ):
                break
        return found

    def find_timestamp(self, timestamp_ms: int, log_start_offset: int) -> TimestampOffset | None:
        """Return the first record at or after `timestamp_ms`, from `log_start_offset` on."""
        for segment in self._items[self._index(log_start_offset) :]:
            if segment.max_timestamp < timestamp_ms:
                continue
            start = segment.time_index.offset_before(timestamp_ms)
            for place in segment.places(segment.offset_index.position_for(start)):
                if place.max_timestamp < timestamp_ms:
                    continue
                found = _first_record(segment, place, timestamp_ms, log_start_offset)
                if found is not None:
                    return found
        return None


def _first_record(
    segment: Segment, place: Place, timestamp_ms: int, log_start_offset: int
) -> TimestampOffset | None:
    batch = segment.file.pread(place.position, place.size_bytes)
    epoch = read_header(batch).partition_leader_epoch
    for record in decode_records(batch):
        if record.timestamp_ms >= timestamp_ms and record.offset >= log_start_offset:
            return TimestampOffset(record.timestamp_ms, record.offset, epoch)
    return None


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
