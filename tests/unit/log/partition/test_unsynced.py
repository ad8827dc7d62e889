"""Only the group commit knows the data that a log has passed to it: no error on the way may lose it."""

import errno
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from duolog.log import LogManager, PartitionLog
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

NO_DESCRIPTOR = OSError(errno.EMFILE, "too many open files")
SEEDS = range(24)


class TwoLogs:
    """Two logs of small segments, whose files are closed and opened again all the time."""

    def __init__(self, durability: str = "fsync") -> None:
        self.disk = CrashDisk()
        self.manager = LogManager(self.disk, "/data", FakeClock(), {"durability": durability})
        self.commit = self.manager.group_commit("fsync", lambda: None, threaded=False)
        for name in ("a", "b"):
            self.manager.topics.create(name, 1, {"segment.bytes": "1024"})

    def log(self, name: str) -> PartitionLog:
        return self.manager.log(name, 0)

    def write(self, name: str, *, batches: int = 1) -> None:
        for _ in range(batches):
            self.log(name).append(memoryview(encode_batch([Record(0, 1, b"k", b"v" * 400)])))
        self.log(name).write_staged()

    def close_files(self) -> None:
        """Let the one log's segments close those of the other."""
        for segment in [*self.log("a")._segments, *self.log("b")._segments]:  # noqa: SLF001
            segment.let_go()

    def acknowledge(self, *names: str) -> None:
        ticket = self.commit.request([self.log(name) for name in names])
        self.commit.run_pending()
        assert self.commit.completed_ticket >= ticket

    def ensure_kept(self) -> None:
        """Look at what starts find after the power went now."""
        ends = {name: self.log(name).log_end_offset for name in ("a", "b")}
        for seed in SEEDS:
            again = LogManager(self.disk.crash(seed), "/data", FakeClock(), {})
            assert {n: again.log(n, 0).log_end_offset for n in ends} == ends, seed


def by_the_timer(logs: TwoLogs) -> None:
    logs.commit.request_points([logs.log("b"), logs.log("a")])


def by_a_commit(logs: TwoLogs) -> None:
    logs.commit.request([logs.log("b"), logs.log("a")])


def by_the_cleaner(logs: TwoLogs) -> None:
    logs.commit.save(logs.log("a"), lambda: None)


@pytest.mark.parametrize("take", [by_the_timer, by_a_commit, by_the_cleaner])
def test_a_file_that_cannot_be_opened_costs_no_acknowledged_record(
    take: Callable[[TwoLogs], None],
) -> None:
    logs = TwoLogs()
    logs.write("a")
    logs.write("b")
    logs.acknowledge("a", "b")
    logs.write("a", batches=5)  # Rolls: the names of new segments are not durable yet.
    logs.write("b")
    logs.log("a").roll()
    logs.close_files()

    logs.disk.fail("open", NO_DESCRIPTOR)
    with pytest.raises(OSError, match="too many") if take is not by_the_timer else nullcontext():
        take(logs)
    logs.disk.heal()
    logs.write("a")
    logs.acknowledge("a", "b")

    logs.ensure_kept()


def test_records_accepted_before_an_error_become_durable() -> None:
    logs = TwoLogs()
    logs.write("a")
    logs.write("b")
    b = logs.log("b")
    b._active.let_go()  # noqa: SLF001
    opened = logs.disk.open

    def refuse_b(path: str, *, create: bool = False) -> object:
        if path.startswith(b.directory):
            raise NO_DESCRIPTOR
        return opened(path, create=create)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs.disk, "open", refuse_b)
        with pytest.raises(OSError, match="too many"):
            logs.commit.request([logs.log("a"), b])
    logs.commit.run_pending()
    logs.acknowledge("b")

    logs.ensure_kept()


def test_a_recovery_point_that_cannot_be_taken_stops_no_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logs = TwoLogs()
    logs.manager.topics.alter("a", {"segment.bytes": "1024"})
    logs.write("a")
    logs.write("b")

    def refuse(_self: PartitionLog, *, bytes_min: int | None = None) -> None:
        raise NO_DESCRIPTOR

    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "take_recovery_point", refuse)
        logs.acknowledge("a", "b")

    assert logs.commit.failed is None
    logs.ensure_kept()


def test_a_new_segment_is_durable_before_what_is_in_it_is_acknowledged() -> None:
    # Retention rolls, and the timer takes a recovery point before anything is in the new segment.
    for cut in range(12):
        logs = TwoLogs()
        logs.write("a")
        logs.acknowledge("a")
        logs.log("a").roll()
        logs.commit.request_points([logs.log("a")])
        logs.write("a")
        ticket = logs.commit.request([logs.log("a")])
        logs.disk.power_off_after(operations=cut)
        logs.commit.run_pending()

        durable = 2 if logs.commit.completed_ticket >= ticket else 1
        for seed in SEEDS:
            again = LogManager(logs.disk.crash(seed), "/data", FakeClock(), {})
            assert again.log("a", 0).log_end_offset >= durable, (cut, seed)
