"""Find the segments that exceed the retention time or size.

Source: Kafka `UnifiedLog.deleteOldSegments`.
"""

from duolog.log.config import LogConfig
from duolog.log.segments.index_builder import NO_TIMESTAMP
from duolog.log.segments.segment import Segment
from duolog.log.segments.segments import Segments


def expired_segments(
    segments: Segments, config: LogConfig, now_ms: int, high_watermark: int
) -> list[Segment]:
    """Return the oldest segments that retention by time or by size gives free.

    By time even the active segment may go; by size never. Nothing above the high watermark goes.
    """
    surplus = segments.size_bytes - config.retention_bytes if config.retention_bytes >= 0 else -1
    expired: list[Segment] = []
    for segment in segments:
        if segments.end_of(segment) > high_watermark:
            break
        if not segment.size_bytes:  # Compaction has left nothing of it.
            if segment is segments.active:
                break
            expired.append(segment)
            continue
        surplus -= segment.size_bytes
        too_large = surplus >= 0 and segment is not segments.active
        newest = segment.max_timestamp
        too_old = 0 <= config.retention_ms < now_ms - newest and newest != NO_TIMESTAMP
        if not (too_old or too_large):
            break
        expired.append(segment)
    return expired
