import errno
from threading import Event
from typing import Final

import pytest

from duolog.core.setting_types import Value
from duolog.log import GroupCommit, LogManager, PartitionLog
from duolog.log.errors import LogDirOffline
from duolog.log.files.disk import read_file
from duolog.log.journal import whole_frames
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

SECONDS_MAX: Final = 60


class Desk:
    """A disk, a topic of sixteen partitions and a group commit."""

    def __init__(self, *, threaded: bool = False, **settings: Value) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.disk = CrashDisk()
        self.manager = LogManager(self.disk, "/data", FakeClock(), named)
        self.manager.topics.create("t", 16)
        self.woken = Event()
        self.commit = self.manager.group_commit("fsync", self.woken.set, threaded=threaded)

    def write(self, partitions: int) -> list[PartitionLog]:
        logs = [self.manager.log("t", partition) for partition in range(partitions)]
        for log in logs:
            log.append(memoryview(encode_batch([Record(0, 1, b"k", b"v" * 50)])))
            log.write_staged()
        return logs

    def changes(self) -> list[str]:
        seen: list[str] = []
        self.disk.on_change = seen.append
        return seen


def test_a_ticket_completes_only_when_its_bytes_would_survive() -> None:
    desk = Desk()
    logs = desk.write(2)

    ticket = desk.commit.request(logs)
    before = desk.commit.completed_ticket
    desk.commit.run_pending()

    assert before < ticket <= desk.commit.completed_ticket
    assert desk.woken.is_set()
    for seed in range(10):
        again = LogManager(desk.disk.crash(seed), "/data", FakeClock(), {})
        assert [again.log("t", p).log_end_offset for p in range(2)] == [1, 1]


def test_requests_that_wait_share_one_sync() -> None:
    desk = Desk()
    desk.commit.request(desk.write(1))
    desk.commit.run_pending()
    seen = desk.changes()

    tickets = [desk.commit.request(desk.write(1)) for _ in range(5)]
    desk.commit.run_pending()

    assert desk.commit.completed_ticket == tickets[-1]
    assert seen.count("sync") == 1


def test_few_dirty_partitions_are_synced_one_by_one_and_many_through_the_journal() -> None:
    desk = Desk()
    desk.commit.request(desk.write(16))
    desk.commit.run_pending()
    desk.manager.group_commit("fsync", lambda: None, threaded=False).close()
    seen = desk.changes()

    desk.commit.request(desk.write(7))
    desk.commit.run_pending()
    few = seen.count("sync")
    seen.clear()
    desk.commit.request(desk.write(16))
    desk.commit.run_pending()

    assert few == 7
    assert seen.count("sync") == 1
    assert desk.disk.list("/data/journal")


def test_large_writes_are_not_written_twice() -> None:
    desk = Desk()
    logs = [desk.manager.log("t", partition) for partition in range(16)]
    for log in logs:
        log.append(memoryview(encode_batch([Record(0, 1, b"k", bytes(70_000))])))
        log.write_staged()

    desk.commit.request(logs)
    desk.commit.run_pending()

    assert desk.disk.list("/data/journal") == []


def test_an_idle_group_commit_and_a_closed_one_leave_no_journal() -> None:
    desk = Desk()
    desk.commit.request(desk.write(16))
    desk.commit.run_pending()
    assert desk.disk.list("/data/journal")

    desk.commit.run_pending()

    assert desk.disk.list("/data/journal") == []
    desk.commit.request(desk.write(16))
    desk.commit.close()
    assert desk.disk.list("/data/journal") == []


def test_the_journal_alone_brings_the_segments_back() -> None:
    desk = Desk()
    desk.commit.request(desk.write(16))
    desk.commit.run_pending()

    ends = set()
    for seed in range(20):
        again = LogManager(desk.disk.crash(seed), "/data", FakeClock(), {})
        ends |= {again.log("t", partition).log_end_offset for partition in range(16)}

    assert ends == {1}


def test_a_journal_that_is_cut_off_gives_its_whole_frames() -> None:
    desk = Desk()
    desk.commit.request(desk.write(16))
    desk.commit.run_pending()
    (name,) = desk.disk.list("/data/journal")
    content = read_file(desk.disk, f"/data/journal/{name}") or b""

    whole = list(whole_frames(content))
    counts = [len(list(whole_frames(content[:end]))) for end in range(len(content))]

    assert len(whole) == 16
    assert counts == sorted(counts)
    assert counts[-1] == 15


@pytest.mark.parametrize("partitions", [1, 16])
def test_a_failed_sync_completes_no_ticket_ever_again(partitions: int) -> None:
    desk = Desk()
    logs = desk.write(partitions)
    desk.disk.fail("sync", OSError(errno.EIO, "I/O error"))
    desk.commit.request(logs)

    desk.commit.run_pending()
    desk.disk.heal()

    assert desk.commit.completed_ticket == 0
    assert desk.woken.is_set()
    assert desk.commit.failed is not None
    assert desk.commit.failed.code == 56
    with pytest.raises(LogDirOffline):
        desk.commit.request(logs)
    with pytest.raises(LogDirOffline):
        desk.manager.close()
    assert not desk.disk.exists("/data/clean-shutdown")


def test_durability_of_the_system_completes_at_once_and_syncs_nothing() -> None:
    desk = Desk()
    commit = desk.manager.group_commit("os", desk.woken.set, threaded=False)
    logs = desk.write(3)
    seen = desk.changes()

    ticket = commit.request(logs)
    commit.run_pending()

    assert commit.completed_ticket == ticket
    assert "sync" not in seen
    assert not desk.woken.is_set()


def test_a_topic_that_is_deleted_before_its_sync_harms_nobody() -> None:
    desk = Desk(log_recovery_point_bytes=1)
    ticket = desk.commit.request(desk.write(16))

    desk.manager.topics.delete("t")
    desk.commit.run_pending()
    desk.commit.run_pending()

    assert desk.commit.failed is None
    assert desk.commit.completed_ticket == ticket


def test_who_waits_for_the_recovery_point_of_a_deleted_topic_is_told() -> None:
    desk = Desk()
    (log,) = desk.write(1)
    told: list[bool] = []
    assert desk.commit.save(log, lambda: told.append(True))

    desk.manager.topics.delete("t")
    desk.commit.run_pending()

    assert desk.commit.failed is None
    assert told == [True]


def test_the_thread_serves_requests_and_ends_when_it_is_closed() -> None:
    desk = Desk(threaded=True)

    for _ in range(20):
        ticket = desk.commit.request(desk.write(3))
        while desk.commit.completed_ticket < ticket:
            assert desk.woken.wait(SECONDS_MAX)
            desk.woken.clear()
    desk.commit.close()

    assert desk.commit.failed is None


def test_a_group_commit_without_a_journal_syncs_each_file() -> None:
    desk = Desk()
    commit = GroupCommit("fsync", desk.woken.set, threaded=False)

    ticket = commit.request(desk.write(16))
    commit.run_pending()

    assert commit.completed_ticket == ticket
    assert desk.disk.list("/data/journal") == []
