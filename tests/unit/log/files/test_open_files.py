"""Segments keep at most the allowed number of files open, and all of them stay readable."""

import contextlib
import sys
from pathlib import Path

import pytest

from duolog.core.clock import SystemClock
from duolog.core.operating_system.portable import PORTABLE
from duolog.log.files.disk import RealDisk
from duolog.log.files.open_files import OpenFiles
from duolog.log.journal import Journal, SyncWork
from duolog.log.log_manager import LogManager
from duolog.record.records import Record, encode_batch
from duolog.testing.disk import CrashDisk


class FakeFileOwner:
    def __init__(self) -> None:
        self.let_go_count = 0

    def let_go(self) -> None:
        self.let_go_count += 1


on_linux = pytest.mark.skipif(
    sys.platform != "linux" or PORTABLE, reason="only Linux lists the paths of open files"
)


def open_logs(directory: Path) -> int:
    """Count the segment files below `directory` that this process has open."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        # Another thread of the run may close one meanwhile.
        with contextlib.suppress(FileNotFoundError):
            found.append(str(link.readlink()))
    return sum(name.endswith(".log") and name.startswith(str(directory)) for name in found)


def one_record(value: bytes) -> memoryview:
    return memoryview(encode_batch([Record(0, 1, None, value)]))


def test_the_file_that_was_opened_first_is_let_go_of() -> None:
    files = OpenFiles(2)
    first, second, third = holders = [FakeFileOwner() for _ in range(3)]

    for holder in holders:
        files.opened(holder)

    assert [first.let_go_count, second.let_go_count, third.let_go_count] == [1, 0, 0]
    assert len(files) == 2


def test_a_holder_that_opens_again_is_the_youngest() -> None:
    files = OpenFiles(2)
    first, second = FakeFileOwner(), FakeFileOwner()
    files.opened(first)
    files.opened(second)

    files.opened(first)
    files.opened(FakeFileOwner())

    assert [first.let_go_count, second.let_go_count] == [0, 1]


@on_linux
def test_many_partitions_are_written_and_read_with_few_files(tmp_path: Path) -> None:
    manager = LogManager(RealDisk(4), str(tmp_path / "data"), SystemClock(), {})
    manager.topics.create("many", 20)
    before = open_logs(tmp_path)

    for round_ in range(2):
        for partition in range(20):
            log = manager.log("many", partition)
            log.append(one_record(b"%d of %d" % (round_, partition)))
            log.write_staged()
            log.high_watermark = log.log_end_offset
            assert open_logs(tmp_path) - before <= 4

    for partition in range(20):
        data = manager.log("many", partition).read_bytes(0, 1000, up_to_offset=2)
        assert b"0 of %d" % partition in data
        assert b"1 of %d" % partition in data
    assert open_logs(tmp_path) - before <= 4
    manager.close()
    assert open_logs(tmp_path) == before


def test_files_being_sent_stay_open(tmp_path: Path) -> None:
    manager = LogManager(RealDisk(1), str(tmp_path / "data"), SystemClock(), {})
    manager.topics.create("two", 2)
    for partition in range(2):
        log = manager.log("two", partition)
        log.append(one_record(b"kept"))
        log.write_staged()
    found = manager.log("two", 0).read(0, 1000, up_to_offset=1)
    manager.log("two", 1).read(0, 1000, up_to_offset=1)
    manager.topics.delete("two")

    assert found.file is not None
    assert b"kept" in found.file.pread(found.position, found.size_bytes)
    manager.close()


@on_linux
def test_a_deleted_topic_leaves_no_file_open(tmp_path: Path) -> None:
    manager = LogManager(RealDisk(), str(tmp_path / "data"), SystemClock(), {})
    before = open_logs(tmp_path)
    manager.topics.create("gone", 3)
    for partition in range(3):
        log = manager.log("gone", partition)
        log.append(one_record(b"x"))
        log.write_staged()
    assert open_logs(tmp_path) - before == 3

    del log
    manager.topics.delete("gone")

    assert open_logs(tmp_path) == before
    manager.close()


def test_the_journal_syncs_segments_that_it_does_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("duolog.log.journal.FILES_OPEN_MAX", 1)
    disk = CrashDisk()
    disk.make_dir("/data")
    work = []
    for name in ("a", "b", "deleted"):
        file = disk.open(f"/data/{name}", create=True)
        file.append([name.encode()])
        work.append(SyncWork(disk, f"/data/{name}", file, 0, len(name)))
    disk.sync_dir("/data")
    journal = Journal(disk, "/data")
    journal.commit(work)
    disk.remove("/data/deleted")

    journal.drain()

    after = disk.crash(seed=3)
    assert after.open("/data/a").pread(0, 9) == b"a"
    assert after.open("/data/b").pread(0, 9) == b"b"
