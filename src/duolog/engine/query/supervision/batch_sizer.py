"""Bound the micro-batches of a query in bytes, and shrink them after an out-of-memory failure.

`TriggerBounds` computes the bounds. This module supplies what they depend on: the backlog and the
record sizes of the topics, the kernel's counts, and the failures of the query. Thread rule: the
thread that waits for Spark.
"""

from dataclasses import dataclass, field, replace

from duolog.engine.errors import BrokerUnreachable, FailureKind, QueryFailed
from duolog.engine.query.positions import Positions
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.query.supervision.trigger_bounds import TriggerBounds


@dataclass(slots=True)
class BatchSizer:
    """The sizes of the micro-batches of one query."""

    run: SparkRun
    positions: Positions
    _bounds: TriggerBounds = field(default_factory=TriggerBounds)
    _out_of_memory: bool = False
    """The next start must read less."""

    def start(self) -> None:
        """Allow micro-batches as large as the settings do."""
        self._bounds.bytes_max = self.run.launcher.config.bytes_per_trigger_max

    @property
    def epoch_seen(self) -> int:
        """The micro-batch that `is_outgrown` evaluated last; -1 if none."""
        return self._bounds.epoch_seen

    def plan(self) -> dict[str, int]:
        """Return the maximum number of records of each topic in a micro-batch.

        Raises:
            QueryFailed: no broker answers.
            SourceTopicMissing: a topic was deleted.
        """
        launcher, sources = self.run.launcher, self.positions.sources
        try:
            ends = sources.reader.end_offsets(sources.partition_counts)
        except BrokerUnreachable as error:
            raise QueryFailed(
                f'application "{launcher.application_id}" cannot read: {error.message}',
                query_id=launcher.application_id,
                detail=error.detail,
                hint=error.hint,
                kind=FailureKind(may_pass=True),
            ) from error
        seen = self.run.count()
        backlogs = sources.reader.unread.backlogs(self.run.committed, ends)
        for topic in launcher.global_topics:  # Each task holds a copy in memory.
            tasks = launcher.spec["tasks"]
            known = backlogs[topic]
            backlogs[topic] = replace(known, mean_bytes=known.mean_bytes * tasks)
        mean_bytes = self.run.counts.total.mean_bytes
        records_max = launcher.config.offsets_per_trigger_max
        return self._bounds.plan(backlogs, seen, mean_bytes, records_max)

    def is_outgrown(self) -> bool:
        """Return whether micro-batches are far from their planned size, so that a restart pays."""
        report = self.run.report() if not self.run.is_real_time else None
        return self._bounds.are_outgrown(report, self.run.count(), self.positions.lag)

    def note(self, failure: QueryFailed) -> None:
        """Remember whether a query failed because memory ran out."""
        self._out_of_memory |= failure.kind.out_of_memory

    def shrink_after_out_of_memory(self) -> None:
        """Halve the size, and drop the planned micro-batch, if memory ran out before this start."""
        # Not before the checkpoint is claimed: another process may have taken it over.
        if self._out_of_memory and not self.run.launcher.jvm_has_ended:
            self.run.launcher.checkpoint.unfinished.forget_planned()
            self._bounds.halve()
            self._out_of_memory = False
