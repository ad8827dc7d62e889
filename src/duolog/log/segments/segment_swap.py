"""Replace some segments by a rewritten one, in one step.

    1. the new files exist as `.cleaned`, synced; without step 2 a start removes them
    2. the file `compaction.swap` names the segments; from here on a start completes the swap
    3. `.cleaned` files take the names of the first segment's, the other segments go
    4. `compaction.swap` goes

Each step is durable before the next one begins, but the swap in memory, which is the broker's,
goes with step 3: that one only changes names, and is synced after it.

    file: aborted transactions u16 (0 or 1) · number of segments u32 · base offsets i64;
          see `checked_file`

Source: Kafka `LogSegments`, `UnifiedLog.replaceSegments`, which mark every file `.swap`.
"""

import logging
from struct import Struct
from typing import Final, NamedTuple

from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import Disk, read_file
from duolog.log.segments.index import OffsetIndex, TimeIndex
from duolog.log.segments.segment import (
    ABORTED_INDEX_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    SUFFIXES,
    TIME_INDEX_SUFFIX,
    Segment,
    segment_name,
)

logger = logging.getLogger(__name__)

CLEANED_SUFFIX: Final = ".cleaned"
SWAP_FILE_NAME: Final = "compaction.swap"
_HEAD: Final = Struct(">HI")
_OFFSET: Final = Struct(">q")


class Swap(NamedTuple):
    """The segments to replace, and whether the new one has aborted transactions."""

    base_offsets: tuple[int, ...]
    aborted: bool


def promise_swap(disk: Disk, directory: str, swap: Swap) -> None:
    """Step 2: when this returns, the swap will happen, now or at the next start.

    Raises:
        OSError: the disk refused.
    """
    offsets = b"".join(_OFFSET.pack(offset) for offset in swap.base_offsets)
    content = _HEAD.pack(swap.aborted, len(swap.base_offsets)) + offsets
    write_checked(disk, directory, SWAP_FILE_NAME, content)


def change_names(disk: Disk, directory: str, swap: Swap) -> None:
    """Step 3, without its sync: may be done again from any point of it.

    Raises:
        OSError: the disk refused.
    """
    path = f"{directory}/{segment_name(swap.base_offsets[0])}"
    for suffix in SUFFIXES:
        if suffix == ABORTED_INDEX_SUFFIX and not swap.aborted:
            _remove(disk, path + suffix)
        elif disk.exists(path + suffix + CLEANED_SUFFIX):
            disk.rename(path + suffix + CLEANED_SUFFIX, path + suffix)
    for base_offset in swap.base_offsets[1:]:
        for suffix in SUFFIXES:
            _remove(disk, f"{directory}/{segment_name(base_offset)}{suffix}")


def cleaned_segment(
    disk: Disk,
    directory: str,
    base_offset: int,
    size_bytes: int,
    max_timestamp: int,
    *,
    aborted: bool,
) -> Segment:
    """Return the segment that waits in `.cleaned` files, with its indexes, under its name to be.

    Raises:
        OSError: the disk refused.
    """
    segment = Segment(disk, directory, base_offset, size_bytes)
    offsets = read_file(disk, segment.path + INDEX_SUFFIX + CLEANED_SUFFIX)
    times = read_file(disk, segment.path + TIME_INDEX_SUFFIX + CLEANED_SUFFIX)
    offset_index = OffsetIndex.decode(offsets or b"", max(size_bytes, 1))
    time_index = TimeIndex.decode(times or b"")
    if offset_index is not None and time_index is not None:
        segment.use_indexes(offset_index, time_index)
        segment.index_entries_saved = len(offset_index)
        segment.time_entries_saved = len(time_index)
    segment.max_timestamp = max_timestamp
    segment.aborted_in_file = aborted
    return segment


def end_swap(disk: Disk, directory: str) -> None:
    """Sync step 3, then step 4.

    Raises:
        OSError: the disk refused.
    """
    disk.sync_dir(directory)
    _remove(disk, f"{directory}/{SWAP_FILE_NAME}")
    # A promise that came back would speak of the files of the next swap.
    disk.sync_dir(directory)


def recall_swap(disk: Disk, directory: str) -> None:
    """Undo step 2, before step 3, and drop what was written.

    Raises:
        OSError: the disk refused.
    """
    _remove(disk, f"{directory}/{SWAP_FILE_NAME}")
    disk.sync_dir(directory)
    drop_cleaned(disk, directory)


def drop_cleaned(disk: Disk, directory: str) -> None:
    """Remove deleted files, and the output of a run that no swap file names.

    Raises:
        OSError: the disk refused.
    """
    for name in disk.list(directory):
        if name.endswith((CLEANED_SUFFIX, DELETED_SUFFIX)):
            _remove(disk, f"{directory}/{name}")


def recover_swap(disk: Disk, directory: str) -> bool:
    """Complete a swap that was promised, or drop what was not; returns whether one was completed.

    Called at a start, before anything else looks at the segments.

    Raises:
        DamagedFile: the promise is not what was written: names may have changed, or not.
        OSError: the disk refused.
    """
    data = read_checked(disk, directory, SWAP_FILE_NAME)
    if data is not None:
        logger.info("completed a swap of segments", extra={"directory": directory})
        change_names(disk, directory, _decode(data))
        end_swap(disk, directory)
    drop_cleaned(disk, directory)
    return data is not None


def is_left_over(name: str) -> bool:
    """Return whether a file of this name makes `recover_swap` necessary."""
    return name == SWAP_FILE_NAME or name.endswith((CLEANED_SUFFIX, DELETED_SUFFIX))


def _decode(data: bytes) -> Swap:
    aborted, count = _HEAD.unpack_from(data)
    offsets = (_OFFSET.unpack_from(data, _HEAD.size + i * _OFFSET.size)[0] for i in range(count))
    return Swap(tuple(offsets), bool(aborted))


def _remove(disk: Disk, path: str) -> None:
    if disk.exists(path):
        disk.remove(path)
