"""Backups and restores that are cut off at every operation of the disk."""

import zlib
from collections.abc import Callable

import pytest

from duolog.log import LogManager
from duolog.log.backup import log_source, repository
from duolog.log.backup.copies import Identity
from duolog.log.backup.progress import PROGRESS_FILE_NAME
from duolog.log.backup.repository import Repository, Session, create_repository
from duolog.log.backup.restoring import verify
from duolog.log.doctor import examine
from duolog.log.errors import BackupRefused, DataDirRefused
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk, PowerLost
from unit.log.backup.backups import DIR, OUT, back_up, restored
from unit.log.doctor.small_directory import SmallDirectory, small_directory

_SEEDS = 10


@pytest.fixture(autouse=True)
def recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files in memory be recognized, and let progress be saved after each of them."""

    class SamePath(Identity):
        @classmethod
        def of(cls, path: str) -> Identity:
            return Identity(1, zlib.crc32(path.encode()), 1, 1)

    monkeypatch.setattr(log_source, "Identity", SamePath)
    monkeypatch.setattr(repository, "SAVE_BYTES", 1)


def operations_of(disk: CrashDisk, act: Callable[[], object]) -> int:
    before = disk.operations
    act()
    return disk.operations - before


def crashes(start: Callable[[], CrashDisk], act: Callable[[CrashDisk], object]) -> list[CrashDisk]:
    """Return the disks that power failures at each operation of `act` leave."""
    first = start()
    found = []
    for operations in range(operations_of(first, lambda: act(first))):
        disk = start()
        disk.power_off_after(operations=operations)
        with pytest.raises(PowerLost):
            act(disk)
        found += [disk.crash(seed) for seed in range(_SEEDS)]
    return found


def test_a_first_backup_is_whole_or_not_there_after_a_power_failure() -> None:
    source = small_directory()
    for disk in crashes(CrashDisk, lambda disk: back_up(source, disk)):
        try:
            found = Repository(disk, DIR)
        except BackupRefused:
            found = None
        if found is not None and found.numbers():
            restored(disk, CrashDisk())
        if found is not None:
            assert list(verify(found)) == []

        back_up(source, disk)

        assert list(verify(Repository(disk, DIR))) == []
        restored(disk, out := CrashDisk())
        assert examine(out, OUT).healthy


def test_an_interrupted_second_backup_leaves_the_first() -> None:
    source = CrashDisk()
    directory = SmallDirectory(source)
    directory.write(4)
    directory.stop()
    first = CrashDisk()
    back_up(source, first)
    kept = first.crash(0)  # Complete, so any crash keeps it.
    directory.start()
    directory.write(4)
    directory.stop()

    def start() -> CrashDisk:
        return kept.crash(0)

    for disk in crashes(start, lambda disk: back_up(source, disk, keep=1)):
        found = Repository(disk, DIR)
        assert list(verify(found)) == []
        for number in found.numbers():
            restored(disk, out := CrashDisk(), number)
            assert examine(out, OUT).healthy
        assert found.numbers()


def test_an_interrupted_restore_is_no_data_directory_and_starts_over() -> None:
    backups = CrashDisk()
    back_up(small_directory(), backups)
    whole = CrashDisk()
    restored(backups, whole)
    for disk in crashes(CrashDisk, lambda disk: restored(backups, disk)):
        if disk.exists(f"{OUT}/meta.properties"):
            with pytest.raises(BackupRefused, match="not empty"):
                restored(backups, disk)
        else:
            if set(disk.list(OUT)) - {"meta.properties.tmp"}:
                with pytest.raises(DataDirRefused):
                    LogManager(disk.kill(), OUT, FakeClock(), {})
                disk.remove(f"{OUT}/.lock")
            restored(backups, disk)
        assert examine(disk, OUT).healthy
        assert set(disk.list(OUT)) - {".restoring"} == set(whole.list(OUT))


def test_two_backups_into_one_directory_do_not_run_at_once() -> None:
    backups = CrashDisk()
    source = small_directory()
    cluster_id = back_up(source, backups).cut.cluster_id
    session = Session(create_repository(backups, DIR, cluster_id))

    with pytest.raises(BackupRefused, match="running"):
        back_up(source, backups)

    session.close()
    back_up(source, backups)


def test_a_torn_line_of_progress_is_passed_over() -> None:
    backups = CrashDisk()
    source = small_directory()
    back_up(source, backups)
    file = backups.open(f"{DIR}/{PROGRESS_FILE_NAME}", create=True)
    file.append([b"0badc0de [torn\n"])

    back_up(source, backups)

    assert Repository(backups, DIR).numbers() == [1, 2]
    assert not backups.exists(f"{DIR}/{PROGRESS_FILE_NAME}")
