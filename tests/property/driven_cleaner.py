"""The broker's own cleaner over logs on a disk in memory, one step after the other.

There is no loop, no thread and no process: the cleaner's requests are put into one queue and done
in that order. A test may stop after any of these steps.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any, Final

from duolog.broker.cleaning.cleaner import Cleaner
from duolog.core.errors import DuologError
from duolog.log.compaction.job import (
    NEXT,
    Answer,
    CleanedGroup,
    CompactionJob,
    decode_answer,
    encode_answer,
)
from duolog.log.compaction.worker import answers
from duolog.log.group_commit import GroupCommit
from duolog.log.partition.partition_log import PartitionLog
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

Change = Callable[[CompactionJob], CompactionJob]

SETTINGS: Final[dict[str, Any]] = {
    "log.cleaner.backoff.ms": 15_000,
    "log.cleaner.enable": True,
    "log.cleaner.dedupe.buffer.size": 27_000,
    "log.cleaner.io.buffer.load.factor": 0.9,
    "log.cleaner.io.max.bytes.per.second": 2.0**60,
    "log.cleaner.io.buffer.size": 700,
}


class _Settings:
    def value(self, name: str) -> Any:
        return SETTINGS[name]

    integer = boolean = number = value


class _Topic:
    """A topic as far as the cleaner looks at one."""

    def __init__(self, log: PartitionLog) -> None:
        self.name = log.topic_partition.topic
        self.topic = self
        self.log = log
        self.topic_partition = log.topic_partition
        self.served = [self]


class _Process:
    """Runs jobs as the compaction process does, an answer whenever one is asked for."""

    pid = None

    def __init__(self, driven: "DrivenCleaner", on_answer: Callable[[Answer], None]) -> None:
        self._driven = driven
        self._on_answer = on_answer
        self._answers: Iterator[Answer] = iter(())

    def run(self, job: CompactionJob) -> None:
        job = self._driven.change(CompactionJob.decode(job.encode()))
        self._driven.jobs.append(job)
        chance = Random(1)  # noqa: S311 - chance, no secret
        self._answers = answers(self._driven.disk, job, chance.randbytes)
        self._driven.steps.append(self._answer)

    def _answer(self) -> None:
        for answer in self._answers:
            self._on_answer(decode_answer(encode_answer(answer)))
            if isinstance(answer, CleanedGroup):
                return

    def say(self, line: str) -> None:
        assert line == NEXT
        self._driven.steps.append(self._answer)

    def cancel(self) -> None:
        self._answers = iter(())

    finished = close = cancel


class DrivenCleaner:
    """One look of the cleaner at some logs, and the run that may follow."""

    def __init__(
        self,
        disk: CrashDisk,
        clock: FakeClock,
        commit: GroupCommit,
        logs: list[PartitionLog],
        change: Change = lambda job: job,
    ) -> None:
        self.disk = disk
        self.change = change
        self.jobs: list[CompactionJob] = []
        self.steps: deque[Callable[[], None]] = deque()
        self._rounds: list[Callable[[], None]] = []
        self._commit = commit
        topics = {log.topic_partition.topic: _Topic(log) for log in logs}
        broker: Any = _Fields(
            loop=_Fields(call_soon_threadsafe=self.steps.append),
            timers=_Fields(call_later=lambda _seconds, call: self._rounds.append(call)),
            settings=_Settings(),
            topics=_Topics(topics),
            slices=_Fields(run=lambda steps: deque(steps, maxlen=0)),
            rounds=_Fields(finish=lambda: None),
            group_commit=commit,
            clock=clock,
        )
        self.cleaner = Cleaner(
            broker, self._run_in_background, lambda _, answer, __: _Process(self, answer)
        )
        self.cleaner.start()

    def _run_in_background(self, work: Callable[[], None]) -> None:
        def call() -> None:
            with suppress(OSError, DuologError):  # The caller got the error.
                work()

        self.steps.append(call)

    def run_round(self) -> None:
        """Look once for work, and do all of it."""
        looks, self._rounds = self._rounds, []
        for run_round in looks:
            run_round()
            self._commit.run_pending()
            while self.steps:
                self.steps.popleft()()


class _Fields:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class _Topics(dict[str, _Topic]):
    def __iter__(self) -> Any:
        return iter(self.values())
