"""Restore state from changelogs after a checkpoint is lost or damaged.

    commit topic ─▶ what was committed ─┬─▶ entries that count ─▶ the levels' states ─▶ a checkpoint
    of Spark's
    changelogs ─────────────────────────┘                         offsets/N as it was ─▶ put into it

The state is that of the last recorded commit (`CommitTopic`), and the sources continue from its
offsets: later records are computed again, as after any crash, and the state counts each once.
Entries that were computed but not committed are left out. Compaction may already have removed the
earlier entry of the same key: then that one is missing, and the record that produced it is computed
again; for the exceptions see ADR 0069.

An interrupted restore leaves a mark, and the next start begins it again.
"""

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from duolog.core.counts import counted
from duolog.engine.changelog.changelogs import changelogs_of
from duolog.engine.changelog.commit_topic import Committed
from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint
from duolog.engine.exactly_once.fencing import ends_within_s, ensure_ended
from duolog.engine.query.launch.launcher import Launcher
from duolog.engine.spark.failures import to_query_failed
from duolog.engine.topics.offsets import EndOffsets
from duolog.engine.topics.topic_reader import TopicReader

logger: Final = logging.getLogger(__name__)

_LOOK_S: Final = 1
_TOLD_S: Final = 3


@dataclass(frozen=True, slots=True)
class Restored:
    """The progress of a restore."""

    application_id: str
    records: int
    """Entries read."""
    offsets_done: int
    offsets: int
    seconds: float
    done: bool = False

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The remaining time at this rate; None before the first entries."""
        if not self.offsets_done:
            return None
        return self.seconds * (self.offsets - self.offsets_done) / self.offsets_done

    def __str__(self) -> str:
        rate = f"{counted(self.records, 'entry', 'entries')}, {self.records_per_second:,.0f}/s"
        if self.done:
            return f"{rate}, {self.seconds:.1f} s"
        left = self.seconds_left
        percent = 100 * self.offsets_done // max(1, self.offsets)
        return f"{percent} %, {rate}" + ("" if left is None else f", {left:.0f} s left")


OnProgress = Callable[[Restored], None]


def restore(
    launcher: Launcher, topics: TopicReader, begun: Committed, tell: OnProgress
) -> Restored:
    """Fill the stores, and create a checkpoint from which the application continues.

    Raises:
        QueryFailed: Spark ended it, or a transaction does not end.
        BrokerUnreachable, SourceTopicMissing: a changelog cannot be read.
        CheckpointMismatch: results were committed that the changelogs do not know of.
    """
    checkpoint, spec = LoggedCheckpoint(launcher.checkpoint), launcher.spec
    # Executors may have written entries and their commit in different transactions.
    launcher.transactions.commit_decided()
    counts = dict.fromkeys(changelogs_of(spec), int(spec["tasks"]))
    within_s = ends_within_s(launcher.config)
    ensure_ended(lambda: topics.open_partitions(counts), launcher.application_id, within_s)
    ends = topics.end_offsets(counts)
    begins = topics.begin_offsets(counts)
    total = _sum(ends) - _sum(begins)
    began_at = time.monotonic()
    now = Restored(launcher.application_id, 0, 0, total, 0.0)
    if total:
        now = _run(launcher, begun, _Progress(now, _sum(begins), began_at, tell))
    launcher.transactions.take_over(begun.query, begun.number)
    checkpoint.end_restore(begun)
    done = Restored(
        now.application_id, now.records, total, total, time.monotonic() - began_at, done=True
    )
    tell(done)
    return done


@dataclass(slots=True)
class _Progress:
    last: Restored
    begin: int
    began_at: float
    tell: OnProgress

    def look(self, launcher: Launcher) -> None:
        """Report the entries that were read since the last call."""
        counted = launcher.exchange.counters()
        done = max(0, _sum(counted.positions) - self.begin)
        if done > self.last.offsets_done:
            seconds = time.monotonic() - self.began_at
            self.last = replace(
                self.last, records=counted.records_in, offsets_done=done, seconds=seconds
            )
            self.tell(self.last)

    def settle(self, launcher: Launcher) -> None:
        """Wait until everything is counted: executors in other JVMs report each second."""
        deadline = time.monotonic() + _TOLD_S
        self.look(launcher)
        while self.last.offsets_done < self.last.offsets and time.monotonic() < deadline:
            time.sleep(_LOOK_S / 10)
            self.look(launcher)


def _run(launcher: Launcher, begun: Committed, progress: _Progress) -> Restored:
    try:
        launcher.exchange.reset()
        query = launcher.start_restore(begun.generation, begun.generations)
        try:
            while not query.awaitTermination(_LOOK_S):
                progress.look(launcher)
            progress.settle(launcher)
        finally:
            with contextlib.suppress(PySparkException, Py4JError, ConnectionError):
                query.stop()
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise to_query_failed(
            error, launcher.application_id, launcher.log_path, launcher.places
        ) from error
    return progress.last


def _sum(offsets: EndOffsets) -> int:
    return sum(offset for of in offsets.values() for offset in of.values())
