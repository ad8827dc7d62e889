"""The Spark queries of an application, one at a time, and the JVM that runs them.

    start ─▶ Spark query ─(ends or is stopped)─▶ start ─▶ Spark query … ─▶ ended

Thread rule: one thread starts Spark queries. Any thread may stop the current one: a start that
writes changelogs for minutes is then cancelled.
"""

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from duolog.engine.query.launch.launcher import Launcher
from duolog.engine.query.launch.triggers import Trigger
from duolog.engine.query.lifecycle import Lifecycle
from duolog.engine.query.reports.jvm_counts import JvmCounts
from duolog.engine.query.reports.progress import Counters, Report
from duolog.engine.spark.failures import JVM_IS_GONE
from duolog.engine.topics.offsets import EndOffsets

_STARTS_WITHIN_S: Final = 1.0  # A stop waits so long for a start, then cancels its first writes.


@dataclass(slots=True)
class SparkRun:
    """The current Spark query of an application, and the launcher on its JVM."""

    launcher: Launcher
    renewed: Callable[[], Launcher] | None = None
    """Returns a launcher on a new JVM, once the JVM of `launcher` has ended."""
    trigger: Trigger = "micro-batch"
    committed: EndOffsets = field(default_factory=dict)
    """The positions at which the current Spark query started."""
    counts: JvmCounts = field(default_factory=JvmCounts)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    spark_query: StreamingQuery | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def application_id(self) -> str:
        return self.launcher.application_id

    @property
    def is_real_time(self) -> bool:
        return self.trigger == "real-time"

    def start(
        self, trigger: Trigger, records_max: Mapping[str, int], record_batch_bytes_max: int | None
    ) -> bool:
        """Start a Spark query; return False if the application is to stop.

        Raises:
            QueryFailed: as `Launcher.start`.
        """
        with self._lock:
            if self.lifecycle.stopping.is_set():
                return False
            self.spark_query = self.launcher.start(trigger, records_max, record_batch_bytes_max)
            self.trigger = trigger
            return True

    def stop(self) -> None:
        """Stop the current Spark query, if there is one. Any thread."""
        while not self._lock.acquire(timeout=_STARTS_WITHIN_S):
            if self.lifecycle.stopping.is_set():
                with contextlib.suppress(PySparkException, *JVM_IS_GONE):
                    self.launcher.cancel_start()
        spark_query = self.spark_query
        self._lock.release()
        if spark_query is not None and not self.lifecycle.ended.is_set():
            # The thread that waits for Spark sees the end, too, and knows that it is a stop.
            with contextlib.suppress(PySparkException, *JVM_IS_GONE):
                spark_query.stop()

    def renew(self) -> None:
        """Continue on a new JVM if the current one has ended; raises any error of its start."""
        if self.launcher.jvm_has_ended and self.renewed is not None:
            self.launcher = self.renewed()
            self.counts.start_jvm()

    def count(self) -> Counters:
        """Return the kernel's counts of the current JVM."""
        self.counts.current = self.launcher.exchange.counters()
        return self.counts.current

    def report(self) -> Report | None:
        """Return Spark's last report of the current Spark query; None before the first."""
        last = self.spark_query.lastProgress if self.spark_query is not None else None
        return Report.parse(last.json) if last else None

    def reports(self) -> tuple[Report, ...]:
        """Return Spark's recent reports of the current Spark query, oldest first."""
        recent = self.spark_query.recentProgress if self.spark_query else ()
        return tuple(Report.parse(report.json) for report in recent)
