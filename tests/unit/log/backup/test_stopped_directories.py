"""A backup of a stopped broker: restored, it serves what the broker would have served."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from duolog.log import LogManager
from duolog.log.backup.copies import Copy
from duolog.log.backup.packs import PackReader
from duolog.log.backup.repository import Repository
from duolog.log.backup.restoring import EPOCHS_AHEAD, restore
from duolog.log.doctor import examine
from duolog.log.errors import BackupRefused
from duolog.log.files.disk import Disk, read_file
from duolog.testing import FakeClock
from duolog.testing.disk import CrashDisk
from unit.log.backup.backups import DIR, OUT, back_up, restored
from unit.log.doctor.small_directory import (
    DATA,
    PARTITIONS,
    TOPIC,
    SmallDirectory,
    files_of,
    flipped,
    served,
    small_directory,
)


def at_data(out: CrashDisk) -> CrashDisk:
    """Return a disk with the restored directory at the place of the original."""
    disk = CrashDisk()
    for path in files_of(out, OUT):
        target = path.replace(OUT, DATA)
        disk.make_dir(target.rpartition("/")[0])
        disk.open(target, create=True).append([read_file(out, path) or b""])
    return disk


@pytest.mark.parametrize("stopped", [True, False])
def test_a_restored_directory_serves_the_same(*, stopped: bool) -> None:
    disk, backups, out = small_directory(stopped=stopped), CrashDisk(), CrashDisk()
    state = served(disk)
    del state["kept"]["producer-ids"]  # New ones start far above; see below.

    back_up(disk, backups)

    restored(backups, out)
    report = examine(out, OUT)
    assert report.findings == ()
    found = served(at_data(out))
    del found["kept"]["producer-ids"]
    assert found == state


def test_a_backup_changes_nothing_in_the_directory() -> None:
    disk = small_directory(stopped=False)
    before = {path: read_file(disk, path) for path in files_of(disk)}

    back_up(disk, CrashDisk())

    assert {path: read_file(disk, path) for path in files_of(disk)} == before


def test_leader_epochs_and_producer_ids_are_never_used_again() -> None:
    disk, backups, out = small_directory(), CrashDisk(), CrashDisk()
    back_up(disk, backups)
    restored(backups, out)

    manager = LogManager(out, OUT, FakeClock(), {})

    original = LogManager(disk.kill(), DATA, FakeClock(), {})
    assert manager.leader_epoch >= original.leader_epoch + EPOCHS_AHEAD
    assert int(manager.read_meta("producer-ids") or 0) == (manager.leader_epoch - 1) << 40
    assert manager.cluster_id == original.cluster_id


def test_two_restores_of_one_backup_use_other_leader_epochs_and_producer_ids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backups = CrashDisk()
    back_up(small_directory(), backups)
    drawn = iter([0, 999])
    monkeypatch.setattr("duolog.log.backup.restoring.secrets.randbelow", lambda _: next(drawn))
    epochs, producer_ids = [], []
    for out in (CrashDisk(), CrashDisk()):
        restored(backups, out)
        manager = LogManager(out, OUT, FakeClock(), {})
        epochs.append(manager.leader_epoch)
        producer_ids.append(int(manager.read_meta("producer-ids") or 0))

    assert epochs[1] - epochs[0] == 999 * 16
    assert producer_ids[1] - producer_ids[0] == (999 * 16) << 40


def test_a_restored_cluster_can_have_a_new_id() -> None:
    disk, backups, out = small_directory(), CrashDisk(), CrashDisk()
    manifest = back_up(disk, backups)

    restored(backups, out, new_cluster=True)

    manager = LogManager(out, OUT, FakeClock(), {})
    assert re.fullmatch(r"[\w-]{22}", manager.cluster_id)
    assert manager.cluster_id != manifest.cut.cluster_id


def test_a_log_without_records_keeps_its_offsets() -> None:
    disk, backups, out = CrashDisk(), CrashDisk(), CrashDisk()
    directory = SmallDirectory(disk)
    directory.write(9)
    for log in directory.logs:
        log.advance_log_start(log.log_end_offset)
    ends = [log.log_end_offset for log in directory.logs]
    directory.stop()
    back_up(disk, backups)

    restored(backups, out)

    manager = LogManager(out, OUT, FakeClock(), {})
    for partition in range(PARTITIONS):
        log = manager.log(TOPIC, partition)
        assert (log.log_start_offset, log.log_end_offset) == (ends[partition], ends[partition])


def test_a_log_that_is_cut_after_the_restore_is_refused() -> None:
    disk, backups, out = small_directory(), CrashDisk(), CrashDisk()
    back_up(disk, backups)
    restored(backups, out)
    logs = [path for path in files_of(out, OUT) if path.endswith(".log") and "/1/" in path]
    file = out.open(max(logs))
    file.truncate(file.size_bytes - 1)

    manager = LogManager(out, OUT, FakeClock(), {})

    assert set(manager.logs.refused) == {(TOPIC, 1)}


def test_a_damaged_log_is_not_backed_up() -> None:
    disk, backups = small_directory(), CrashDisk()
    path = min(path for path in files_of(disk) if path.endswith(".log") and "/0/" in path)
    damaged = flipped(disk, path, 70)

    with pytest.raises(BackupRefused, match="damaged"):
        back_up(damaged, backups)

    assert not any(name.startswith("backup-") for name in backups.list(DIR))


def test_a_target_with_files_is_refused() -> None:
    disk, backups, out = small_directory(), CrashDisk(), CrashDisk()
    back_up(disk, backups)
    out.make_dir(OUT)
    out.open(f"{OUT}/notes.txt", create=True)

    with pytest.raises(BackupRefused, match="not empty"):
        restored(backups, out)

    assert out.list(OUT) == ["notes.txt"]


def test_a_restored_directory_is_not_overwritten() -> None:
    disk, backups, out = small_directory(), CrashDisk(), CrashDisk()
    back_up(disk, backups)
    restored(backups, out)
    before = _content(out)

    with pytest.raises(BackupRefused, match="not empty"):
        restored(backups, out)

    assert _content(out) == before


def test_two_restores_to_one_directory_do_not_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    disk, backups, out = small_directory(), CrashDisk(), CrashDisk()
    manifest = back_up(disk, backups)
    repository, read = Repository(backups, DIR), PackReader.read
    refused: list[Copy] = []

    def meanwhile(reader: PackReader, copy: Copy) -> Iterator[bytes]:
        if not refused:
            with pytest.raises(BackupRefused, match="another restore"):
                restore(repository, manifest, out, OUT)
            refused.append(copy)
        return read(reader, copy)

    monkeypatch.setattr(PackReader, "read", meanwhile)

    restore(repository, manifest, out, OUT)

    assert refused
    assert examine(out, OUT).healthy


def test_a_restored_directory_is_not_overwritten_by_a_backup_with_another_layout() -> None:
    """A restore that is killed as its last step leaves its mark in a directory that is used."""
    disk, backups, out = small_directory(), CrashDisk(), CrashDisk()
    manifest = back_up(disk, backups)
    repository = Repository(backups, DIR)
    restore(repository, replace(manifest, broker="broker"), out, OUT)
    out.open(f"{OUT}/.restoring", create=True)
    before = _content(out)

    with pytest.raises(BackupRefused, match="not empty"):
        restore(repository, manifest, out, OUT)

    assert _content(out) == before


def _content(disk: Disk) -> dict[str, bytes | None]:
    return {path: read_file(disk, path) for path in files_of(disk, OUT)}
