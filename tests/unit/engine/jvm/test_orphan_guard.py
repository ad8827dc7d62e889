"""A process killed while its JVM starts leaves no process running; a sleeping process plays the JVM."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import waiting
from duolog.core.operating_system.portable import PORTABLE
from duolog.engine.jvm.orphan_guard import OrphanGuard

_STARTER = """
import subprocess, sys, time
from pathlib import Path
from duolog.engine.jvm.orphan_guard import OrphanGuard
scratch = Path(sys.argv[1])
with OrphanGuard(scratch):
    # As the JVM does, it lets the end of its standard input alone while it starts.
    jvm = subprocess.Popen(["sleep", "600"], cwd=scratch, stdin=subprocess.PIPE)
    print(jvm.pid, flush=True)
    time.sleep(600)
"""


on_linux = pytest.mark.skipif(
    sys.platform != "linux" or PORTABLE,
    reason="only Linux has /proc, by which the guard finds the JVM",
)


def is_there(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@on_linux
def test_a_python_that_is_killed_while_its_jvm_starts_leaves_none(tmp_path: Path) -> None:
    """The JVM used to stay for up to 25 seconds on a busy machine, and sometimes forever."""
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as python:
        assert python.stdout is not None
        jvm = int(python.stdout.readline())
        try:
            assert is_there(jvm)
            python.send_signal(signal.SIGKILL)
            python.wait()

            waiting.wait_until(lambda: not is_there(jvm), "it lives on", 30)
        finally:
            python.kill()
            if is_there(jvm):
                os.kill(jvm, signal.SIGKILL)


def test_a_dismissed_guard_has_ended_and_killed_no_process(tmp_path: Path) -> None:
    with (
        OrphanGuard(tmp_path) as guard,
        subprocess.Popen(["sleep", "600"], cwd=tmp_path) as process,
    ):
        shell = guard._shell  # noqa: SLF001
        assert shell is not None

        guard.dismiss()

        assert shell.returncode == 0
        assert process.poll() is None
        process.kill()
