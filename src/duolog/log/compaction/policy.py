"""Decide which logs to compact, up to which offset, and which segments to merge.

    |--- clean ---|------- dirty -------|-- not to be cleaned --|
    log start  first dirty      first uncleanable           log end

A log is worth a run when its dirty part is more than `min.cleanable.dirty.ratio` of what may be
cleaned, or holds a record that is older than `max.compaction.lag.ms`. The active segment is never
cleaned, nor what is newer than `min.compaction.lag.ms`, nor a transaction that is open.

Source: Kafka `LogCleanerManager.cleanableOffsets`, `LogToClean`, `Cleaner.groupSegmentsBySize`.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from duolog.log.config import LogConfig
from duolog.log.segments.index import RELATIVE_OFFSET_MAX

GROUP_SEGMENTS_MAX: Final = 32
"""The maximum number of segments whose files one swap renames or removes, to keep it short."""
NEVER_MS: Final = 2**63 - 1


class SegmentView(NamedTuple):
    """The inputs of the policy. `first_timestamp` is that of the first batch, -1 if unknown."""

    base_offset: int
    size_bytes: int
    first_timestamp: int
    max_timestamp: int


class LogOffsets(NamedTuple):
    """The offsets of a log that bound a run."""

    log_start: int
    last_stable: int
    log_end: int


class Cleanable(NamedTuple):
    """A log that is worth a run: up to which offset, and how urgent it is."""

    first_dirty_offset: int
    end_offset: int
    ratio: float


def cleanable(
    segments: Sequence[SegmentView],
    config: LogConfig,
    offsets: LogOffsets,
    *,
    clean_offset: int | None,
    now_ms: int,
) -> Cleanable | None:
    """Return how far a log may be cleaned, or None if that is not worth a run.

    `segments` are the sealed ones and then the active one, which is only looked at. The run before
    has cleaned up to `clean_offset`.
    """
    first_dirty = clean_offset if clean_offset is not None else offsets.log_start
    if not offsets.log_start <= first_dirty <= offsets.log_end:
        first_dirty = offsets.log_start
    end_offset = _first_uncleanable(segments, config, first_dirty, offsets.last_stable, now_ms)
    bounds = [segment.base_offset for segment in segments[1:]]
    clean_bytes = dirty_bytes = 0
    overdue = False
    for segment, end in zip(segments, bounds, strict=False):
        if end > end_offset:
            break
        if end <= first_dirty:
            clean_bytes += segment.size_bytes
            continue
        dirty_bytes += segment.size_bytes
        age_ms = now_ms - segment.first_timestamp
        overdue |= segment.first_timestamp >= 0 and age_ms > config.max_compaction_lag_ms
    if not dirty_bytes:
        return None
    ratio = dirty_bytes / (clean_bytes + dirty_bytes)
    if not overdue and ratio <= config.min_cleanable_ratio:
        return None
    return Cleanable(first_dirty, end_offset, ratio)


def _first_uncleanable(
    segments: Sequence[SegmentView],
    config: LogConfig,
    first_dirty: int,
    last_stable_offset: int,
    now_ms: int,
) -> int:
    """Return the base offset of the first segment that may not be cleaned."""
    for index, segment in enumerate(segments[:-1]):
        end = segments[index + 1].base_offset
        too_new = (
            config.min_compaction_lag_ms > 0
            and end > first_dirty
            and segment.max_timestamp > now_ms - config.min_compaction_lag_ms
        )
        if end > last_stable_offset or too_new:
            return segment.base_offset
    return segments[-1].base_offset


def group_segments(
    segments: Sequence[tuple[int, int]], segment_bytes_max: int, end_offset: int
) -> list[list[tuple[int, int]]]:
    """Group neighbours, base offset and size each, that fit into one segment.

    `end_offset` is where the last of them ends. Offsets in an index are relative to the base
    offset and have 31 bits.

    >>> group_segments([(0, 40), (10, 50), (20, 20)], 100, 30)
    [[(0, 40), (10, 50)], [(20, 20)]]
    """
    groups: list[list[tuple[int, int]]] = []
    group_bytes = 0
    for index, segment in enumerate(segments):
        end = segments[index + 1][0] if index + 1 < len(segments) else end_offset
        group_bytes += segment[1]
        if (
            not groups
            or group_bytes > segment_bytes_max
            or end - 1 - groups[-1][0][0] > RELATIVE_OFFSET_MAX
            or len(groups[-1]) >= GROUP_SEGMENTS_MAX
        ):
            groups.append([])
            group_bytes = segment[1]
        groups[-1].append(segment)
    return groups
