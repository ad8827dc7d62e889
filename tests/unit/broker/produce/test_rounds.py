"""Rounds with a group commit that the test completes, or fails, itself."""

from collections.abc import Iterable
from typing import Any

from duolog.broker.produce.rounds import Callback, Rounds
from duolog.log.errors import LogDirOffline


class HeldCommit:
    """A group commit that completes a ticket when the test requests it."""

    def __init__(self) -> None:
        self.completed_ticket = 0
        self.failed: LogDirOffline | None = None
        self.tickets = 0

    def request(self, logs: Iterable[Any]) -> int:
        for log in logs:
            assert log.written == log.log_end_offset, "a sync was asked for before the write"
        self.tickets += 1
        return self.tickets


class FakeLog:
    """A log with real offsets only."""

    def __init__(self) -> None:
        self.log_end_offset = self.written = self.high_watermark = 0
        self.writes = 0
        self.full = False

    def write_staged(self) -> None:
        if self.full:
            raise LogDirOffline("no space left")
        self.writes += 1
        self.written = self.log_end_offset


class FakePartition:
    """A partition that has only a log."""

    def __init__(self, log: FakeLog) -> None:
        self.log = log


class Bench:
    """Rounds, a partition, and the received callbacks."""

    def __init__(self) -> None:
        self.commit = HeldCommit()
        self.heard: list[tuple[str, str | None]] = []
        self.grown: list[int] = []
        self.log = FakeLog()
        self.partition: Any = FakePartition(self.log)
        commit: Any = self.commit
        self.rounds = Rounds(
            commit, lambda partition: self.grown.append(partition.log.high_watermark)
        )

    def append(self, name: str) -> None:
        self.log.log_end_offset += 1
        self.rounds.dirty.add(self.partition)

        def call(error: Exception | None) -> None:
            self.heard.append((name, None if error is None else str(error)))

        self.rounds.pending.append(Callback(call))

    def complete(self, ticket: int) -> None:
        self.commit.completed_ticket = ticket
        self.rounds.finish()


def test_a_burst_is_one_write_and_one_sync() -> None:
    bench = Bench()
    for name in "abc":
        bench.append(name)

    bench.rounds.finish()

    assert (bench.log.writes, bench.commit.tickets) == (1, 1)


def test_nothing_is_said_and_nothing_shown_before_the_sync() -> None:
    bench = Bench()
    bench.append("a")

    bench.rounds.finish()

    assert bench.heard == []
    assert bench.log.high_watermark == 0
    bench.complete(1)
    assert bench.heard == [("a", None)]
    assert bench.log.high_watermark == 1
    assert bench.grown == [1]


def test_the_high_watermark_moves_only_as_far_as_its_own_round() -> None:
    bench = Bench()
    bench.append("a")
    bench.rounds.finish()
    bench.append("b")
    bench.rounds.finish()

    bench.complete(1)

    assert bench.heard == [("a", None)]
    assert bench.log.high_watermark == 1
    bench.complete(2)
    assert bench.log.high_watermark == 2


def test_what_a_callback_appends_is_written_before_the_loop_polls() -> None:
    """The markers of a transaction used to stay staged until the next append."""
    bench = Bench()
    bench.append("a")
    bench.rounds.finish()
    bench.rounds._flights[0].pending.append(Callback(lambda _: bench.append("b")))  # noqa: SLF001

    bench.complete(1)

    assert bench.log.writes == 2


def test_callbacks_before_the_write_may_append_and_run_once() -> None:
    bench = Bench()
    bench.append("a")
    bench.rounds.before_write.append(lambda: bench.append("b"))

    bench.rounds.finish()

    assert (bench.log.writes, bench.commit.tickets) == (1, 1)
    bench.complete(1)
    assert bench.heard == [("a", None), ("b", None)]


def test_a_failed_sync_is_reported_to_all_waiting_requests_and_stops_writes() -> None:
    bench = Bench()
    bench.append("a")
    bench.rounds.finish()
    bench.append("b")
    bench.rounds.finish()
    bench.commit.completed_ticket = 1
    bench.commit.failed = LogDirOffline("sync failed")

    bench.rounds.finish()
    bench.append("c")
    bench.rounds.finish()

    assert [name for name, _ in bench.heard] == ["a", "b", "c"]
    assert bench.heard[0][1] is None
    assert all("sync failed" in (error or "") for _, error in bench.heard[1:])
    assert bench.log.high_watermark == 1
    assert bench.log.writes == 2


def test_a_failed_write_acknowledges_nothing() -> None:
    bench = Bench()
    bench.log.full = True
    bench.append("a")

    bench.rounds.finish()

    assert bench.heard[0][1] is not None
    assert bench.log.high_watermark == 0
    assert bench.rounds.failure is not None
