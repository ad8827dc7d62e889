"""A query from its start to its end: one application, one checkpoint, one Spark query at a time.

    starting ─▶ catching-up ─(lag small)─▶ running ─▶ stopped
                    │  ▲ again while behind   │
                    └──┘                      └────▶ failed

Catching up is `available-now`: Spark reads what is there and ends with everything committed, so the
change to real time has no data in flight. Nothing is restarted after a failure; whoever runs the
query decides that.

Thread rule: the public methods may be called from any thread. One thread of ours waits for Spark.
"""

import contextlib
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from confluent_kafka import KafkaException
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from duolog.engine.errors import QueryFailed
from duolog.engine.failures import to_query_failed
from duolog.engine.launch import Launcher, Trigger
from duolog.engine.modes import ChosenMode
from duolog.engine.progress import Progress, Report, lag_of, merge_positions
from duolog.engine.slots import release_slots
from duolog.engine.topics import EndOffsets, TopicReader

State = Literal["starting", "catching-up", "running", "stopped", "failed"]

STOP_TIMEOUT_S: Final = 90.0
JVM_IS_GONE: Final = (Py4JError, ConnectionError)
_POLL_S: Final = 0.05


@dataclass(slots=True)
class RunningQuery:
    """A started application. Made by `Engine.start`."""

    launcher: Launcher
    topics: TopicReader
    chosen: ChosenMode
    partition_counts: dict[str, int]
    _state: State = "starting"
    _trigger: Trigger = "micro-batch"
    _failure: QueryFailed | None = None
    _stopping: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _spark_query: StreamingQuery | None = None
    _committed: EndOffsets = field(default_factory=dict)
    """Where the current Spark query began."""
    _last_busy: Report | None = None
    _last_progress: Progress = field(default_factory=lambda: Progress("micro-batch", "starting"))

    @property
    def application_id(self) -> str:
        return self.launcher.application_id

    @property
    def state(self) -> State:
        return self._state

    @property
    def has_ended(self) -> bool:
        """True once nothing of it runs any more."""
        return self._ended.is_set()

    @property
    def mode(self) -> str:
        """The mode it is in now: `micro-batch` while it catches up, and `real-time` once live."""
        return "real-time" if self._trigger == "real-time" else "micro-batch"

    def start(self) -> None:
        """Start the first Spark query, and the thread that waits for it.

        Raises:
            QueryFailed: Spark or the kernel refuses the query.
        """
        self.launcher.reset_counters()
        first: Trigger = "available-now" if self.chosen.catches_up else self.chosen.live
        try:
            self._launch(first)
        except BaseException:
            release_slots(self.launcher.checkpoint.directory)
            raise
        name = f"duolog-query-{self.application_id}"
        threading.Thread(target=self._supervise, name=name, daemon=True).start()

    def stop(self) -> None:
        """Stop the query, and return once nothing of it runs. Does nothing when it has ended."""
        with self._lock:
            self._stopping = True
            spark_query = self._spark_query
        if spark_query is not None and not self._ended.is_set():
            # A failure of the query while it stops is kept in `exception`.
            with contextlib.suppress(PySparkException, *JVM_IS_GONE):
                spark_query.stop()
        self._ended.wait(STOP_TIMEOUT_S)

    def exception(self) -> QueryFailed | None:
        """Return why the query failed, or None."""
        return self._failure

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the query; tell whether it came.

        Raises:
            QueryFailed: the query failed.
        """
        ended = self._ended.wait(timeout_s)
        if self._failure is not None:
            raise self._failure
        return ended

    def wait_until_caught_up(self, timeout_s: float) -> bool:
        """Wait until the query has read all that its topics hold now; tell whether it came to that.

        In micro-batches the results are then written and committed; in real time they are on their
        way, and written a moment later.

        Raises:
            QueryFailed: the query failed.
        """
        ends = self.topics.end_offsets(self.partition_counts)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not self._ended.wait(_POLL_S):
            if not any(lag_of(self._committed_positions(), ends).values()):
                return True
        if self._failure is not None:
            raise self._failure
        return False

    def progress(self) -> Progress:
        """Return how far the query is; after its end, how far it was."""
        if not self._ended.is_set():
            # Without a JVM the last answer stands; the thread that waits for Spark tells why.
            with contextlib.suppress(*JVM_IS_GONE):
                self._last_progress = self._ask_progress()
        return replace(self._last_progress, state=self._state)

    def _ask_progress(self) -> Progress:
        report = self._report()
        if report is not None and report.records_in > 0:
            self._last_busy = report
        counters = self.launcher.counters()
        busy = self._last_busy
        return Progress(
            mode=self.mode,
            state=self.state,
            epoch_id=report.epoch_id if report else -1,
            records_in=counters.records_in,
            records_out=counters.records_out,
            records_skipped=counters.records_skipped,
            records_per_second=busy.records_per_second if busy else 0.0,
            duration_ms=report.duration_ms if report else 0,
            lag_records=self._lag(),
        )

    def reports(self) -> tuple[Report, ...]:
        """Return Spark's recent reports of the current Spark query, the oldest first."""
        if self._spark_query is None:
            return ()
        return tuple(Report.parse(report.json) for report in self._spark_query.recentProgress)

    def _supervise(self) -> None:
        try:
            while self._await_spark():
                self._launch(self._next_trigger())
            self._state = "stopped"
        except QueryFailed as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - a query that nobody waits for must not look well
            self._fail(to_query_failed(error, self.application_id))
        finally:
            try:
                release_slots(self.launcher.checkpoint.directory)
                self.launcher.release()
            finally:
                self._ended.set()

    def _fail(self, error: QueryFailed) -> None:
        self._failure = error
        self._state = "failed"

    def _await_spark(self) -> bool:
        """Wait for the Spark query; tell whether another one is to follow it."""
        assert self._spark_query is not None
        try:
            self._spark_query.awaitTermination()
        except PySparkException as error:
            if self._stopping:
                return False
            raise to_query_failed(error, self.application_id) from error
        except JVM_IS_GONE as error:
            if self._stopping:
                return False
            raise to_query_failed(error, self.application_id) from error
        return self._state == "catching-up" and not self._stopping

    def _next_trigger(self) -> Trigger:
        if not self.chosen.waits_for_lag:
            return self.chosen.live
        lag = self._lag()
        # Where the broker tells no lag Spark catches up once more, or says what is wrong.
        if lag and sum(lag.values()) <= self.launcher.config.auto_lag_records_max:
            return self.chosen.live
        return "available-now"

    def _launch(self, trigger: Trigger) -> None:
        with self._lock:
            if self._stopping:
                return
            self._committed = self.launcher.checkpoint.committed_positions()
            self._spark_query = self.launcher.start(trigger)
            self._trigger = trigger
            self._state = "catching-up" if trigger == "available-now" else "running"

    def _report(self) -> Report | None:
        if self._spark_query is None:
            return None
        last = self._spark_query.lastProgress
        return Report.parse(last.json) if last else None

    def _lag(self) -> dict[str, int]:
        """Return what is not yet read of each source topic; nothing where no broker answers."""
        try:
            ends = self.topics.end_offsets(self.partition_counts)
        except (KafkaException, TimeoutError):  # the broker is away: Spark will say so, and better
            return {}
        return lag_of(
            merge_positions(self._reported_positions(), self.launcher.counters().positions), ends
        )

    def _committed_positions(self) -> dict[str, dict[int, int]]:
        """Return the positions whose results are written."""
        reported = self._reported_positions()
        if self._trigger != "real-time":
            return reported
        return merge_positions(reported, self.launcher.counters().positions)

    def _reported_positions(self) -> dict[str, dict[int, int]]:
        # Spark reports nothing of a real-time epoch until it ends, nor of topics without news.
        report = self._report()
        return merge_positions(self._committed, report.positions if report else {})
