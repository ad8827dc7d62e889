"""The bounds of micro-batches: planned at each start, and compared with what was read later.

Thread rule: the thread that waits for Spark.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from duolog.engine.query.reports.progress import Counters, Report
from duolog.engine.topics.batch_bounds import UNKNOWN_RECORD_BYTES, Backlog, records_max_by_topic

# How much larger than planned micro-batches may become before new bounds are worth a restart.
_OUTGROWN: Final = 2.0


@dataclass(slots=True)
class TriggerBounds:
    """The byte limit of a micro-batch, and what is known about the sizes of records."""

    bytes_max: int = 0
    epoch_seen: int = -1
    _seen: Counters = field(default_factory=Counters)
    _guessed: dict[str, int] = field(default_factory=dict)
    """The bounds of topics whose record sizes were unknown."""

    def plan(
        self, backlogs: Mapping[str, Backlog], seen: Counters, mean_bytes: float, records_max: int
    ) -> dict[str, int]:
        """Return the maximum number of records of each topic in a micro-batch.

        `mean_bytes` is the mean size of the records read so far; 0 without records.
        """
        self._seen, self.epoch_seen = seen, -1
        found = records_max_by_topic(
            backlogs,
            records_max=records_max,
            bytes_max=self.bytes_max,
            unknown_bytes=mean_bytes or UNKNOWN_RECORD_BYTES,
        )
        unknown = [topic for topic in found if not (backlogs[topic].mean_bytes or mean_bytes)]
        self._guessed = {topic: found[topic] for topic in unknown}
        return found

    def halve(self) -> None:
        self.bytes_max = max(1, self.bytes_max // 2)

    def are_outgrown(
        self, report: Report | None, seen: Counters, lag: Callable[[], Mapping[str, int]]
    ) -> bool:
        """Return whether a micro-batch was far too large, or a guess keeps them small.

        The size of its records is that of the records since the last check, according to the
        kernel's counts of bytes; Spark reports their number.
        """
        before = self._seen
        if report is None or report.epoch_id == self.epoch_seen:
            return False
        self._seen, self.epoch_seen = seen, report.epoch_id
        if any(report.records_by_topic.get(topic) for topic in self._guessed):
            # The number of records read proves nothing: Spark divides a bound and rounds each share
            # down.
            left = lag()
            if any(left.get(topic, 0) >= guess for topic, guess in self._guessed.items()):
                return True
        return report.records_in * seen.since(before).mean_bytes > _OUTGROWN * self.bytes_max
