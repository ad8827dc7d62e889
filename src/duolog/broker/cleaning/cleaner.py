"""Compact logs while clients use them: choose one, have a process rewrite it, swap segments.

    choose ──▶ save ──────▶ run ─────────▶ swap ─────▶ … ─▶ clean
    the        a recovery   the process    write the swap file off the event loop, rename files
    dirtiest   point        writes one     and exchange segments on it, sync off it; then the
    log        after it     group          process may write the next group

The event loop itself only chooses and renames. All other work is done by the process, by the group
commit or by a helper thread. If the process or the broker dies at any step, the log is as it was
before the swap or after it; see `segment_swap`.

A topic that is deleted, a policy that is no longer `compact`, or a log start that has moved into
the segments at hand ends the run; what it wrote is dropped.

Source: Kafka `LogCleaner`, `LogCleanerManager`.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from duolog.broker.cleaning.cleaner_process import CleanerProcess
from duolog.core.errors import DuologError
from duolog.core.ids import TopicPartition
from duolog.core.units import MIB, SECOND_MS
from duolog.log.checkpoints.cleaner_checkpoint import CleanerCheckpoint
from duolog.log.compaction.job import NEXT, Answer, CleanedGroup, CompactionJob, Done, Failed
from duolog.log.compaction.policy import Cleanable
from duolog.log.compaction_run import CompactionRun, Promised
from duolog.log.errors import LogDirOffline

Result = TypeVar("Result")

if TYPE_CHECKING:
    from duolog.broker.cleaning.needs import Broker
    from duolog.broker.event_loop.loop import Loop
    from duolog.broker.topics.topics import Partition
    from duolog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)

BYTES_PER_KEY: Final = 24
_BYTES_PER_SECOND_MAX: Final = float(1024 * 1024 * MIB)
_IDLE_ROUNDS_MAX: Final = 4
"""Number of checks without work after which the process is stopped, which frees 50 MB."""


FAILURES_MAX: Final = 2
"""Number of failures after which a log is no longer compacted."""


class Process(Protocol):
    """The interface that runs jobs: `CleanerProcess`, or a test double."""

    @property
    def pid(self) -> int | None: ...
    def run(self, job: CompactionJob) -> None: ...
    def say(self, line: str) -> None: ...
    def finished(self) -> None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


MakeProcess = Callable[["Loop", Callable[[Answer], None], Callable[[], None]], Process]


class _Run(CompactionRun):
    """One run over the log of a partition."""

    log: "PartitionLog"

    def __init__(self, partition: "Partition", found: Cleanable) -> None:
        super().__init__(partition.log, found)
        self.partition = partition


class Cleaner:
    """The cleaner of one broker."""

    def __init__(
        self,
        broker: "Broker",
        run_beside: Callable[[Callable[[], None]], None],
        make_process: MakeProcess = CleanerProcess,
    ) -> None:
        self._broker = broker
        self._run_beside = run_beside
        self._process = make_process(broker.loop, self._on_answer, self._on_death)
        self._run: _Run | None = None
        self._failures: dict[PartitionLog, int] = {}
        self._idle_rounds = 0
        self._stopped = False

    @property
    def pid(self) -> int | None:
        """The process id of the compaction process; None if it is not running."""
        return self._process.pid

    def start(self) -> None:
        """Start to check for logs to compact."""
        self._plan()

    def stop(self) -> None:
        """End the process. Output that no swap file names is removed at the start."""
        self._stopped = True
        self._run = None
        self._process.close()

    # Choosing.

    def _plan(self, *, at_once: bool = False) -> None:
        if self._stopped:
            return
        backoff_ms = self._broker.settings.integer("log.cleaner.backoff.ms")
        self._broker.timers.call_later(0.0 if at_once else backoff_ms / SECOND_MS, self._look)

    def _look(self) -> None:
        if self._stopped or self._run is not None:
            return
        if not self._broker.settings.boolean("log.cleaner.enable"):
            self._process.close()
            self._plan()
            return
        self._broker.slices.run(self._choosing())

    def _choosing(self) -> Iterator[None]:
        try:
            yield from self._choose()
        except Exception:  # Whatever happened to one look, there is a next one.
            self._plan()
            raise

    def _choose(self) -> Iterator[None]:
        """Find the log that needs it most, one log a step, and begin with it."""
        best: tuple[float, Partition] | None = None
        for topic in list(self._broker.topics):
            for partition in topic.served:
                found = self._cleanable(partition)
                if found is not None and (best is None or found.ratio > best[0]):
                    best = (found.ratio, partition)
                yield
        if self._stopped:
            return
        if best is not None:
            self._idle_rounds = 0
            self._save(best[1])
            return
        self._idle_rounds += 1
        if self._idle_rounds >= _IDLE_ROUNDS_MAX:
            self._process.close()
        self._plan()

    def _cleanable(self, partition: "Partition", *, saved_only: bool = False) -> Cleanable | None:
        log = partition.log
        if self._failures.get(log, 0) >= FAILURES_MAX or not log.config.compacted:
            return None
        try:
            return log.cleanable(self._broker.clock.now_ms(), saved_only=saved_only)
        except (OSError, DuologError) as error:
            self._note_failure(log, str(error))
            return None

    @property
    def uncleanable(self) -> list[TopicPartition]:
        """The logs that are not compacted any more, because it failed too often."""
        if not self._failures:
            return []
        return [
            partition.topic_partition
            for topic in self._broker.topics
            for partition in topic.served
            if self._failures.get(partition.log, 0) >= FAILURES_MAX
        ]

    def _note_failure(self, log: "PartitionLog", reason: str) -> None:
        """Count a failure; a log that fails again is left alone, and others have their turn."""
        self._failures[log] = times = self._failures.get(log, 0) + 1
        facts = {"topic_partition": str(log.topic_partition), "reason": reason}
        if times < FAILURES_MAX:
            logger.warning("compaction of a log failed; it is tried once more", extra=facts)
        else:
            logger.error(
                "log is not compacted any more, until the broker starts again", extra=facts
            )

    # A run.

    def _save(self, partition: "Partition") -> None:
        """Set a recovery point after the part to be compacted: a start reads nothing before it."""
        try:
            self._broker.rounds.finish()
            loop = self._broker.loop
            run_once = partial(self._saved, partition)
            saved: list[Cleanable] = []
            taken = self._broker.group_commit.save(
                partition.log, lambda: loop.call_soon_threadsafe(lambda: run_once(saved))
            )
            found = self._cleanable(partition, saved_only=True)
        except (OSError, DuologError) as error:
            self._note_failure(partition.log, str(error))
            self._plan()
            return
        if not taken or found is None:
            self._plan()
            return
        saved.append(found)
        self._run = _Run(partition, found)

    def _saved(self, partition: "Partition", saved: list[Cleanable]) -> None:
        run = self._run
        if run is None or run.partition is not partition or not saved:
            return
        if not self._wanted(run):
            self._abandon()
            return
        self._beside(run.prepare, self._begin)

    def _begin(self, checkpoint: CleanerCheckpoint) -> None:
        run = self._run
        assert run is not None
        log, settings = run.log, self._broker.settings
        run.announce(checkpoint)
        buffer_bytes = settings.integer("log.cleaner.dedupe.buffer.size")
        load_factor = settings.number("log.cleaner.io.buffer.load.factor")
        bytes_per_second = settings.number("log.cleaner.io.max.bytes.per.second")
        job = log.compaction_job(
            run.found,
            now_ms=self._broker.clock.now_ms(),
            keys_max=int(buffer_bytes * load_factor) // BYTES_PER_KEY,
            chunk_bytes=settings.integer("log.cleaner.io.buffer.size"),
            bytes_per_second=bytes_per_second if bytes_per_second < _BYTES_PER_SECOND_MAX else 0.0,
        )
        try:
            self._process.run(job)
        except OSError as error:
            logger.warning("cleaner cannot be started", extra={"reason": str(error)})
            self._abandon()

    def _on_answer(self, answer: Answer) -> None:
        run = self._run
        if run is None:
            return
        if not self._wanted(run):
            self._abandon()
        elif isinstance(answer, CleanedGroup):
            self._beside(partial(run.promise, answer), self._swap)
        elif isinstance(answer, Done):
            self._finish(run, answer)
        else:
            self._failed(run, answer)

    def _wanted(self, run: _Run) -> bool:
        """Say whether the topic is still there and still to be compacted."""
        partition = run.partition
        topic = self._broker.topics.get(partition.topic.name)
        return topic is partition.topic and run.log.config.compacted

    def _swap(self, promised: Promised) -> None:
        run = self._run
        assert run is not None
        if not self._wanted(run):
            self._abandon()
            return
        try:
            swapped = run.swap(promised)
        except LogDirOffline:
            self.stop()
            return
        if swapped:
            self._beside(run.end, self._swapped)
        else:
            self._abandon()

    def _swapped(self, _nothing: None) -> None:
        self._process.say(NEXT)

    def _finish(self, run: _Run, done: Done) -> None:
        self._process.finished()
        logger.info(
            "compacted a log",
            extra={
                "topic_partition": str(run.log.topic_partition),
                "from_offset": run.found.first_dirty_offset,
                "to_offset": done.clean_offset,
                "bytes_read": done.bytes_read,
                "bytes_written": done.bytes_written,
                "seconds": round(done.seconds, 3),
            },
        )
        self._beside(partial(run.finish, done.clean_offset), self._finished)

    def _finished(self, checkpoint: CleanerCheckpoint) -> None:
        run, self._run = self._run, None
        assert run is not None
        run.announce(checkpoint)
        self._failures.pop(run.log, None)
        self._plan(at_once=True)

    def _failed(self, run: _Run, failed: Failed) -> None:
        self._process.finished()
        if not failed.vanished:
            self._note_failure(run.log, failed.message)
        self._abandon()

    def _on_death(self) -> None:
        logger.warning("the compaction process has died; starting it again")
        if self._run is not None:
            self._note_failure(self._run.log, "the compaction process has died of it")
        self._abandon()

    def _abandon(self) -> None:
        """Abort the current run; its output files are removed now or by the next run."""
        run, self._run = self._run, None
        self._process.cancel()
        if run is not None:
            self._run_beside(run.drop)
        self._plan()

    def _beside(self, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Do `work` off the event loop, then call `then` with its result, unless the run ended."""
        run, loop = self._run, self._broker.loop

        def done(result: Result) -> None:
            if self._run is not run:
                return
            try:
                then(result)
            except Exception as error:  # noqa: BLE001 - a run that cannot continue is aborted, see below
                failed(error)

        def failed(error: Exception) -> None:
            if isinstance(error, LogDirOffline):  # Final: there is nothing to undo.
                self.stop()
            elif self._run is run and run is not None:
                if self._wanted(run):
                    self._note_failure(run.log, str(error))
                self._abandon()
            if not isinstance(error, OSError | DuologError):
                raise error  # Unexpected: the loop logs it, and the stop is not a clean one.

        def call() -> None:
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - the edge of the thread; see above
                loop.call_soon_threadsafe(partial(failed, error))
            else:
                loop.call_soon_threadsafe(partial(done, result))

        self._run_beside(call)
