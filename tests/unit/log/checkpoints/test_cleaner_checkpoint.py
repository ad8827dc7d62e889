import pytest

from duolog.log import LogManager
from duolog.log.checkpoints.cleaner_checkpoint import (
    CHECKPOINT_FILE_NAME,
    CleanerCheckpoint,
    read_checkpoint,
    write_checkpoint,
)
from duolog.log.checkpoints.recovery_point import POINT_FILE_NAME, RecoveryPoint
from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import write_checked
from duolog.log.files.disk import read_file, replace_file
from duolog.log.journal import Journal, SyncWork
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk

SEGMENT = "/data/topics/t/0/00000000000000000010.log"


def disk_with_directory() -> CrashDisk:
    disk = CrashDisk()
    disk.make_dir("/data/topics/t/0")
    return disk


def test_a_checkpoint_is_read_as_it_was_written() -> None:
    disk = disk_with_directory()

    write_checkpoint(disk, "/data/topics/t/0", CleanerCheckpoint(12, 34))

    assert read_checkpoint(disk, "/data/topics/t/0") == CleanerCheckpoint(12, 34)


def test_a_log_without_a_checkpoint_has_no_holes() -> None:
    assert read_checkpoint(disk_with_directory(), "/data/topics/t/0") == CleanerCheckpoint(0, 0)


@pytest.mark.parametrize(
    "content", [b"", b"clean_offset many\n", b"clean_offset 5\nholes_below 4\n"]
)
def test_an_impossible_checkpoint_path_is_refused_by_name(content: bytes) -> None:
    disk = disk_with_directory()
    write_checked(disk, "/data/topics/t/0", CHECKPOINT_FILE_NAME, content)

    with pytest.raises(DamagedFile, match="t/0/cleaner-checkpoint"):
        read_checkpoint(disk, "/data/topics/t/0")


def journalled() -> CrashDisk:
    """Return a disk whose journal holds the first bytes of a segment that was replaced since."""
    disk = disk_with_directory()
    file = disk.open(SEGMENT, create=True)
    file.append([b"old bytes"])
    Journal(disk, "/data").commit([SyncWork(disk, SEGMENT, file, 0, 9)])
    replace_file(disk, "/data/topics/t/0", "00000000000000000010.log", b"new")
    return disk


def test_the_journal_is_not_written_back_into_a_compacted_segment() -> None:
    disk = journalled()
    write_checkpoint(disk, "/data/topics/t/0", CleanerCheckpoint(0, 11))

    Journal(disk, "/data").replay()

    assert read_file(disk, SEGMENT) == b"new"


def test_the_journal_is_written_back_into_a_segment_above_the_holes() -> None:
    disk = journalled()
    write_checkpoint(disk, "/data/topics/t/0", CleanerCheckpoint(0, 10))

    Journal(disk, "/data").replay()

    assert read_file(disk, SEGMENT) == b"old bytes"


@pytest.mark.parametrize(("point", "expected"), [(20, b"new"), (10, b"old bytes")])
def test_the_journal_covers_logs_if_the_checkpoint_is_damaged(point: int, expected: bytes) -> None:
    disk = journalled()
    write_checkpoint(disk, "/data/topics/t/0", CleanerCheckpoint(0, 10))
    disk.open(f"/data/topics/t/0/{CHECKPOINT_FILE_NAME}").pwrite(45, b"9")
    write_checked(disk, "/data/topics/t/0", POINT_FILE_NAME, RecoveryPoint(point).encode())

    Journal(disk, "/data").replay()

    assert read_file(disk, SEGMENT) == expected


class Journalled:
    """Two logs whose records are in the journal, and in one of them also nowhere else."""

    def __init__(self) -> None:
        self.disk = CrashDisk()
        manager = self.start()
        journal = Journal(self.disk, "/data")
        work = []
        for topic in ("a", "b"):
            manager.topics.create(topic, 1)
            log = manager.log(topic, 0)
            for number in range(5):
                log.append(memoryview(encode_batch([Record(0, number, b"k", b"v")])))
            log.write_staged()
            write_checkpoint(self.disk, log.directory, CleanerCheckpoint(0, 0))
            path = f"{log.directory}/00000000000000000000.log"
            file = self.disk.open(path)
            work.append(SyncWork(self.disk, path, file, 0, file.size_bytes))
        journal.commit(work)
        self.directory, self.segment = log.directory, path
        self.disk = self.disk.kill()
        self.disk.open(path).truncate(100)

    def start(self) -> LogManager:
        return LogManager(self.disk, "/data", FakeClock(), {})

    def restart(self) -> LogManager:
        self.disk = self.disk.kill()
        return self.start()


def test_a_log_that_cannot_say_whether_it_was_compacted_is_refused_and_no_other() -> None:
    """The start was refused as a whole."""
    journalled = Journalled()
    write_checked(journalled.disk, journalled.directory, CHECKPOINT_FILE_NAME, b"?")
    write_checked(journalled.disk, journalled.directory, POINT_FILE_NAME, b"?")
    journalled.disk.open(f"{journalled.directory}/{POINT_FILE_NAME}").pwrite(0, b"?")

    manager = journalled.restart()

    assert list(manager.logs.refused) == [("b", 0)]
    assert CHECKPOINT_FILE_NAME in manager.logs.refused["b", 0].message
    assert manager.log("a", 0).log_end_offset == 5


def test_journal_entries_of_a_refused_log_are_kept_until_it_is_served() -> None:
    journalled = Journalled()
    write_checked(journalled.disk, journalled.directory, CHECKPOINT_FILE_NAME, b"?")
    for _ in range(3):
        manager = journalled.restart()
        assert list(manager.logs.refused) == [("b", 0)]
    log = manager.log("a", 0)
    log.append(memoryview(encode_batch([Record(0, 9, b"k", b"v")])))
    log.write_staged()
    manager.close()

    write_checkpoint(journalled.disk, journalled.directory, CleanerCheckpoint(0, 0))
    manager = journalled.restart()

    assert [manager.log(topic, 0).log_end_offset for topic in ("a", "b")] == [6, 5]
    assert journalled.disk.list("/data/journal") == []


def test_journal_entries_of_a_log_are_deleted_with_it() -> None:
    journalled = Journalled()
    write_checked(journalled.disk, journalled.directory, CHECKPOINT_FILE_NAME, b"?")
    manager = journalled.restart()
    assert journalled.disk.list("/data/journal")

    manager.topics.delete("b")
    journalled.restart()

    assert journalled.disk.list("/data/journal") == []
