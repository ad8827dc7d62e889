"""A query from start to end: one application, one checkpoint, one Spark query at a time.

    RunningQuery      the handle for callers: start, stop, wait, progress
    Supervisor        waits for Spark, checks, restarts; in a thread of its own
    SparkRun          the current Spark query, its JVM and the counts
    TriggerChooser    passes, micro-batches or real time
    BatchSizer        bounds of micro-batches, in bytes
    Positions         what is read, written and committed, and the ends of topics
    ProgressReporter  the progress for callers

Catching up is `available-now`: Spark reads what is there and ends with everything committed, so the
change to real time has no data in flight. `lifecycle` shows the states.

Thread rule: the public methods may be called from any thread.
"""

import contextlib
import threading
import time
from typing import Final

from duolog.engine.errors import QueryFailed
from duolog.engine.query.callbacks.callback_threads import CallbackThreads
from duolog.engine.query.callbacks.user_functions import UserFunctions
from duolog.engine.query.launch.launcher import Launcher
from duolog.engine.query.lifecycle import State
from duolog.engine.query.positions import Positions
from duolog.engine.query.progress_reporter import ProgressReporter
from duolog.engine.query.query_repr import query_repr
from duolog.engine.query.reports.progress import Counters, Progress, Report, Skipped
from duolog.engine.query.source_topics import SourceTopics
from duolog.engine.query.spark_run import SparkRun
from duolog.engine.query.supervision.batch_sizer import BatchSizer
from duolog.engine.query.supervision.supervisor import Supervisor
from duolog.engine.query.supervision.trigger_chooser import TriggerChooser
from duolog.engine.spark.failures import JVM_IS_GONE
from duolog.engine.topics.offsets import EndOffsets

STOP_TIMEOUT_S: Final = 90.0
_POLL_S: Final = 0.05


class RunningQuery:
    """A started application. Created by `Engine.start`."""

    __slots__ = ("_positions", "_progress", "_run", "_sources", "_supervisor")

    def __init__(
        self,
        run: SparkRun,
        sources: SourceTopics,
        triggers: TriggerChooser,
        functions: UserFunctions | None = None,
    ) -> None:
        self._run, self._sources = run, sources
        self._positions = Positions(run, sources)
        self._progress = ProgressReporter(run, self._positions)
        sizer = BatchSizer(run, self._positions)
        callbacks = CallbackThreads(functions or UserFunctions())
        self._supervisor = Supervisor(run, triggers, self._positions, sizer, callbacks)

    __repr__ = query_repr

    @property
    def application_id(self) -> str:
        return self.launcher.application_id

    @property
    def launcher(self) -> Launcher:
        """The launcher on the current JVM."""
        return self._run.launcher

    @property
    def state(self) -> State:
        return self._run.lifecycle.state

    @property
    def has_ended(self) -> bool:
        """True once no part of it runs any more."""
        return self._run.lifecycle.ended.is_set()

    @property
    def mode(self) -> str:
        """The current mode: `micro-batch` while it catches up, and `real-time` once live."""
        return self._progress.mode

    def start(self) -> None:
        """Start the first Spark query, and the thread that waits for it.

        Raises:
            QueryFailed: Spark or the kernel refuses the query.
        """
        supervisor = self._supervisor
        self.launcher.exchange.reset()
        supervisor.sizer.start()
        try:
            supervisor.launch(supervisor.first_trigger())
        except BaseException:
            # Otherwise producers would stay open until another start of this name.
            self.launcher.close()
            raise
        threading.Thread(
            target=supervisor.supervise, name=f"duolog-query-{self.application_id}", daemon=True
        ).start()
        supervisor.callbacks.start(lambda: self.launcher, self._run.stop)

    def stop(self) -> None:
        """Stop the query, and return once no part of it runs. Does nothing if it has ended."""
        # Outside of the lock, which a start holds for minutes if it first writes changelogs.
        self._run.lifecycle.stopping.set()
        self._run.stop()
        if not self._supervisor.callbacks.is_calling:
            self._run.lifecycle.ended.wait(STOP_TIMEOUT_S)

    def exception(self) -> QueryFailed | None:
        """Return why the query failed, or None."""
        return self._run.lifecycle.failure

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the query; return False after the timeout.

        Raises:
            QueryFailed: the query failed.
        """
        ended = self._run.lifecycle.ended.wait(timeout_s)
        self._raise_failure()
        return ended

    def wait_until_caught_up(self, timeout_s: float) -> bool:
        """Wait until all records that its topics hold now are read; return False after the timeout.

        In micro-batches the results are then written and committed; in real time they are
        written a moment later.

        Raises:
            BrokerUnreachable: no broker answers.
            SourceTopicMissing: a topic was deleted.
            QueryFailed: the query failed.
        """
        topics = self._sources.reader
        # Partitions may have been added.
        ends = topics.end_offsets(topics.partition_counts(self._sources.partition_counts))
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not self._run.lifecycle.ended.wait(_POLL_S):
            # If the JVM has ended, the supervisor starts another, or reports why not.
            with contextlib.suppress(*JVM_IS_GONE):
                if self._positions.all_written(ends):
                    return True
        self._raise_failure()
        return False

    def _raise_failure(self) -> None:
        if (failure := self.exception()) is not None:
            raise failure

    def progress(self) -> Progress:
        """Return the progress of the query; after its end, the final one.

        If no broker answers within seconds, the lag is left out.
        """
        return self._progress.progress()

    def skipped(self) -> tuple[Skipped, ...]:
        """Return the records that were skipped so far, by reason, without asking a broker."""
        return self.counters().skipped_because

    def counters(self) -> Counters:
        """Return the counts of all JVMs so far; of a killed one, as of the last check."""
        return self._progress.counters()

    def reports(self) -> tuple[Report, ...]:
        """Return Spark's recent reports of the current Spark query, oldest first."""
        return self._run.reports()

    def reach(self, timeout_s: float) -> tuple[EndOffsets, EndOffsets]:
        """Return the position and the end of each partition; no ends if no broker answers."""
        return self._positions.reach(timeout_s)
