"""The positions of a query in its source topics: read, written and committed, and where they end.

    committed    reported by Spark; a real-time epoch is reported only when it ends
    written      the results of all earlier records are in their topics
    read         by the kernel in this JVM, or as Spark reports
    end          of the topic partition, as a broker reports it

Thread rule: any thread.
"""

from dataclasses import dataclass
from typing import Final

from duolog.engine.errors import BrokerUnreachable, SourceTopicMissing
from duolog.engine.query.reports.progress import lag_of, merge_positions
from duolog.engine.query.source_topics import SourceTopics
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.topics.topic_client import GLANCE_S

_NO_ENDS: Final = (BrokerUnreachable, SourceTopicMissing)


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of one query."""

    run: SparkRun
    sources: SourceTopics

    def committed(self) -> dict[str, dict[int, int]]:
        """Return the positions that Spark has committed."""
        # Spark does not report a real-time epoch until it ends, nor topics without new records.
        report = self.run.report()
        return merge_positions(self.run.committed, report.positions if report else {})

    def written(self) -> dict[str, dict[int, int]]:
        """Return the positions whose results are written."""
        read = self.run.count().positions if self.run.is_real_time else {}
        return merge_positions(self.committed(), read)

    def written_and_committed(self) -> tuple[EndOffsets, EndOffsets]:
        """Return the positions that were read in each source partition, and the committed ones."""
        committed = self.committed()
        return merge_positions(committed, self.written()), committed

    def reach(self, timeout_s: float) -> tuple[EndOffsets, EndOffsets]:
        """Return the position and the end of each partition; no ends if no broker answers."""
        topics, counts = self.sources.reader, dict(self.sources.partition_counts)
        read = merge_positions(self.committed(), self.run.count().positions)
        # Partitions may have been added. If no broker answers soon, do not wait for the ends, too.
        known = topics.known_partition_counts(counts.__contains__)
        if known is None and timeout_s <= GLANCE_S:
            return read, {}
        try:
            ends = topics.end_offsets(counts | (known or {}), timeout_s)
        except _NO_ENDS:  # Spark will report it, with more detail.
            return read, {}
        return topics.unread.skip_non_records(read, ends), ends

    def lag(self) -> dict[str, int]:
        """Return the number of unread records by topic; empty if no broker answers soon."""
        return lag_of(*self.reach(GLANCE_S))

    def uncommitted(self) -> int | None:
        """Return how many records no epoch has committed; None if no broker answers soon."""
        ends = self.reach(GLANCE_S)[1]
        committed = self.sources.reader.unread.skip_non_records(self.committed(), ends)
        return sum(lag_of(committed, ends).values()) if ends else None

    def all_written(self, ends: EndOffsets) -> bool:
        """Return whether the results of all records before these ends are written."""
        done = self.sources.reader.unread.skip_non_records(self.written(), ends)
        return not any(lag_of(done, ends).values())
