"""`scripts/test --stress` keeps every core busy with other processes, and stops all of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from waiting import wait_until

ROOT: Final = Path(__file__).parents[2]
STRESS: Final = ROOT / "scripts/lib/stress.py"
CORES: Final = len(os.sched_getaffinity(0))

# Prints its own process id, then ends with the input that its test holds open.
_WAITS: Final = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"


def _children(pid: int) -> set[int]:
    return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(STRESS), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("status", [0, 3])
def test_the_commands_status_is_the_scripts_and_every_busy_process_has_gone(status: int) -> None:
    process = _start(sys.executable, "-c", f"{_WAITS}; sys.exit({status})")
    assert process.stdout is not None
    command = int(process.stdout.readline())

    busy = _children(process.pid) - {command}
    process.communicate(timeout=60)

    assert len(busy) == CORES
    assert process.returncode == status
    assert not [pid for pid in busy if _lives(pid)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_and_every_busy_process(number: signal.Signals) -> None:
    process = _start(sys.executable, "-c", _WAITS)
    assert process.stdout is not None
    command = int(process.stdout.readline())
    busy = _children(process.pid) - {command}

    if number is signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal sends it
    else:
        process.send_signal(number)
    process.wait(timeout=60)

    assert process.returncode != 0
    assert not [pid for pid in busy | {command} if _lives(pid)]
    process.communicate()


def test_busy_processes_notice_that_the_script_was_killed() -> None:
    process = _start(sys.executable, "-c", _WAITS)
    assert process.stdout is not None
    command = int(process.stdout.readline())
    busy = _children(process.pid) - {command}

    process.kill()

    process.communicate()  # ends the command, whose input is closed
    wait_until(lambda: not [pid for pid in busy if _lives(pid)], "the busy processes end")


def test_the_script_runs_tests_alongside() -> None:
    done = subprocess.run(
        [str(ROOT / "scripts/test"), "--stress", "-q", "tests/suite/stress_sample.py"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
