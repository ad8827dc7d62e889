"""Report the progress of a query from Spark's reports, the kernel's counts and the ends of topics.

While the JVM is away, the last known progress is reported. Thread rule: any thread.
"""

import contextlib
from dataclasses import dataclass, field, replace

from duolog.engine.query.positions import Positions
from duolog.engine.query.reports.progress import Counters, Progress, Report
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.spark.failures import JVM_IS_GONE


@dataclass(slots=True)
class ProgressReporter:
    """The progress of one query."""

    run: SparkRun
    positions: Positions
    _last_busy: Report | None = None
    """The last report of a micro-batch or epoch that read records."""
    _last: Progress = field(default_factory=lambda: Progress("micro-batch", "starting"))

    @property
    def mode(self) -> str:
        return "real-time" if self.run.is_real_time else "micro-batch"

    def progress(self) -> Progress:
        """Return the progress of the query; after its end, the final one."""
        lifecycle = self.run.lifecycle
        if not lifecycle.ended.is_set():
            # Without a JVM the last progress is returned; the supervisor reports the reason.
            with contextlib.suppress(*JVM_IS_GONE):
                self._last = self._ask()
        return replace(self._last, state=lifecycle.state, trouble=lifecycle.trouble)

    def counters(self) -> Counters:
        """Return the counts of all JVMs; of a killed one, as of the last check."""
        with contextlib.suppress(*JVM_IS_GONE):
            self.run.count()
        return self.run.counts.total

    def _ask(self) -> Progress:
        report = self.run.report()
        if report is not None and report.records_in > 0:
            self._last_busy = report
        self.run.count()
        counters, busy, state = self.run.counts.total, self._last_busy, self.run.lifecycle.state
        return Progress(
            mode=self.mode,
            state=state,
            epoch_id=report.epoch_id if report else -1,
            records_in=counters.records_in,
            records_out=counters.records_out,
            skipped=counters.skipped,
            skipped_because=counters.skipped_because,
            late=counters.late,
            state_rows=counters.state_rows,
            records_per_second=busy.records_per_second if busy else 0.0,
            duration_ms=report.duration_ms if report else 0,
            # While the query waits for its broker, do not wait for it here, too.
            lag_records={} if state == "restarting" else self.positions.lag(),
        )
