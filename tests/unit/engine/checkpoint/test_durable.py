"""Small files next to Spark's checkpoint."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from duolog.engine.checkpoint.durable import write_durably
from unit.engine.checkpoint.test_owner import FakeLockHolder, start


def test_threads_that_write_one_file_leave_one_of_their_texts(tmp_path: Path) -> None:
    """Threads used to write to the same temporary file, because its name contained only the pid."""
    path = tmp_path / "owner.json"
    texts = [json.dumps([number] * 5000) for number in range(8)]

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: write_durably(path, text), texts * 10))

    assert path.read_text() in texts
    assert os.listdir(tmp_path) == ["owner.json"]  # noqa: PTH208


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "owner.json"
    write_durably(path, "old")

    def full(_descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as failed:
        write_durably(path, "new")

    assert failed.value.filename == str(path), "fsync() names no file"

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["owner.json"]  # noqa: PTH208


def test_a_start_removes_what_a_killed_process_left_and_not_what_is_being_written(
    tmp_path: Path,
) -> None:
    left, arriving = tmp_path / ".application.json.0.arriving", tmp_path / ".owner.json.1.arriving"
    left.write_text("{")
    arriving.write_text("{")
    hours_ago = left.stat().st_mtime - 7200
    os.utime(left, (hours_ago, hours_ago))
    holder = FakeLockHolder()

    start(tmp_path, holder)
    holder.release(str(tmp_path))

    assert not left.exists()
    assert arriving.exists()
