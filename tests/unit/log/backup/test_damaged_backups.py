"""Each flipped bit of a backup is found, before anything usable is restored."""

import errno
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from duolog.log.backup.copies import Copy
from duolog.log.backup.manifest import write_manifest
from duolog.log.backup.packs import pack_path
from duolog.log.backup.repository import Repository
from duolog.log.backup.restoring import verify
from duolog.log.errors import BackupDamaged, BackupRefused
from duolog.log.files.disk import Disk, DiskFile, read_file
from duolog.testing.disk import CrashDisk
from unit.log.backup.backups import DIR, OUT, back_up, restored
from unit.log.doctor.small_directory import files_of, small_directory


def backups_of(*, seed: int) -> CrashDisk:
    """Return a disk with a backup in which one bit of one file was flipped."""
    backups = CrashDisk()
    back_up(small_directory(), backups)
    random = Random(seed)  # noqa: S311 - chance
    paths = [path for path in files_of(backups, DIR) if backups.size(path)]
    path = random.choice(paths)
    position = random.randrange(backups.size(path))
    file = backups.open(path)
    byte = file.pread(position, 1)[0] ^ 1 << random.randrange(8)
    file.pwrite(position, bytes([byte]))
    return backups


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_is_never_restored(seed: int) -> None:
    backups, out = backups_of(seed=seed), CrashDisk()

    with pytest.raises((BackupDamaged, BackupRefused)):
        restored(backups, out)
    assert not out.exists(f"{OUT}/meta.properties")


@pytest.mark.parametrize("seed", range(60))
def test_verify_names_the_backup(seed: int) -> None:
    backups = backups_of(seed=seed)

    assert found_in(backups) in ({1}, {"duolog-backup"})


def found_in(backups: CrashDisk) -> set[object]:
    """Return the backups that are damaged, or the mark of the directory if that is."""
    try:
        return {number for one in verify(Repository(backups, DIR)) for number in one.backups}
    except BackupDamaged as error:
        return {error.message.rpartition("/")[2].partition('"')[0]}


def test_a_missing_pack_is_found() -> None:
    backups = CrashDisk()
    back_up(small_directory(), backups)
    backups.remove(pack_path(DIR, 1))

    problems = list(verify(Repository(backups, DIR)))

    assert problems
    assert "missing" in problems[0].problem
    with pytest.raises(BackupDamaged, match="missing"):
        restored(backups, CrashDisk())


@pytest.mark.parametrize("name", ["packs/000001.pack", "backup-000001"])
def test_a_file_that_the_disk_cannot_read_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backups = CrashDisk()
    back_up(small_directory(), backups)
    opened = backups.open

    def unreadable(path: str, *, create: bool = False) -> DiskFile:
        file = opened(path, create=create)
        if path == f"{DIR}/{name}":
            monkeypatch.setattr(file, "pread", _broken)
        return file

    monkeypatch.setattr(backups, "open", unreadable)

    problems = list(verify(Repository(backups, DIR)))

    assert {problem.backups for problem in problems} == {(1,)}
    assert "cannot be read" in problems[0].problem
    with pytest.raises(BackupDamaged, match="cannot be read"):
        restored(backups, CrashDisk())


def _broken(*_: object) -> bytes:
    raise OSError(errno.EIO, "Input/output error")


def test_a_pack_that_was_cut_is_found() -> None:
    backups = CrashDisk()
    back_up(small_directory(), backups)
    file = backups.open(pack_path(DIR, 1))
    file.truncate(file.size_bytes - 1)

    assert len(list(verify(Repository(backups, DIR)))) == 1
    with pytest.raises(BackupDamaged, match="damaged"):
        restored(backups, CrashDisk())


def test_a_backup_after_damage_does_not_need_the_damaged_manifest() -> None:
    backups, source = CrashDisk(), small_directory()
    back_up(source, backups)
    file = backups.open(f"{DIR}/backup-000001")
    file.truncate(10)

    manifest = back_up(source, backups)

    assert restored(backups, CrashDisk()) == manifest
    assert {number for one in verify(Repository(backups, DIR)) for number in one.backups} == {1}


@pytest.mark.parametrize(
    "changes",
    [
        {"files": {"../outside": Copy(0, ())}},
        {"files": {"/outside": Copy(0, ())}},
        {"files": {"checkpoints/../../outside": Copy(0, ())}},
        {"settings": {"../outside": b"{}"}},
        {"broker": "../outside"},
    ],
)
def test_a_forged_backup_writes_nothing_outside_of_the_target(changes: dict[str, Any]) -> None:
    backups, out = CrashDisk(), CrashDisk()
    manifest = back_up(small_directory(), backups)
    write_manifest(backups, DIR, replace(manifest, **changes))

    with pytest.raises(BackupDamaged, match="leaves the data directory"):
        restored(backups, out)


def test_an_unknown_number_is_refused() -> None:
    backups = CrashDisk()
    back_up(small_directory(), backups)

    with pytest.raises(BackupRefused, match="no backup 7"):
        restored(backups, CrashDisk(), 7)


def test_a_directory_of_another_kind_is_refused() -> None:
    backups = CrashDisk()
    backups.make_dir(DIR)
    backups.open(f"{DIR}/holiday.jpg", create=True)
    before = _content(backups)

    with pytest.raises(BackupRefused, match="not a directory of backups"):
        back_up(small_directory(), backups)

    assert _content(backups) == before


def test_backups_of_two_clusters_are_not_mixed() -> None:
    backups = CrashDisk()
    back_up(small_directory(), backups)

    with pytest.raises(BackupRefused, match="another cluster"):
        back_up(small_directory(), backups)


def _content(disk: Disk) -> dict[str, bytes | None]:
    return {path: read_file(disk, path) for path in files_of(disk, DIR)}
