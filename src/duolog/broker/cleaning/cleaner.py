"""Compacts logs beside traffic: chooses one, lets a process write it anew, swaps segments.

    choose ──▶ save ──────▶ run ─────────▶ swap ─────▶ … ─▶ clean
    the log    a recovery   the process    promise beside the loop, change names and segments on
    that is    point        writes one     it, sync beside it; then the process may write the
    worst      behind it    group          next group

The loop itself only chooses and changes names. All else is done by the process, by the group
commit or by the thread beside the loop. If the process or the broker dies at any step, the log is
what it was before the swap or after it; see `segment_swap`.

A topic that is deleted, a policy that is no longer `compact`, or a log start that has moved into
the segments at hand ends the run; what it wrote is dropped.

Source: Kafka `LogCleaner`, `LogCleanerManager`.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from duolog.broker.cleaning.cleaner_process import CleanerProcess
from duolog.broker.event_loop.time_slices import run_in_slices
from duolog.core.errors import DuologError
from duolog.core.units import MIB, SECOND_MS
from duolog.log.cleaner_checkpoint import CleanerCheckpoint, write_checkpoint
from duolog.log.compaction.job import NEXT, Answer, CleanedGroup, Done, Failed
from duolog.log.compaction.policy import Cleanable
from duolog.log.disk import DiskFile
from duolog.log.segment import LOG_SUFFIX, Segment, segment_name
from duolog.log.segment_swap import (
    Swap,
    cleaned_segment,
    drop_cleaned,
    end_swap,
    promise_swap,
    recall_swap,
)

Result = TypeVar("Result")

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.topics.topics import Partition
    from duolog.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

BYTES_PER_KEY: Final = 24
_BYTES_PER_SECOND_MAX: Final = float(1024 * 1024 * MIB)
_IDLE_ROUNDS_MAX: Final = 4
"""The process costs 50 MB: it goes after so many looks that found no work."""


@dataclass
class _Run:
    """One run over one log."""

    partition: "Partition"
    found: Cleanable
    held: list[DiskFile] = field(default_factory=list)
    """The files of replaced segments: their space is given back beside the loop."""

    @property
    def log(self) -> "PartitionLog":
        return self.partition.log


class Cleaner:
    """The cleaner of one broker."""

    def __init__(self, broker: "Broker", run_beside: Callable[[Callable[[], None]], None]) -> None:
        self._broker = broker
        self._run_beside = run_beside
        self._process = CleanerProcess(broker.loop, self._on_answer, self._on_death)
        self._run: _Run | None = None
        self._uncleanable: set[PartitionLog] = set()
        self._idle_rounds = 0
        self._stopped = False
        self.runs_done = 0

    @property
    def pid(self) -> int | None:
        """The process id of the process that compacts, or None where none runs."""
        return self._process.pid

    def start(self) -> None:
        """Look for work from now on."""
        self._plan()

    def stop(self) -> None:
        """End the process. What it has written and nobody has promised is dropped at the start."""
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
        run_in_slices(self._broker.clock, self._broker.timers, self._choose())

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
        if log in self._uncleanable or not log.config.compacted:
            return None
        try:
            return log.cleanable(self._broker.clock.now_ms(), saved_only=saved_only)
        except (OSError, DuologError) as error:
            self._give_up(log, str(error))
            return None

    def _give_up(self, log: "PartitionLog", reason: str) -> None:
        self._uncleanable.add(log)
        logger.error(
            "log is not compacted any more, until the broker starts again",
            extra={"topic_partition": str(log.topic_partition), "reason": reason},
        )

    # A run.

    def _save(self, partition: "Partition") -> None:
        """Set a recovery point behind what is to be compacted: a start reads nothing before it."""
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
            logger.warning("cleaner cannot save a log", extra={"reason": str(error)})
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
        checkpoint = run.log.checkpoint._replace(
            holes_below=max(run.log.checkpoint.holes_below, run.found.end_offset)
        )
        self._beside(partial(self._write_checkpoint, run.log, checkpoint), self._begin)

    @staticmethod
    def _write_checkpoint(log: "PartitionLog", checkpoint: CleanerCheckpoint) -> CleanerCheckpoint:
        drop_cleaned(log.disk, log.directory)
        write_checkpoint(log.disk, log.directory, checkpoint)
        return checkpoint

    def _begin(self, checkpoint: CleanerCheckpoint) -> None:
        run = self._run
        assert run is not None
        log, settings = run.log, self._broker.settings
        log.allow_holes(checkpoint)
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
            self._beside(partial(_promise, run.log, answer), partial(self._swap, answer))
        elif isinstance(answer, Done):
            self._finish(run, answer)
        else:
            self._failed(run, answer)

    def _wanted(self, run: _Run) -> bool:
        """Say whether the topic is still there and still to be compacted."""
        partition = run.partition
        topic = self._broker.topics.get(partition.topic.name)
        return topic is partition.topic and run.log.config.compacted

    def _swap(self, group: CleanedGroup, promised: "_Promised") -> None:
        """Put the cleaned segment in place: the one step of a run that readers could notice."""
        run = self._run
        assert run is not None
        run.held = promised.held
        if not self._wanted(run):
            self._abandon()
            return
        if not run.log.can_swap(promised.swap.base_offsets):
            # The log start has moved into them.
            self._beside(partial(recall_swap, run.log.disk, run.log.directory), self._recalled)
            return
        try:
            run.log.swap(promised.swap, promised.segment)
        except DuologError:  # The directory is offline. Its next start completes the swap.
            self.stop()
            return
        held, run.held = run.held, []
        self._beside(partial(_end, run.log, held), self._swapped)

    def _swapped(self, _nothing: None) -> None:
        self._process.say(NEXT)

    def _recalled(self, _nothing: None) -> None:
        self._abandon()

    def _finish(self, run: _Run, done: Done) -> None:
        self._process.finished()
        checkpoint = run.log.checkpoint._replace(clean_offset=done.clean_offset)
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
        self._beside(partial(self._write_checkpoint, run.log, checkpoint), self._finished)

    def _finished(self, checkpoint: CleanerCheckpoint) -> None:
        run, self._run = self._run, None
        assert run is not None
        run.log.allow_holes(checkpoint)
        self.runs_done += 1
        self._plan(at_once=True)

    def _failed(self, run: _Run, failed: Failed) -> None:
        self._process.finished()
        if not failed.vanished:
            self._give_up(run.log, failed.message)
        self._abandon()

    def _on_death(self) -> None:
        logger.warning("the process that compacts has died; it is started anew")
        self._abandon()

    def _abandon(self) -> None:
        """End the run at hand; what was written for it is removed, now or by the next run."""
        run, self._run = self._run, None
        self._process.cancel()
        if run is not None:
            held = run.held
            self._run_beside(partial(_drop, run.log, held))
        self._plan()

    def _beside(self, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Do `work` beside the loop, and then call `then` with what it returned, if still wanted."""
        run, loop = self._run, self._broker.loop

        def done(result: Result) -> None:
            if self._run is run:
                then(result)

        def failed(error: Exception) -> None:
            if self._run is run and run is not None:
                if self._wanted(run):
                    self._give_up(run.log, str(error))
                self._abandon()

        def call() -> None:
            try:
                result = work()
            except (OSError, DuologError) as error:
                loop.call_soon_threadsafe(partial(failed, error))
            else:
                loop.call_soon_threadsafe(partial(done, result))

        self._run_beside(call)


@dataclass
class _Promised:
    """A swap that is promised on disk, and all that it needs in memory."""

    swap: Swap
    segment: Segment
    held: list[DiskFile]


def _promise(log: "PartitionLog", group: CleanedGroup) -> _Promised:
    held = [
        log.disk.open(f"{log.directory}/{segment_name(base_offset)}{LOG_SUFFIX}")
        for base_offset in group.base_offsets
    ]
    segment = cleaned_segment(
        log.disk,
        log.directory,
        group.base_offsets[0],
        group.size_bytes,
        group.max_timestamp,
        aborted=group.aborted,
    )
    swap = Swap(group.base_offsets, group.aborted)
    promise_swap(log.disk, log.directory, swap)
    return _Promised(swap, segment, held)


def _end(log: "PartitionLog", held: list[DiskFile]) -> None:
    end_swap(log.disk, log.directory)
    for file in held:
        file.close()


def _drop(log: "PartitionLog", held: list[DiskFile]) -> None:
    for file in held:
        file.close()
    if log.disk.exists(log.directory):
        recall_swap(log.disk, log.directory)
