"""Keep an application running: wait for its Spark query, check it, and start the next one.

    launch ─▶ wait ─(a pass has ended, or new bounds)─▶ launch …
               ├─(stopped, or handed over)─▶ the end
               └─(failed)─▶ pause ─▶ launch … or the end, for good

A query whose broker or JVM is away is restarted with growing pauses for `task.timeout.ms`; any
other failure ends it. Thread rule: `launch` first in the thread that starts the query, then
everything in the one that waits for Spark.
"""

import contextlib
import logging
from dataclasses import dataclass
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from duolog.core.errors import DuologError
from duolog.engine.errors import CheckpointNotWritable, LogTruncated, QueryFailed, TopicRecreated
from duolog.engine.query.callbacks.callback_threads import CallbackThreads
from duolog.engine.query.launch.triggers import Trigger
from duolog.engine.query.positions import Positions
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.query.supervision.batch_sizer import BatchSizer
from duolog.engine.query.supervision.check_interval import CHECK_S, next_check_s
from duolog.engine.query.supervision.restarts import Restarts
from duolog.engine.query.supervision.stall_detector import StallDetector
from duolog.engine.query.supervision.trigger_chooser import TriggerChooser
from duolog.engine.spark.failures import JVM_IS_GONE, or_jvm_ended, taken_over, to_query_failed
from duolog.engine.spark.slots import release_slots

logger: Final = logging.getLogger(__name__)

_MAY_PASS: Final = (DuologError, PySparkException, *JVM_IS_GONE)  # `to_query_failed` decides.


@dataclass(slots=True)
class Supervisor:
    """Runs one application to its end."""

    run: SparkRun
    triggers: TriggerChooser
    positions: Positions
    sizer: BatchSizer
    callbacks: CallbackThreads
    _has_committed: bool = False

    def supervise(self) -> None:
        """Run the application until it has stopped or failed, then release what it holds."""
        lifecycle, watch = self.run.lifecycle, self.positions.sources.watch
        try:
            self._run()
            self._note_commits()
            if watch is not None:
                watch.note(self.positions.written_and_committed)
            lifecycle.state = "stopped"
        except Exception as error:  # noqa: BLE001 - a failed query must not seem to be running
            failure = error if isinstance(error, QueryFailed) else self._to_failed(error)
            lifecycle.failure, lifecycle.state = failure, "failed"
        finally:
            lifecycle.trouble = ""
            self.callbacks.close()
            try:
                self.run.stop()  # Spark reports a failure before it releases the query's name.
                release_slots(self.run.launcher.checkpoint.directory)
                self.run.launcher.release()
            finally:
                lifecycle.ended.set()

    def launch(self, trigger: Trigger) -> None:
        """Start a Spark query, unless the application is to stop.

        Raises:
            QueryFailed: Spark or the kernel refuses the query, or no broker answers.
            LogTruncated, TopicRecreated: the topics are not those that were read.
        """
        launcher, sources = self.run.launcher, self.positions.sources
        if sources.watch is not None:
            sources.watch.ensure_whole(launcher.checkpoint.planned_positions())
        batch_bytes = sources.reader.record_batch_bytes_max(launcher.written_topics)
        # Before the checkpoint is read: an epoch may be committed that it does not contain yet.
        launcher.transactions.open(trigger, batch_bytes)
        self.run.committed = launcher.checkpoint.committed_positions()
        bounds = {} if trigger == "real-time" else self.sizer.plan()
        if self.run.start(trigger, bounds, batch_bytes):
            lifecycle = self.run.lifecycle
            lifecycle.state = "catching-up" if trigger == "available-now" else "running"
            lifecycle.trouble = ""

    def first_trigger(self) -> Trigger:
        """Return the trigger of a start or restart."""
        return self.triggers.first(self.run.launcher.config)

    def _run(self) -> None:
        """Run the query until it has ended for good.

        Raises:
            QueryFailed: it failed, and is not restarted.
        """
        restarts = Restarts(self.run.launcher.config.task_timeout_ms / 1000)
        restarts.started()
        following: Trigger | None = None
        failed: QueryFailed | None = None
        pause_s = 0.0
        while not self.run.lifecycle.stopping.is_set():
            try:
                if failed is not None:
                    following = self._restart(failed, pause_s)
                    failed = None
                    if following is None:
                        return
                if following is not None:
                    self.launch(following)
                    restarts.started()
                following = self._await_spark()
                if following is None:
                    return
            except Exception as error:
                # The JVM may end at any time, even while no thread waits for Spark, or while
                # another JVM starts. PySpark then raises whatever it stumbles over.
                if not isinstance(error, _MAY_PASS) and not self.run.launcher.jvm_has_ended:
                    raise
                if self.run.lifecycle.stopping.is_set():
                    return
                failed = self._to_failed(error)
                self.sizer.note(failed)
                found = restarts.pause_s(failed)
                if found is None and not failed.kind.misplaced:
                    raise failed from (error.__cause__ if failed is error else error)
                pause_s = found or 0.0

    def _await_spark(self) -> Trigger | None:
        """Wait for the end of the Spark query; return the trigger of the next one."""
        run, spark_query = self.run, self.run.spark_query
        assert spark_query is not None
        check_s = CHECK_S
        stall_detector = StallDetector.of(run.application_id, run.launcher.config)
        while not spark_query.awaitTermination(check_s) and not self.callbacks.failure:
            self._look_at_topics(spark_query)
            self._note_commits()
            if run.is_real_time:
                stall_detector.look(self.positions.committed(), self.positions.uncommitted)
            epoch_before = self.sizer.epoch_seen
            if self.sizer.is_outgrown():
                logger.info("micro-batches are not as large as planned: restarting with new bounds")
                spark_query.stop()
                return run.trigger
            if self.triggers.may_leave_micro_batches(run.trigger):
                spark_query.stop()
                return self.first_trigger()
            # Spark's end is noticed at once in any case; the end of a callback and real-time
            # progress are not.
            is_idle = self.sizer.epoch_seen == epoch_before and not run.is_real_time
            check_s = next_check_s(check_s, is_idle=is_idle and not self.callbacks.functions.calls)
        if self.callbacks.failure is not None:
            raise self.callbacks.failure
        if run.lifecycle.state != "catching-up" or run.lifecycle.stopping.is_set():
            return None
        return self.triggers.after_a_pass(self.positions)

    def _restart(self, error: QueryFailed, pause_s: float) -> Trigger | None:
        """Wait, and prepare another start; return its trigger, or None if the query is to stop.

        Raises any error of a start, for example if a JVM is killed while it starts.
        """
        run, lifecycle = self.run, self.run.lifecycle
        run.stop()  # Spark reports a failure before it releases the query's name.
        if error.kind.misplaced:
            logger.info("%s: from now on records are shuffled to their tasks", error.message)
            run.launcher.checkpoint.set_shuffles()
            return self.first_trigger()
        logger.warning("%s; restarting in %.0f s", error.message, pause_s)
        lifecycle.trouble, lifecycle.state = error.message, "restarting"
        run.launcher.transactions.close()
        if lifecycle.stopping.wait(pause_s):
            return None
        if self.positions.sources.reader.answers():  # If none does, the launch reports it.
            run.renew()
        self.sizer.shrink_after_out_of_memory()
        return self.first_trigger()

    def _look_at_topics(self, spark_query: StreamingQuery) -> None:
        watch = self.positions.sources.watch
        if self.run.launcher.checkpoint.handover_is_wanted:
            self.run.lifecycle.stopping.set()
            spark_query.stop()
        elif watch is not None:
            try:
                watch.look(self.positions.written_and_committed)
            except (TopicRecreated, LogTruncated):
                spark_query.stop()
                raise

    def _note_commits(self) -> None:
        # A full disk ends the query in Spark's next commit, whose error says what could not be
        # written.
        with contextlib.suppress(CheckpointNotWritable):
            checkpoint = self.run.launcher.checkpoint
            # Once true, it stays true.
            self._has_committed = self._has_committed or checkpoint.note_commits()

    def _to_failed(self, error: Exception) -> QueryFailed:
        of = self.run.launcher
        reported = or_jvm_ended(error) if of.jvm_has_ended else error
        failed = to_query_failed(reported, of.application_id, of.log_path, of.places)
        if of.jvm_has_ended and not isinstance(error, DuologError):
            failed.detail = f"{failed.detail} {of.how_jvm_ended}".lstrip()
        # After a pause, Spark may fail on files of the process that took over, with errors of its
        # own.
        return taken_over(failed, of.taken_over_by) if of.taken_over_by else failed
