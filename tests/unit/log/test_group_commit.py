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


class Harness:
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
    harness = Harness()
    logs = harness.write(2)

    ticket = harness.commit.request(logs)
    before = harness.commit.completed_ticket
    harness.commit.run_pending()

    assert before < ticket <= harness.commit.completed_ticket
    assert harness.woken.is_set()
    for seed in range(10):
        again = LogManager(harness.disk.crash(seed), "/data", FakeClock(), {})
        assert [again.log("t", p).log_end_offset for p in range(2)] == [1, 1]


def test_requests_that_wait_share_one_sync() -> None:
    harness = Harness()
    harness.commit.request(harness.write(1))
    harness.commit.run_pending()
    seen = harness.changes()

    tickets = [harness.commit.request(harness.write(1)) for _ in range(5)]
    harness.commit.run_pending()

    assert harness.commit.completed_ticket == tickets[-1]
    assert seen.count("sync") == 1


def test_few_dirty_partitions_are_synced_one_by_one_and_many_through_the_journal() -> None:
    harness = Harness()
    harness.commit.request(harness.write(16))
    harness.commit.run_pending()
    harness.manager.group_commit("fsync", lambda: None, threaded=False).close()
    seen = harness.changes()

    harness.commit.request(harness.write(7))
    harness.commit.run_pending()
    few = seen.count("sync")
    seen.clear()
    harness.commit.request(harness.write(16))
    harness.commit.run_pending()

    assert few == 7
    assert seen.count("sync") == 1
    assert harness.disk.list("/data/journal")


def test_large_writes_are_not_written_twice() -> None:
    harness = Harness()
    logs = [harness.manager.log("t", partition) for partition in range(16)]
    for log in logs:
        log.append(memoryview(encode_batch([Record(0, 1, b"k", bytes(70_000))])))
        log.write_staged()

    harness.commit.request(logs)
    harness.commit.run_pending()

    assert harness.disk.list("/data/journal") == []


def test_an_idle_group_commit_and_a_closed_one_leave_no_journal() -> None:
    harness = Harness()
    harness.commit.request(harness.write(16))
    harness.commit.run_pending()
    assert harness.disk.list("/data/journal")

    harness.commit.run_pending()

    assert harness.disk.list("/data/journal") == []
    harness.commit.request(harness.write(16))
    harness.commit.close()
    assert harness.disk.list("/data/journal") == []


def test_the_journal_alone_brings_the_segments_back() -> None:
    harness = Harness()
    harness.commit.request(harness.write(16))
    harness.commit.run_pending()

    ends = set()
    for seed in range(20):
        again = LogManager(harness.disk.crash(seed), "/data", FakeClock(), {})
        ends |= {again.log("t", partition).log_end_offset for partition in range(16)}

    assert ends == {1}


def test_a_truncated_journal_returns_its_complete_frames() -> None:
    harness = Harness()
    harness.commit.request(harness.write(16))
    harness.commit.run_pending()
    (name,) = harness.disk.list("/data/journal")
    content = read_file(harness.disk, f"/data/journal/{name}") or b""

    whole = list(whole_frames(content))
    counts = [len(list(whole_frames(content[:end]))) for end in range(len(content))]

    assert len(whole) == 16
    assert counts == sorted(counts)
    assert counts[-1] == 15


@pytest.mark.parametrize("partitions", [1, 16])
def test_a_failed_sync_completes_no_ticket_ever_again(partitions: int) -> None:
    harness = Harness()
    logs = harness.write(partitions)
    harness.disk.fail("sync", OSError(errno.EIO, "I/O error"))
    harness.commit.request(logs)

    harness.commit.run_pending()
    harness.disk.heal()

    assert harness.commit.completed_ticket == 0
    assert harness.woken.is_set()
    assert harness.commit.failed is not None
    assert harness.commit.failed.code == 56
    with pytest.raises(LogDirOffline):
        harness.commit.request(logs)
    with pytest.raises(LogDirOffline):
        harness.manager.close()
    assert not harness.disk.exists("/data/clean-shutdown")


def test_durability_of_the_system_completes_at_once_and_syncs_nothing() -> None:
    harness = Harness()
    commit = harness.manager.group_commit("os", harness.woken.set, threaded=False)
    logs = harness.write(3)
    seen = harness.changes()

    ticket = commit.request(logs)
    commit.run_pending()

    assert commit.completed_ticket == ticket
    assert "sync" not in seen
    assert not harness.woken.is_set()


def test_a_topic_deleted_before_its_sync_affects_no_other() -> None:
    harness = Harness(log_recovery_point_bytes=1)
    ticket = harness.commit.request(harness.write(16))

    harness.manager.topics.delete("t")
    harness.commit.run_pending()
    harness.commit.run_pending()

    assert harness.commit.failed is None
    assert harness.commit.completed_ticket == ticket


def test_waiters_for_the_recovery_point_of_a_deleted_topic_get_an_error() -> None:
    harness = Harness()
    (log,) = harness.write(1)
    reported: list[bool] = []
    assert harness.commit.save(log, lambda: reported.append(True))

    harness.manager.topics.delete("t")
    harness.commit.run_pending()

    assert harness.commit.failed is None
    assert reported == [True]


def test_the_thread_serves_requests_and_ends_when_it_is_closed() -> None:
    harness = Harness(threaded=True)

    for _ in range(20):
        ticket = harness.commit.request(harness.write(3))
        while harness.commit.completed_ticket < ticket:
            assert harness.woken.wait(SECONDS_MAX)
            harness.woken.clear()
    harness.commit.close()

    assert harness.commit.failed is None


def test_a_group_commit_without_a_journal_syncs_each_file() -> None:
    harness = Harness()
    commit = GroupCommit("fsync", harness.woken.set, threaded=False)

    ticket = commit.request(harness.write(16))
    commit.run_pending()

    assert commit.completed_ticket == ticket
    assert harness.disk.list("/data/journal") == []
