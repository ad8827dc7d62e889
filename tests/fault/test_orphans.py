"""A killed Python process does not leave its JVM running."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import waiting

pytestmark = pytest.mark.spark

# Another process holds the JVM's standard input open, so the JVM does not see its end.
_PROGRAM = """
import subprocess, sys, time
from pathlib import Path
from duolog.engine.spark.session import open_session
from duolog.engine.settings import EngineConfig
directory = Path(sys.argv[1])
session = open_session(EngineConfig("127.0.0.1:1", directory, log_path=directory / "engine.log"))
stdin = session._running.java_process.stdin.fileno()
holder = subprocess.Popen(["sleep", "300"], pass_fds=[stdin], stdout=subprocess.DEVNULL)
print(session.java_pid, holder.pid, flush=True)
time.sleep(300)
"""
_GONE_WITHIN_S = 60
"""It takes a quarter of a second; a busy machine may give it none of its time for long."""


def is_there(pid: int) -> bool:
    """Return True if a process runs; a zombie does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.timeout(280)
def test_the_jvm_of_a_killed_python_is_gone_at_once(tmp_path: Path) -> None:
    """The JVM used to end with its standard input, through shutdown hooks that took minutes."""
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as python:
        assert python.stdout is not None
        jvm, holder = map(int, python.stdout.readline().split())
        try:
            assert is_there(jvm)
            python.send_signal(signal.SIGKILL)
            python.wait()

            waiting.wait_until(lambda: not is_there(jvm), "the JVM lives on", _GONE_WITHIN_S)
        finally:
            python.kill()
            for pid in filter(is_there, (jvm, holder)):
                os.kill(pid, signal.SIGKILL)
