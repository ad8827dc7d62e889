"""Processes learn whether others are alive, and when their parent ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from duolog.core.operating_system import processes
from duolog.core.operating_system.portable import VARIABLE
from duolog.core.operating_system.processes import is_alive, is_own

SECONDS = 60.0
PARENT = """
import subprocess, sys, os
subprocess.run([sys.executable, "-c", sys.argv[1], str(os.getpid())])
"""
CHILD = """
import sys, threading
from duolog.core.operating_system.processes import end_with
end_with(int(sys.argv[1]))
print("runs", flush=True)
threading.Event().wait(120)
"""


def test_a_process_is_alive_until_it_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    assert is_alive(child.pid)
    assert is_alive(os.getpid())
    child.communicate(b"\n")

    assert not is_alive(child.pid)


def test_a_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)

    assert is_alive(1)


@pytest.mark.parametrize("portable", ["0", "1"])
def test_a_busy_child_of_a_killed_process_ends(portable: str) -> None:
    """On macOS, a compaction kept writing to files of a broker that was running again."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, CHILD],
        env={**os.environ, VARIABLE: portable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"runs\n"

        parent.kill()

        assert parent.communicate(timeout=SECONDS)[0] == b"", "the child holds the other end"


def test_without_hang_ups_the_end_of_the_parent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([7, 7, 7, 1])
    monkeypatch.setattr(processes, "PORTABLE", True)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(processes, "_PARENT_LOOK_S", 0.0)

    processes.await_end_of(0)

    assert list(parents) == []


def test_a_process_whose_parent_ended_before_it_looked_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = iter([1, 1])
    monkeypatch.setattr(processes, "PORTABLE", True)
    monkeypatch.setattr(os, "getppid", lambda: next(looks))

    processes.await_end_of(0)


def test_a_file_of_another_user_is_not_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path.stat()

    assert is_own(status)
    monkeypatch.setattr(os, "geteuid", lambda: status.st_uid + 1)

    assert not is_own(status)


def test_a_python_without_ctypes_can_call_functions() -> None:
    program = """
import sys
sys.modules["ctypes"] = None
from duolog.core.operating_system import processes
import duolog.functions.worker
processes.kill_with_parent()
processes.outlive_parent()
"""

    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (result.returncode, result.stderr) == (0, "")
