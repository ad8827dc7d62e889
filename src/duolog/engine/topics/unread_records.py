"""Records that a query has not read yet: if there are any, their bytes and their event time.

Offsets alone do not say it: transaction markers and compaction leave offsets without records. So
the first unread records are sampled. Threads: any.
"""

from dataclasses import dataclass, field
from typing import Final

from duolog.engine.topics.batch_bounds import Backlog
from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.topics.record_checks import RecordChecks
from duolog.engine.topics.record_sampler import Position, RecordSampler

# Enough records of each partition to estimate their size.
_SAMPLE_RECORDS: Final = 200
# A broker that is starting or busy may need a while; without sizes the micro-batches are small.
_SAMPLE_S: Final = 10.0


@dataclass(slots=True)
class UnreadRecords:
    """The unread records in the topics of one cluster."""

    sampler: RecordSampler
    looks: RecordChecks
    _behind: dict[Position, int] = field(default_factory=dict)
    """The positions with unread records, as of the last call."""
    _empty: dict[Position, tuple[int, int]] = field(default_factory=dict)
    """Partitions with nothing left to read: the position, and the end that this holds for."""

    def skip_non_records(
        self, positions: EndOffsets, ends: EndOffsets
    ) -> dict[str, dict[int, int]]:
        """Return `positions`, each moved to the end of its partition if no record is left to read.

        A position is sampled once it has not moved for two calls: while records arrive, it moves.
        """
        behind = {
            (topic, partition): positions.get(topic, {}).get(partition, 0)
            for topic, offsets in ends.items()
            for partition, end in offsets.items()
            if positions.get(topic, {}).get(partition, 0) < end
        }
        stayed = {at: offset for at, offset in behind.items() if self._behind.get(at) == offset}
        self._behind = behind
        unknown = {
            at: offset
            for at, offset in stayed.items()
            if self._empty.get(at) != (offset, ends[at[0]][at[1]])
        }
        for at, ahead in self.sampler.sample(unknown, records_max=1).items():
            if ahead.reached_end and not ahead.records:
                self._empty[at] = (unknown[at], ends[at[0]][at[1]])
        moved = {topic: dict(offsets) for topic, offsets in positions.items()}
        for (topic, partition), offset in behind.items():
            end = ends[topic][partition]
            if self._empty.get((topic, partition)) == (offset, end):
                moved.setdefault(topic, {})[partition] = end
        return moved

    def backlogs(self, positions: EndOffsets, ends: EndOffsets) -> dict[str, Backlog]:
        """Return the backlog of each topic, estimated from a sample of each partition."""
        offsets = {
            (topic, partition): positions.get(topic, {}).get(partition, 0)
            for topic, partitions in ends.items()
            for partition in partitions
        }
        behind = {at: offset for at, offset in offsets.items() if offset < ends[at[0]][at[1]]}
        seen = self.sampler.sample(behind, _SAMPLE_RECORDS, _SAMPLE_S)
        found = {}
        for topic, partitions in ends.items():
            parts = [ahead for (name, _), ahead in seen.items() if name == topic]
            records = sum(part.records for part in parts)
            found[topic] = Backlog(
                sum(max(0, end - offsets[topic, number]) for number, end in partitions.items()),
                sum(part.bytes for part in parts) / records if records else 0.0,
            )
        return found

    def event_time_left_ms(self, positions: EndOffsets, ends: EndOffsets) -> int | None:
        """Return the time from the first unread record to the last of all; None without samples."""
        behind = {
            (topic, number): positions.get(topic, {}).get(number, 0)
            for topic, offsets in ends.items()
            for number, end in offsets.items()
            if positions.get(topic, {}).get(number, 0) < end
        }
        ahead = self.sampler.sample(behind, records_max=1).values()
        firsts = [one.first_ms for one in ahead if one.first_ms is not None]
        lasts = self.looks.last_before({at: ends[at[0]][at[1]] for at in behind}).values()
        if not firsts or not lasts:
            return 0 if ahead and all(one.reached_end for one in ahead) else None
        return max(0, max(last.timestamp_ms for last in lasts) - min(firsts))
