import os
import subprocess
import sys
from pathlib import Path

import pytest

from duolog.engine.jvm.scratch import scratch_dir, sweep

CHILD = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_scratch_directory_is_removed_with_its_session() -> None:
    with scratch_dir() as made:
        assert made.directory.is_dir()

    assert not made.directory.exists()


def test_leftovers_of_a_killed_process_are_removed_unless_in_use(base: Path) -> None:
    left = base / "duolog-spark-left"
    left.mkdir()
    (left / ".lock").touch()
    (left / "blocks").write_text("much")

    with scratch_dir() as first, scratch_dir() as second:
        assert sorted(base.iterdir()) == sorted([first.directory, second.directory])


def test_a_jvm_that_outlives_its_python_keeps_its_directory(base: Path) -> None:
    with scratch_dir() as made:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[made.lock_fd],
        )
        os.close(made.lock_fd)  # as the system does when Python is killed
        sweep(base)
        assert made.directory.is_dir()
        child.communicate()
        sweep(base)
        assert not made.directory.exists()
        # In the place of the descriptor that is closed at the end.
        null = os.open(os.devnull, os.O_RDONLY)
        if null != made.lock_fd:
            os.dup2(null, made.lock_fd)
            os.close(null)


def test_a_directory_without_a_lock_is_left_alone_for_a_day(base: Path) -> None:
    young, old = base / "duolog-spark-young", base / "duolog-spark-old"
    for directory in (young, old):
        directory.mkdir()
    os.utime(old, (0, 0))

    sweep(base)

    assert list(base.iterdir()) == [young]
