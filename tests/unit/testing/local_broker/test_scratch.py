import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.log.files.disk import RealLock
from duolog.testing.local_broker.scratch import LOCK_FILE, PREFIX, Scratch, sweep


@pytest.fixture(autouse=True)
def own_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    shutil.rmtree(tmp_path)


def abandoned(directory: Path) -> Path:
    """Make the directory of a process that was killed."""
    path = directory / f"{PREFIX}killed"
    path.mkdir()
    (path / "broker").mkdir()
    RealLock(str(path / LOCK_FILE)).release()
    return path


def test_the_directory_of_a_killed_process_is_deleted_by_the_next_one(tmp_path: Path) -> None:
    left = abandoned(tmp_path)

    scratch = Scratch()

    assert not left.exists()
    assert list(tmp_path.iterdir()) == [scratch.path]
    scratch.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_directory_of_a_living_process_is_kept() -> None:
    first = Scratch()

    second = Scratch()

    assert first.path.exists()
    assert first.path != second.path
    first.remove()
    second.remove()


def test_a_directory_that_is_being_made_is_kept_and_an_old_one_is_deleted(tmp_path: Path) -> None:
    new, old = tmp_path / f"{PREFIX}new", tmp_path / f"{PREFIX}old"
    new.mkdir()
    old.mkdir()
    os.utime(old, (0, 0))

    deleted = sweep()

    assert deleted == [old]
    assert (new.exists(), old.exists()) == (True, False)


def test_other_directories_and_links_are_kept(tmp_path: Path) -> None:
    other, target = tmp_path / "duolog-cluster-1", tmp_path / "target"
    other.mkdir()
    target.mkdir()
    RealLock(str(target / LOCK_FILE)).release()
    link = tmp_path / f"{PREFIX}link"
    link.symlink_to(target)

    assert sweep() == []
    assert other.exists()
    assert (target / LOCK_FILE).exists()


def test_a_directory_of_another_user_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = abandoned(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: left.stat().st_uid + 1)

    assert sweep() == []
    assert left.exists()


def test_a_link_in_place_of_the_lock_file_is_not_followed(tmp_path: Path) -> None:
    left = abandoned(tmp_path)
    target = tmp_path / "precious"
    target.write_text("content")
    (left / LOCK_FILE).unlink()
    (left / LOCK_FILE).symlink_to(target)

    assert sweep() == []
    assert target.read_text() == "content"
