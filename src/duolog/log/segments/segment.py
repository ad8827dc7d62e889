"""One segment: record batches back to back in a file, and its indexes.

    00000000000000000042.log        batches from offset 42 on, Kafka's bytes
    00000000000000000042.index      offset -> position
    00000000000000000042.timeindex  timestamp -> offset
    00000000000000000042.txnindex   aborted transactions; no file where there is none

A sealed segment opens its file and loads its indexes at the first read. Only the thread that
appends to the log uses a segment; the group commit sees its file, and nothing else of it.
"""

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from struct import Struct
from typing import Final

from duolog.log.checkpoints.recovery_point import IndexTail
from duolog.log.errors import CorruptLog
from duolog.log.files.disk import Disk, DiskFile, read_file
from duolog.log.producers.aborted_index import ABORTED_ENTRY_BYTES, AbortedIndex
from duolog.log.producers.transactions import Ended
from duolog.log.segments.index import (
    OFFSET_ENTRY_BYTES,
    RELATIVE_OFFSET_MAX,
    TIME_ENTRY_BYTES,
    OffsetIndex,
    TimeIndex,
)
from duolog.log.segments.index_builder import NO_TIMESTAMP, IndexBuilder, Place
from duolog.record.batch import HEADER_BYTES, LENGTH_END

logger = logging.getLogger(__name__)

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
ABORTED_INDEX_SUFFIX: Final = ".txnindex"
DELETED_SUFFIX: Final = ".deleted"
SUFFIXES: Final = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, ABORTED_INDEX_SUFFIX)

_SCAN_BYTES: Final = 8192
_PLACE: Final = Struct(">qi11xi8xq")
"""Base offset, length, last offset delta, max timestamp of a batch."""


_place: Final = partial(tuple.__new__, Place)
"""Makes one of a tuple, three times as fast as its class: a fetch looks at dozens."""


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020d}"


class Segment:
    """A file of batches. `size_bytes` is what reads may see of it."""

    __slots__ = (
        "_checked",
        "_created",
        "_disk",
        "_end_checked",
        "_file",
        "_from_disk",
        "_indexes",
        "_max_timestamp",
        "aborted",
        "aborted_in_file",
        "aborted_saved",
        "base_offset",
        "directory",
        "index_entries_saved",
        "size_bytes",
        "time_entries_saved",
    )

    def __init__(self, disk: Disk, directory: str, base_offset: int, size_bytes: int = 0) -> None:
        self._disk = disk
        self._file: DiskFile | None = None
        self._created = False
        self._indexes = None if size_bytes else (OffsetIndex(), TimeIndex())
        self._end_checked = not size_bytes
        self._from_disk = (0, 0)
        """Number of entries of both indexes that came from disk: those are verified against
        batches.
        """
        self._checked: set[int] = set()
        """Entries of the offset index that were seen to be right."""
        self.directory = directory
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self._max_timestamp: int | None = None
        self.aborted: AbortedIndex | None = None
        """The aborted transactions; None if there are none, or if they are not loaded."""
        self.aborted_in_file = False
        self.aborted_saved = 0
        self.index_entries_saved = 0
        self.time_entries_saved = 0

    @property
    def path(self) -> str:
        return f"{self.directory}/{segment_name(self.base_offset)}"

    @property
    def file(self) -> DiskFile:
        """The file of batches, opened at the first use."""
        if self._file is None:
            self._file = self._disk.open(self.path + LOG_SUFFIX)
            self._disk.open_files.opened(self)
        return self._file

    def create(self) -> None:
        """Make the file; its name is durable only after a sync of the directory."""
        self._file = self._disk.open(self.path + LOG_SUFFIX, create=True)
        self._file.truncate(0)
        self._created = True
        self._disk.open_files.opened(self)

    @property
    def created(self) -> bool:
        return self._created or self.size_bytes > 0

    def let_go(self) -> None:
        """Forget the open file, of which there are too many; the next use opens it again."""
        self._file = None

    @property
    def offset_index(self) -> OffsetIndex:
        index = self._load_indexes()[0]
        if not self._end_checked:
            self._ensure_whole_end(index)
        return index

    @property
    def time_index(self) -> TimeIndex:
        return self._load_indexes()[1]

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of its records; -1 where there is none."""
        if self._max_timestamp is None:
            # Retention believes it, and a search passes over a whole segment by it.
            indexes = self._load_indexes()
            if any(self._from_disk) and not self.is_right_end(*indexes, self.size_bytes):
                # Where the batches are damaged, too, what the index says must do: it may still go.
                with suppress(CorruptLog):
                    self._build_anew()
            timestamps = self.time_index.timestamps
            self._max_timestamp = timestamps[-1] if timestamps else NO_TIMESTAMP
        return self._max_timestamp

    @max_timestamp.setter
    def max_timestamp(self, timestamp_ms: int) -> None:
        self._max_timestamp = timestamp_ms

    def use_indexes(
        self, offset_index: OffsetIndex, time_index: TimeIndex, *, from_disk: bool = False
    ) -> None:
        """Take indexes of which no entry is saved; their last batch is known to be whole.

        Entries that were read `from_disk` are held against the segment as they are used.
        """
        self._indexes = (offset_index, time_index)
        self._from_disk = (len(offset_index), len(time_index)) if from_disk else (0, 0)
        self._checked.clear()
        self._end_checked = True
        self.index_entries_saved = 0
        self.time_entries_saved = 0

    def _load_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        if self._indexes is None:
            found = self.read_indexes()
            self._from_disk = (len(found[0]), len(found[1])) if found else (0, 0)
            self._indexes = found or self._rebuild_indexes()
        return self._indexes

    def _ensure_whole_end(self, offset_index: OffsetIndex) -> None:
        # A start reads no sealed segment. A file that was cut since must not give a torn batch.
        entry = len(offset_index) - 1
        if not self._is_right(offset_index, entry):
            entry = len(self._build_anew()) - 1
            offset_index = self._load_indexes()[0]
        for _ in self.places(offset_index.positions[entry] if entry >= 0 else 0):
            pass
        self._end_checked = True

    def _position_of(self, find: Callable[[OffsetIndex], int]) -> int:
        """Return the position of the entry that `find` chooses; 0 where it chooses none.

        An index has no checksum. So each entry is compared with its batch, which is read next
        anyway, and an index that differs is rebuilt.
        """
        index = self.offset_index
        entry = find(index)
        if not self._is_right(index, entry):
            index = self._build_anew()
            entry = find(index)
        return index.positions[entry] if entry >= 0 else 0

    def _is_right(self, index: OffsetIndex, entry: int) -> bool:
        if not 0 <= entry < self._from_disk[0] or entry in self._checked:
            return True
        try:
            place = next(self.places(index.positions[entry]), None)
        except CorruptLog:
            return False
        if place is None or place.last_offset - self.base_offset != index.offsets[entry]:
            return False
        self._checked.add(entry)
        return True

    def _build_anew(self) -> OffsetIndex:
        self.use_indexes(*self._rebuild_indexes())
        logger.warning("rebuilt a damaged index", extra={"segment": self.path})
        return self._load_indexes()[0]

    def read_indexes(self) -> tuple[OffsetIndex, TimeIndex] | None:
        """Return the saved indexes; None if one is missing or damaged."""
        offsets = read_file(self._disk, self.path + INDEX_SUFFIX)
        times = read_file(self._disk, self.path + TIME_INDEX_SUFFIX)
        if offsets is None or times is None:
            return None
        offset_index = OffsetIndex.decode(offsets, max(self.size_bytes, 1))
        time_index = TimeIndex.decode(times)
        if offset_index is None or time_index is None or (self.size_bytes and not time_index):
            return None
        return offset_index, time_index

    def read_aborted(self) -> AbortedIndex | None:
        """Return the saved index of aborted transactions; None if it is damaged."""
        data = read_file(self._disk, self.path + ABORTED_INDEX_SUFFIX)
        return AbortedIndex.decode(data or b"", self.base_offset)

    def use_aborted(self, index: AbortedIndex, saved: int) -> None:
        """Take an index that is known to be right, of which `saved` entries are in the file.

        Raises:
            OSError: the disk refused to remove a file that is not right any more.
        """
        self.aborted = index or None
        self.aborted_saved = saved
        if self.aborted_in_file and not index:
            self._disk.remove(self.path + ABORTED_INDEX_SUFFIX)
            self.aborted_in_file = False

    def note_aborted(self, producer_id: int, ended: Ended) -> None:
        """Add a transaction whose marker was staged."""
        if self.aborted is None:
            self.aborted = AbortedIndex()
        self.aborted.append(producer_id, ended)

    def _rebuild_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        builder = IndexBuilder(self.base_offset)
        for place in self.places(0):
            builder.add(place)
        builder.seal()
        return builder.offset_index, builder.time_index

    def index_tails(self) -> list[IndexTail]:
        """Return the index entries that are not in the files yet; `note_indexes_saved` follows."""
        offset_index, time_index = self._load_indexes()
        tails = [
            IndexTail(
                self.path + INDEX_SUFFIX,
                self.index_entries_saved * OFFSET_ENTRY_BYTES,
                offset_index.encode(self.index_entries_saved),
            ),
            IndexTail(
                self.path + TIME_INDEX_SUFFIX,
                self.time_entries_saved * TIME_ENTRY_BYTES,
                time_index.encode(self.time_entries_saved),
            ),
        ]
        if self.aborted is not None:
            # Also where nothing is new: bytes after the saved entries must be removed.
            tails.append(
                IndexTail(
                    self.path + ABORTED_INDEX_SUFFIX,
                    self.aborted_saved * ABORTED_ENTRY_BYTES,
                    self.aborted.encode(self.aborted_saved),
                )
            )
        return tails

    def note_indexes_saved(self) -> None:
        """Count all that `index_tails` has returned as saved."""
        assert self._indexes is not None, "index_tails has loaded them"
        self.index_entries_saved = len(self._indexes[0])
        self.time_entries_saved = len(self._indexes[1])
        if self.aborted is not None:
            self.aborted_saved = len(self.aborted)
            self.aborted_in_file = True

    def places(self, position: int, end: int | None = None) -> Iterator[Place]:
        """Yield the batches from `position`, where one begins, up to `end` or the last one."""
        end = self.size_bytes if end is None else end
        file = self.file
        chunk, chunk_start = b"", position
        while position < end:
            within = position - chunk_start
            if within + HEADER_BYTES > len(chunk):
                chunk, chunk_start = file.pread(position, _SCAN_BYTES), position
                within = 0
            if within + HEADER_BYTES > len(chunk):
                raise self._broken(position)
            base_offset, length, delta, timestamp = _PLACE.unpack_from(chunk, within)
            size = LENGTH_END + length
            whole = HEADER_BYTES <= size <= self.size_bytes - position
            # The checksum does not cover the base offset, and an index has 31 bits for it.
            relative_offset = base_offset + delta - self.base_offset
            if not whole or not 0 <= delta <= relative_offset <= RELATIVE_OFFSET_MAX:
                raise self._broken(position)
            yield _place((position, size, base_offset, base_offset + delta, timestamp))
            position += size

    def _broken(self, position: int) -> CorruptLog:
        return CorruptLog(
            f'segment "{self.path}{LOG_SUFFIX}" has no record batch at position {position}',
            detail="These bytes were whole once; the disk or another program changed them.",
        )

    def locate(self, offset: int) -> Place | None:
        """Return the first batch that ends at or after `offset`, or None past the last one."""
        start = self._position_of(lambda index: index.entry_for(offset - self.base_offset))
        for place in self.places(start):
            if place.last_offset >= offset:
                return place
        return None

    def cut_at_batch(self, position: int, max_bytes: int, end: int) -> tuple[int, int | None]:
        """Return the end of the batches that fit `max_bytes`; the first is always taken.

        With it comes the base offset of the batch that begins there, if one does.
        """
        limit = position + max_bytes
        if limit >= end:
            return end, None
        start = max(position, self._position_of(lambda index: index.entry_within(limit)))
        for place in self.places(start, end):
            if place.position + place.size_bytes > limit and place.position > position:
                return place.position, place.base_offset
        return end, None

    def position_for_time(self, timestamp_ms: int) -> int:
        """Return where to begin to look for the first record with this timestamp or a later one."""
        entry = self.time_index.entry_before(timestamp_ms)
        if not self._is_right_time(entry):
            self._build_anew()
            entry = self.time_index.entry_before(timestamp_ms)
        relative_offset = self.time_index.offsets[entry] if entry >= 0 else 0
        return self._position_of(lambda index: index.entry_for(relative_offset))

    def _is_right_time(self, entry: int) -> bool:
        if not 0 <= entry < self._from_disk[1]:
            return True
        times = self.time_index
        place = self.locate(self.base_offset + times.offsets[entry])
        return place is not None and place.max_timestamp == times.timestamps[entry]

    def is_right_end(self, offset_index: OffsetIndex, time_index: TimeIndex, end: int) -> bool:
        """Say whether the last times of indexes are those of the batches before position `end`.

        Batches that are not in the time index yet are after the last but one entry of the offset
        index.
        """
        try:
            return self._has_last_time(offset_index, time_index) and all(
                place.max_timestamp <= (time_index.timestamps or [NO_TIMESTAMP])[-1]
                for place in self.places(
                    offset_index.positions[-2] if len(offset_index) > 1 else 0, end
                )
            )
        except CorruptLog:
            return False

    def _has_last_time(self, offset_index: OffsetIndex, time_index: TimeIndex) -> bool:
        if not time_index:
            return True
        offset = self.base_offset + time_index.offsets[-1]
        entry = offset_index.entry_for(time_index.offsets[-1])
        places = self.places(offset_index.positions[entry] if entry >= 0 else 0)
        place = next((place for place in places if place.last_offset >= offset), None)
        return place is not None and place[3:] == (offset, time_index.timestamps[-1])

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield where stretches of batches begin and end, the last one first."""
        end = self.size_bytes
        while end > 0:
            high = end - 1
            start = self._position_of(partial(OffsetIndex.entry_within, high=high))
            yield start, end
            end = start

    def offset_bound(self, position: int) -> int | None:
        """Return an offset that is at or above all before `position`, or None for the end."""
        self._position_of(lambda index: min(bisect_left(index.positions, position), len(index) - 1))
        index = self.offset_index
        found = bisect_left(index.positions, position)
        return self.base_offset + index.offsets[found] if found < len(index) else None

    def remove(self) -> None:
        """Remove the files. Who holds the open file may read it on."""
        for suffix in SUFFIXES:
            if self._disk.exists(self.path + suffix):
                self._disk.remove(self.path + suffix)
        self.forget_file()

    def set_aside(self) -> list[str]:
        """Take the files out of the log by their names; returns them, to be removed by the caller.

        To remove a gigabyte takes a file system a tenth of a second; a name changes at once.

        Raises:
            OSError: the disk refused.
        """
        paths = []
        for suffix in SUFFIXES:
            path = self.path + suffix
            if self._disk.exists(path):
                self._disk.rename(path, path + DELETED_SUFFIX)
                paths.append(path + DELETED_SUFFIX)
        # The open file goes with its last holder: the one who removes it, or a fetch that sends.
        self._disk.open_files.closed(self)
        return paths

    def forget_file(self) -> None:
        """Drop the reference to the file; it is closed when it is no longer used."""
        self._file = None
        self._disk.open_files.closed(self)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._disk.open_files.closed(self)
