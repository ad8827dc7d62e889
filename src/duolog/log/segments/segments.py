"""The segments of one partition in order, and how a read finds its place among them.

Consumers come back to exactly the offset at which the last answer or the last write ended. So
those places are remembered, and such a read looks at no index and no header to find its start.

A segment that ends before the next one starts is damage and is refused, except where compaction
left a gap. A reader that continued with the next segment would skip acknowledged records.

Threads: used by the broker's loop only.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from duolog.log.errors import CorruptLog
from duolog.log.files.disk import DiskFile
from duolog.log.producers.aborted_index import AbortedEntry, AbortedTransaction
from duolog.log.segments.aborted_rebuild import rebuild_aborted
from duolog.log.segments.segment import Segment

_HINTS_KEPT: Final = 64


class Slice(NamedTuple):
    """Whole batches in a file: send them with sendfile, or read them with pread.

    `file` is None if the slice is empty. `first_offset` is the base offset of the first batch.
    """

    file: DiskFile | None
    position: int
    size_bytes: int
    first_offset: int


class Available(NamedTuple):
    """The bytes that can be read of a segment; more follow in the next one if it `goes_on`."""

    size_bytes: int
    goes_on: bool = False


class Segments:
    """At least one segment; the last is the active one, which grows."""

    __slots__ = ("_hints", "_items", "active", "holes_below", "written_bytes", "written_offset")

    def __init__(self, items: list[Segment], written_offset: int) -> None:
        self._items = items
        self._hints: dict[int, tuple[Segment, int]] = {}
        self.active = items[-1]
        self.written_offset = written_offset
        """One past the last offset that is in a file."""
        self.holes_below = 0
        """Below this offset compaction may have left holes between batches."""
        self.written_bytes = 0
        """Bytes that were appended since the log was opened."""

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

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
        active = self.active
        self.written_bytes += size_bytes - active.size_bytes
        active.size_bytes = size_bytes
        self.written_offset = written_offset
        self._hint(written_offset, active, size_bytes)

    def ends_below(self, offset: int) -> bool:
        """Return whether the first segment ends at or below `offset` and is not the active one."""
        return len(self._items) > 1 and self._items[1].base_offset <= offset

    def pop_first(self) -> Segment:
        """Take the first segment out of the log, and return it; its files are as they were."""
        removed = self._items.pop(0)
        self._forget_hints({removed})
        return removed

    def find(self, base_offsets: Sequence[int]) -> list[Segment]:
        """Return these segments if they are here as neighbours, sealed; else none."""
        first = self._index(base_offsets[0])
        found = self._items[first : first + len(base_offsets)]
        here = tuple(segment.base_offset for segment in found) == tuple(base_offsets)
        return found if here and self.active not in found else []

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Put `new` in the place of neighbours."""
        first = self._items.index(old[0])
        self._items[first : first + len(old)] = [new]
        self._forget_hints(set(old))

    def _forget_hints(self, removed: set[Segment]) -> None:
        self._hints = {o: hint for o, hint in self._hints.items() if hint[0] not in removed}

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
        located = self._locate(offset)
        if located is None:
            return Slice(None, 0, 0, offset)
        segment, position, first_offset = located
        end = self._end_below(segment, bound)
        if end <= position:  # There is a hole up to the bound.
            return Slice(None, 0, 0, offset)
        if end - position > max_bytes:
            end, next_offset = segment.cut_at_batch(position, max_bytes, end)
            if next_offset is not None:  # The next read of this consumer starts there.
                self._hint(next_offset, segment, end)
        elif segment is self.active:
            self._hint(bound, segment, end)
        return Slice(segment.file, position, end - position, first_offset)

    def available(self, offset: int, up_to_offset: int) -> Available:
        """Return how much can be read; see `PartitionLog.available`."""
        bound = min(up_to_offset, self.written_offset)
        located = self._locate(offset) if offset < bound else None
        if located is None:
            return Available(0)
        segment, position, _ = located
        size_bytes = max(0, self._end_below(segment, bound) - position)
        return Available(size_bytes, goes_on=self.end_of(segment) < bound)

    def _locate(self, offset: int) -> tuple[Segment, int, int] | None:
        """Return segment, position and base offset of the first batch ending at or after `offset`.

        None if compaction has removed all batches from there on.
        """
        hint = self._hints.get(offset)
        if hint is not None and hint[1] < hint[0].size_bytes:
            return (*hint, offset)
        for segment in self._items[self._index(offset) :]:
            place = segment.locate(offset)
            if place is not None:
                return segment, place.position, place.base_offset
            if offset >= self.holes_below:
                raise CorruptLog(
                    f'segment "{segment.path}" ends before offset {offset}',
                    detail="The offset is below the log end: acknowledged records are gone.",
                )
        return None

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
        """Return whether an aborted transaction may end at or after `first_offset`."""
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

    def aborted_entries(self, up_to_offset: int) -> list[AbortedEntry]:
        """Return the aborted transactions that began below `up_to_offset`."""
        self.aborted(self._items[0].base_offset, self.written_offset)  # Reads the files.
        return [
            entry
            for segment in self._items
            if segment.aborted is not None
            for entry in segment.aborted.entries
            if entry.first_offset < up_to_offset
        ]

    def batches_from_time(self, timestamp_ms: int, log_start_offset: int) -> Iterator[bytes | None]:
        """Return the batches that claim a record at or after a time; None for one that does not."""
        for segment in self._items[self._index(log_start_offset) :]:
            if segment.max_timestamp < timestamp_ms:
                yield None
                continue
            for place in segment.places(segment.position_for_time(timestamp_ms)):
                claims = place.max_timestamp >= timestamp_ms
                yield segment.file.pread(place.position, place.size_bytes) if claims else None

    def batches_beyond(self, known: list[int], log_start_offset: int) -> Iterator[bytes | None]:
        """Yield each batch that claims a record later than all `known`, None for one that does not.

        The caller adds the times that it finds. Batches come about newest first, so that soon most
        of them claim nothing new.
        """
        for segment in reversed(self._items[self._index(log_start_offset) :]):
            for start, end in segment.stretches():
                if segment.max_timestamp <= known[-1]:
                    break
                for place in segment.places(start, end):
                    beyond = (
                        place.max_timestamp > known[-1] and place.last_offset >= log_start_offset
                    )
                    yield segment.file.pread(place.position, place.size_bytes) if beyond else None
            yield None


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
