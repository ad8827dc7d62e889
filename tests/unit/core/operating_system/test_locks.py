"""Locks on files: exclusive for open files; a lock of Java is seen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from duolog.core.operating_system.locks import java_holds_lock, try_lock

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
"""Locks as Java does: by `fcntl`."""


def test_a_lock_is_held_by_one_open_file_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))

    try_lock(first)
    with pytest.raises(BlockingIOError):
        try_lock(second)
    os.close(first)
    try_lock(second)

    os.close(second)


def test_a_lock_of_java_is_seen_until_its_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_bytes(b"content")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with path.open("rb") as file:
        assert java_holds_lock(file.fileno())
    holder.communicate()

    with path.open("rb") as file:
        assert not java_holds_lock(file.fileno())
