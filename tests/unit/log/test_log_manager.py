import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from duolog.log import LogManager
from duolog.log.errors import (
    DataDirRefused,
    LogDirOffline,
)
from duolog.log.files.checked_file import read_checked, write_checked
from duolog.log.files.disk import RealDisk
from duolog.record import Record, encode_batch
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk
from unit.log.log_directory import SETTINGS, fill, killed, open_manager

if TYPE_CHECKING:
    from duolog.core.setting_types import Value


def test_a_data_directory_keeps_its_cluster_id_and_raises_its_leader_epoch() -> None:
    disk = CrashDisk()
    seen = []
    for _ in range(3):
        manager = open_manager(disk)
        seen.append((manager.cluster_id, manager.leader_epoch))
        manager.close()

    assert len({cluster_id for cluster_id, _ in seen}) == 1
    assert len(seen[0][0]) == 22
    assert [epoch for _, epoch in seen] == [0, 1, 2]


def test_a_second_broker_reports_that_the_directory_is_in_use() -> None:
    disk = CrashDisk()
    first = open_manager(disk)

    with pytest.raises(DataDirRefused, match="is in use"):
        open_manager(disk)
    first.close()
    open_manager(disk).close()


def test_a_newer_format_is_refused_and_nothing_is_changed() -> None:
    disk = CrashDisk()
    open_manager(disk).close()
    meta = read_checked(disk, "/data", "meta.properties") or b""
    newer = meta.replace(b"format.version=2", b"format.version=3")
    write_checked(disk, "/data", "meta.properties", newer)

    with pytest.raises(DataDirRefused, match="newer Duolog") as caught:
        open_manager(disk)

    assert "format 3" in caught.value.detail
    assert read_checked(disk, "/data", "leader-epoch") == b"0\n"
    write_checked(disk, "/data", "meta.properties", meta)
    assert open_manager(disk).leader_epoch == 1


def test_a_directory_of_something_else_is_refused() -> None:
    disk = CrashDisk()
    disk.make_dir("/data")
    disk.open("/data/holiday.jpg", create=True)

    with pytest.raises(DataDirRefused, match="not a data directory"):
        open_manager(disk)


def test_the_directory_around_that_of_a_broker_is_refused_with_the_right_one() -> None:
    disk = CrashDisk()
    disk.make_dir("/data")
    disk.make_dir("/data/broker")
    disk.make_dir("/data/server")
    write_checked(disk, "/data/broker", "meta.properties", b"format.version=2")

    with pytest.raises(DataDirRefused, match="not a data directory") as refused:
        open_manager(disk)

    assert '"/data/broker"' in refused.value.hint


def test_another_node_id_is_refused() -> None:
    disk = CrashDisk()
    open_manager(disk).close()

    with pytest.raises(DataDirRefused, match="belongs to node 0"):
        open_manager(disk, node_id=3)


def test_only_an_orderly_stop_counts_as_clean() -> None:
    disk = CrashDisk()
    open_manager(disk).close()
    clean = open_manager(disk)

    assert clean.started_clean
    assert not open_manager(killed(disk)).started_clean


def test_small_files_of_the_broker_are_kept() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    assert manager.read_meta("producer-ids") is None

    manager.write_meta("producer-ids", b"1000")

    assert open_manager(disk.crash(1)).read_meta("producer-ids") == b"1000"


def test_retention_runs_over_all_logs() -> None:
    clock = FakeClock(now_ms=2000)
    manager = LogManager(CrashDisk(), "/data", clock, {**SETTINGS, "log.retention.ms": 5000})
    manager.topics.create("orders", 2)
    for partition in range(2):
        fill(manager.log("orders", partition), 3)

    early = manager.delete_old_segments()
    clock.advance(seconds=5)
    late = manager.delete_old_segments()

    assert (early, late) == (0, 2)


def test_a_refused_owner_is_shown_the_process_that_uses_the_directory(tmp_path: Path) -> None:
    first = LogManager(RealDisk(), str(tmp_path / "data"), FakeClock(), {})

    with pytest.raises(DataDirRefused) as refused:
        LogManager(RealDisk(), str(tmp_path / "data"), FakeClock(), {})

    assert refused.value.detail == f"The broker in process {os.getpid()} holds its lock."
    first.close()


def test_a_start_that_fails_gives_the_lock_back(tmp_path: Path) -> None:
    topics = tmp_path / "data" / "topics"
    topics.parent.mkdir()
    LogManager(RealDisk(), str(topics.parent), FakeClock(), {}).close()
    topics.rmdir()
    topics.touch()

    with pytest.raises(DataDirRefused) as refused:
        LogManager(RealDisk(), str(topics.parent), FakeClock(), {})
    topics.unlink()

    assert "topics" in refused.value.message
    LogManager(RealDisk(), str(topics.parent), FakeClock(), {}).close()


@pytest.mark.parametrize("threads", [1, 4])
def test_a_stop_syncs_every_log_whatever_the_number_of_threads(
    tmp_path: Path, threads: int
) -> None:
    settings: dict[str, Value] = {"num.recovery.threads.per.data.dir": threads}
    manager = LogManager(RealDisk(), str(tmp_path / "data"), FakeClock(), settings)
    manager.topics.create("t", 20)
    for partition in range(20):
        log = manager.log("t", partition)
        log.append(memoryview(encode_batch([Record(0, 1, b"k", b"v" * 20_000)])))
    manager.close()

    manager = LogManager(RealDisk(), str(tmp_path / "data"), FakeClock(), settings)

    assert manager.started_clean
    assert [manager.log("t", partition).log_end_offset for partition in range(20)] == [1] * 20
    manager.close()


def test_a_sync_that_fails_in_a_stop_leaves_no_mark_of_a_clean_one() -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("t", 3)
    for partition in range(3):
        log = manager.log("t", partition)
        log.append(memoryview(encode_batch([Record(0, 1, b"k", b"v")])))
        log.write_staged()
    disk.fail("sync", OSError(5, "Input/output error"))

    with pytest.raises(LogDirOffline, match="closing the logs"):
        manager.close()
    disk.heal()

    assert not open_manager(disk).started_clean


@pytest.mark.parametrize(
    ("code", "helps"), [(errno.ENOSPC, "Make room"), (errno.EROFS, "Mount"), (errno.EIO, "disk")]
)
@pytest.mark.parametrize("operation", ["append", "sync"])
def test_a_start_refused_by_the_disk_reports_the_path_and_a_hint(
    operation: str, code: int, helps: str
) -> None:
    disk = CrashDisk()
    manager = open_manager(disk)
    manager.topics.create("orders", 1)
    fill(manager.log("orders", 0), 30)
    crashed = killed(disk)
    crashed.fail(operation, OSError(code, os.strerror(code)))

    with pytest.raises(DataDirRefused, match="/data") as caught:
        open_manager(crashed)

    assert os.strerror(code).lower() in caught.value.message
    assert helps in caught.value.hint
    crashed.heal()
    assert open_manager(crashed).log("orders", 0).log_end_offset == 30
