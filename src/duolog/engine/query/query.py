"""A query from start to end: one application, one checkpoint, one Spark query at a time.

    starting ─▶ catching-up ─(lag small)─▶ running ─▶ stopped
                    │  ▲ again while it lags  │
                    └──┘                      ├────▶ failed
                 restarting ◀─(may pass)──────┘

Catching up is `available-now`: Spark reads what is there and ends with everything committed, so the change to real
time has no data in flight. A query whose broker or JVM is away is restarted with growing pauses for `task.timeout.ms`;
any other failure ends it. Micro-batches are bounded in bytes, too, and get smaller after an out-of-memory failure.

Thread rule: the public methods may be called from any thread. One thread of ours waits for Spark.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from duolog.core.errors import DuologError
from duolog.engine.checkpoint.topic_ids import TopicWatch
from duolog.engine.errors import (
    BrokerUnreachable,
    CheckpointNotWritable,
    LogTruncated,
    QueryFailed,
    SourceTopicMissing,
    TopicRecreated,
)
from duolog.engine.modes import ChosenMode
from duolog.engine.query.callback_threads import CallbackThreads
from duolog.engine.query.check_interval import CHECK_S, next_check_s
from duolog.engine.query.for_each_callbacks import Callback
from duolog.engine.query.going_live import GoingLive
from duolog.engine.query.launch import Launcher, Trigger
from duolog.engine.query.progress import (
    Counters,
    Progress,
    Report,
    Skipped,
    lag_of,
    merge_positions,
)
from duolog.engine.query.query_repr import query_repr
from duolog.engine.query.restarts import Restarts
from duolog.engine.query.stall_detector import StallDetector
from duolog.engine.query.trigger_bounds import TriggerBounds
from duolog.engine.spark.failures import or_jvm_ended, taken_over, to_query_failed
from duolog.engine.spark.slots import release_slots
from duolog.engine.topics.topic_reader import GLANCE_S, TIMEOUT_S, EndOffsets, TopicReader
from duolog.plan.expressions.key_functions import KeyFunction

logger: Final = logging.getLogger(__name__)

State = Literal["starting", "catching-up", "running", "restarting", "stopped", "failed"]

STOP_TIMEOUT_S: Final = 90.0
JVM_IS_GONE: Final = (Py4JError, ConnectionError)
_MAY_PASS: Final = (DuologError, PySparkException, *JVM_IS_GONE)  # `to_query_failed` decides.
_NO_ENDS: Final = (BrokerUnreachable, SourceTopicMissing)
_POLL_S: Final = 0.05
_STARTS_WITHIN_S: Final = 1.0  # A stop waits so long for a start, then cancels its first writes.


@dataclass(slots=True)
class RunningQuery:
    """A started application. Created by `Engine.start`."""

    launcher: Launcher
    topics: TopicReader
    chosen: ChosenMode
    partition_counts: dict[str, int]
    renewed: Callable[[], Launcher] | None = None
    """Returns a launcher on a new JVM, once the JVM of `launcher` has ended."""
    watch: TopicWatch | None = None
    calls: Mapping[str, Callback] = field(default_factory=dict)
    key_functions: Mapping[str, KeyFunction] = field(default_factory=dict)
    """The functions that choose partitions; like `calls`, by the names of their nodes."""
    has_room: Callable[[], bool] = lambda: True
    """Returns whether the free slots suffice for its tasks in real-time mode."""
    is_done: Callable[[], bool] | None = None
    """Returns after each pass whether it was the last one; None: the query runs until it is stopped."""
    _beside: CallbackThreads = field(default_factory=CallbackThreads)
    _state: State = "starting"
    _trigger: Trigger = "micro-batch"
    _failure: QueryFailed | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)
    _trouble: str = ""
    _out_of_memory: bool = False  # The next start, on the same JVM, must read less.
    _bounds: TriggerBounds = field(default_factory=TriggerBounds)
    _earlier: Counters = field(default_factory=Counters)  # The counts of JVMs that have ended.
    _counted: Counters = field(default_factory=Counters)  # The last counts of the current JVM.
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _spark_query: StreamingQuery | None = None
    _committed: EndOffsets = field(default_factory=dict)  # Where the current Spark query began.
    _has_committed: bool = False
    _going_live: GoingLive = field(default_factory=lambda: GoingLive(0, None))
    _last_busy: Report | None = None
    _last_progress: Progress = field(default_factory=lambda: Progress("micro-batch", "starting"))
    __repr__ = query_repr

    @property
    def application_id(self) -> str:
        return self.launcher.application_id

    @property
    def state(self) -> State:
        return self._state

    @property
    def has_ended(self) -> bool:
        """True once no part of it runs any more."""
        return self._ended.is_set()

    @property
    def mode(self) -> str:
        """The current mode: `micro-batch` while it catches up, and `real-time` once live."""
        return "real-time" if self._trigger == "real-time" else "micro-batch"

    def start(self) -> None:
        """Start the first Spark query, and the thread that waits for it.

        Raises:
            QueryFailed: Spark or the kernel refuses the query.
        """
        self.launcher.reset_counters()
        self._bounds.bytes_max = self.launcher.config.bytes_per_trigger_max
        try:
            self._launch(self._first_trigger())
        except BaseException:
            # Otherwise producers would stay open until another start of this name.
            self.launcher.close()
            raise
        threading.Thread(
            target=self._supervise, name=f"duolog-query-{self.application_id}", daemon=True
        ).start()
        given = self.calls, self.key_functions, self._stop_spark
        self._beside.start(lambda: self.launcher, *given)

    def stop(self) -> None:
        """Stop the query, and return once no part of it runs. Does nothing if it has ended."""
        # Outside of the lock, which a start holds for minutes if it first writes changelogs.
        self._stopping.set()
        self._stop_spark()
        if not self._beside.is_calling:
            self._ended.wait(STOP_TIMEOUT_S)

    def _stop_spark(self) -> None:
        while not self._lock.acquire(timeout=_STARTS_WITHIN_S):
            if self._stopping.is_set():
                with contextlib.suppress(PySparkException, *JVM_IS_GONE):
                    self.launcher.cancel_start()
        spark_query = self._spark_query
        self._lock.release()
        if spark_query is not None and not self._ended.is_set():
            # The thread that waits for Spark sees the end, too, and knows that it is a stop.
            with contextlib.suppress(PySparkException, *JVM_IS_GONE):
                spark_query.stop()

    def exception(self) -> QueryFailed | None:
        """Return why the query failed, or None."""
        return self._failure

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the query; return False after the timeout.

        Raises:
            QueryFailed: the query failed.
        """
        ended = self._ended.wait(timeout_s)
        if self._failure is not None:
            raise self._failure
        return ended

    def wait_until_caught_up(self, timeout_s: float) -> bool:
        """Wait until the query has read all that its topics hold now; return False after the timeout.

        In micro-batches the results are then written and committed; in real time they are
        written a moment later.

        Raises:
            BrokerUnreachable: no broker answers.
            SourceTopicMissing: a topic was deleted.
            QueryFailed: the query failed.
        """
        # Partitions may have been added.
        ends = self.topics.end_offsets(self.topics.partition_counts(self.partition_counts))
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not self._ended.wait(_POLL_S):
            # If the JVM has ended, the thread that waits for Spark starts another, or reports why not.
            with contextlib.suppress(*JVM_IS_GONE):
                done = self.topics.skip_non_records(self._committed_positions(), ends)
                if not any(lag_of(done, ends).values()):
                    return True
        if self._failure is not None:
            raise self._failure
        return False

    def progress(self) -> Progress:
        """Return the progress of the query; after its end, the final one.

        If no broker answers within seconds, the lag is left out.
        """
        if not self._ended.is_set():
            # Without a JVM the last progress is returned; the thread that waits for Spark reports why.
            with contextlib.suppress(*JVM_IS_GONE):
                self._last_progress = self._ask_progress()
        return replace(self._last_progress, state=self._state, trouble=self._trouble)

    def _ask_progress(self) -> Progress:
        report = self._report()
        if report is not None and report.records_in > 0:
            self._last_busy = report
        counters = self._count().added_to(self._earlier)
        busy = self._last_busy
        return Progress(
            mode=self.mode,
            state=self.state,
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
            lag_records={} if self._state == "restarting" else lag_of(*self.reach(GLANCE_S)),
        )

    def skipped(self) -> tuple[Skipped, ...]:
        """Return the records that were skipped so far, by reason, without asking a broker."""
        return self.counters().skipped_because

    def counters(self) -> Counters:
        """Return the counts so far, including those of ended JVMs: for a killed one, as of the last check."""
        with contextlib.suppress(*JVM_IS_GONE):
            self._count()
        return self._counted.added_to(self._earlier)

    def _count(self) -> Counters:
        self._counted = self.launcher.counters()
        return self._counted

    def reports(self) -> tuple[Report, ...]:
        """Return Spark's recent reports of the current Spark query, oldest first."""
        recent = self._spark_query.recentProgress if self._spark_query else ()
        return tuple(Report.parse(report.json) for report in recent)

    def _supervise(self) -> None:
        try:
            self._run()
            self._note_commits()
            if self.watch is not None:
                self.watch.note(self._positions)
            self._state = "stopped"
        except Exception as error:  # noqa: BLE001 - a failed query must not seem to be running
            self._failure = error if isinstance(error, QueryFailed) else self._to_failed(error)
            self._state = "failed"
        finally:
            self._trouble = ""
            self._beside.close()
            try:
                self._stop_spark()  # Spark reports a failure before it releases the query's name.
                release_slots(self.launcher.checkpoint.directory)
                self.launcher.release()
            finally:
                self._ended.set()

    def _note_commits(self) -> None:
        # A full disk ends the query in Spark's next commit, whose error says what could not be written.
        with contextlib.suppress(CheckpointNotWritable):
            # Once true, it stays true.
            self._has_committed = self._has_committed or self.launcher.checkpoint.note_commits()

    def _positions(self) -> tuple[EndOffsets, EndOffsets]:
        """Return the positions that were read in each source partition, and the committed ones."""
        committed = self._reported_positions()
        return merge_positions(committed, self._committed_positions()), committed

    def _to_failed(self, error: Exception) -> QueryFailed:
        of = self.launcher
        told = or_jvm_ended(error) if of.jvm_has_ended else error
        failed = to_query_failed(told, of.application_id, of.log_path, of.places)
        if of.jvm_has_ended and not isinstance(error, DuologError):
            failed.detail = f"{failed.detail} {of.how_jvm_ended}".lstrip()
        # After a pause, Spark may fail on files of the process that took over, with errors of its own.
        return taken_over(failed, of.taken_over_by) if of.taken_over_by else failed

    def _run(self) -> None:
        """Run the query until it has ended for good.

        Raises:
            QueryFailed: it failed, and is not restarted.
        """
        restarts = Restarts(self.launcher.config.task_timeout_ms / 1000)
        restarts.started()
        following: Trigger | None = None
        failed: QueryFailed | None = None
        pause_s = 0.0
        while not self._stopping.is_set():
            try:
                if failed is not None:
                    following = self._restart(failed, pause_s)
                    failed = None
                    if following is None:
                        return
                if following is not None:
                    self._launch(following)
                    restarts.started()
                following = self._await_spark()
                if following is None:
                    return
            except Exception as error:
                # The JVM may end at any time, even while no thread waits for Spark, or while another JVM starts.
                if not isinstance(error, _MAY_PASS) and not self.launcher.jvm_has_ended:
                    raise
                if self._stopping.is_set():
                    return
                failed = self._to_failed(error)
                self._out_of_memory |= failed.out_of_memory
                found = restarts.pause_s(failed)
                if found is None and not failed.misplaced:
                    raise failed from (error.__cause__ if failed is error else error)
                pause_s = found or 0.0

    def _await_spark(self) -> Trigger | None:
        """Wait for the end of the Spark query; return the trigger of the next one."""
        assert self._spark_query is not None
        check_s = CHECK_S
        stall_detector = StallDetector.of(self.application_id, self.launcher.config)
        while not self._spark_query.awaitTermination(check_s) and not self._beside.failure:
            self._look_at_topics(self._spark_query)
            self._note_commits()
            if self._trigger == "real-time":
                stall_detector.look(self._reported_positions(), self._records_behind_commits)
            epoch_before = self._bounds.epoch_seen
            if self._needs_new_bounds():
                logger.info("micro-batches are not as large as planned: restarting with new bounds")
                self._spark_query.stop()
                return self._trigger
            # It uses micro-batches because slots were missing: workers of the cluster had left.
            lacks_slots = (self._trigger, self.chosen.live) == ("micro-batch", "real-time")
            if lacks_slots and self.has_room():
                self._spark_query.stop()
                return self._first_trigger()
            # Spark's end is noticed at once in any case; the end of a callback and real-time progress are not.
            is_idle = self._bounds.epoch_seen == epoch_before and self._trigger != "real-time"
            check_s = next_check_s(check_s, is_idle=is_idle and not self.calls)
        if self._beside.failure is not None:
            raise self._beside.failure
        if self._state != "catching-up" or self._stopping.is_set():
            return None
        return self._next_trigger()

    def _records_behind_commits(self) -> int | None:
        """Return how many records are not committed by an epoch; None if no broker answers soon."""
        ends = self.reach(GLANCE_S)[1]
        committed = self.topics.skip_non_records(self._reported_positions(), ends)
        return sum(lag_of(committed, ends).values()) if ends else None

    def _look_at_topics(self, spark_query: StreamingQuery) -> None:
        if self.launcher.checkpoint.handover_is_wanted:
            self._stopping.set()
            spark_query.stop()
        elif self.watch is not None:
            try:
                self.watch.look(self._positions)
            except (TopicRecreated, LogTruncated):
                spark_query.stop()
                raise

    def _restart(self, error: QueryFailed, pause_s: float) -> Trigger | None:
        """Wait, and prepare another start; return its trigger, or None if the query is being stopped.

        Raises any error of a start, for example if a JVM is killed while it starts.
        """
        self._stop_spark()  # Spark reports a failure before it releases the query's name.
        if error.misplaced:
            logger.info("%s: from now on records are shuffled to their tasks", error.message)
            self.launcher.checkpoint.set_shuffles()
            return self._first_trigger()
        logger.warning("%s; restarting in %.0f s", error.message, pause_s)
        self._trouble, self._state = error.message, "restarting"
        self.launcher.close_transactions()
        if self._stopping.wait(pause_s):
            return None
        answers = self.topics.answers()  # If none does, the launch reports it.
        if answers and self.launcher.jvm_has_ended and self.renewed is not None:
            self.launcher = self.renewed()
            self._earlier, self._counted = self._counted.added_to(self._earlier), Counters()
        if self._out_of_memory and not self.launcher.jvm_has_ended:
            # Not before the checkpoint is claimed: another process may have taken it over.
            self.launcher.checkpoint.forget_planned()
            self._bounds.halve()
            self._out_of_memory = False
        return self._first_trigger()

    def _first_trigger(self) -> Trigger:
        config = self.launcher.config
        records_max = config.auto_lag_records_max if self.chosen.waits_for_lag else None
        self._going_live = GoingLive(config.auto_lag_ms, records_max)
        return "available-now" if self.chosen.catches_up else self.chosen.live

    def _next_trigger(self) -> Trigger | None:
        if self.is_done is not None:
            return None if self.is_done() else "available-now"
        if self.chosen.live == "real-time" and not self.has_room():
            return "micro-batch"
        # If no broker reports the lag, Spark catches up once more, or reports what is wrong.
        read, ends = self.reach(TIMEOUT_S)
        is_near = self._going_live.is_near(
            lag_of(read, ends), lambda: self.topics.event_time_left_ms(read, ends)
        )
        return self.chosen.live if is_near else "available-now"

    def _launch(self, trigger: Trigger) -> None:
        if self.watch is not None:
            self.watch.ensure_whole(self.launcher.checkpoint.planned_positions())
        batch_bytes = self.topics.record_batch_bytes_max(self.launcher.written_topics)
        # Before the checkpoint is read: an epoch may be committed that it does not contain yet.
        self.launcher.open_transactions(trigger, batch_bytes)
        self._committed = self.launcher.checkpoint.committed_positions()
        bounds = {} if trigger == "real-time" else self._plan_bounds()
        with self._lock:
            if self._stopping.is_set():
                return
            self._spark_query = self.launcher.start(trigger, bounds, batch_bytes)
            self._trigger = trigger
            self._state = "catching-up" if trigger == "available-now" else "running"
            self._trouble = ""

    def _plan_bounds(self) -> dict[str, int]:
        """Return the maximum number of records of each topic in a micro-batch.

        Raises:
            QueryFailed: no broker answers.
            SourceTopicMissing: a topic was deleted.
        """
        try:
            ends = self.topics.end_offsets(self.partition_counts)
        except BrokerUnreachable as error:
            raise QueryFailed(
                f'application "{self.application_id}" cannot read: {error.message}',
                query_id=self.application_id,
                detail=error.detail,
                hint=error.hint,
                may_pass=True,
            ) from error
        seen = self._count()
        backlogs = self.topics.backlogs(self._committed, ends)
        for topic in self.launcher.global_topics:  # Each task holds a copy in memory.
            tasks = self.launcher.spec["tasks"]
            known = backlogs[topic]
            backlogs[topic] = replace(known, mean_bytes=known.mean_bytes * tasks)
        records_max = self.launcher.config.offsets_per_trigger_max
        mean_bytes = seen.added_to(self._earlier).mean_bytes
        return self._bounds.plan(backlogs, seen, mean_bytes, records_max)

    def _needs_new_bounds(self) -> bool:
        report = self._report() if self._trigger != "real-time" else None
        return self._bounds.are_outgrown(
            report, self._count(), lambda: lag_of(*self.reach(GLANCE_S))
        )

    def _report(self) -> Report | None:
        last = self._spark_query.lastProgress if self._spark_query is not None else None
        return Report.parse(last.json) if last else None

    def reach(self, timeout_s: float) -> tuple[EndOffsets, EndOffsets]:
        """Return the position and the end of each topic partition; no ends if no broker answers."""
        read = merge_positions(self._reported_positions(), self._count().positions)
        # Partitions may have been added. If no broker answers soon, do not wait for the ends, too.
        known = self.topics.known_partition_counts(self.partition_counts.__contains__)
        if known is None and timeout_s <= GLANCE_S:
            return read, {}
        try:
            ends = self.topics.end_offsets(self.partition_counts | (known or {}), timeout_s)
        except _NO_ENDS:  # Spark will report it, with more detail.
            return read, {}
        return self.topics.skip_non_records(read, ends), ends

    def _committed_positions(self) -> dict[str, dict[int, int]]:
        """Return the positions whose results are written."""
        read = {} if self._trigger != "real-time" else self._count().positions
        return merge_positions(self._reported_positions(), read)

    def _reported_positions(self) -> dict[str, dict[int, int]]:
        # Spark does not report a real-time epoch until it ends, nor topics without new records.
        report = self._report()
        return merge_positions(self._committed, report.positions if report else {})
