"""The broker works without the calls that only Linux has, as on macOS; commands load on Windows.

Tests of the broker run again in processes that do not have these calls: `DUOLOG_PORTABLE=1` selects
the other ones, and `tests/portable/sitecustomize.py` hides what is selected by default, so that a
call that was forgotten fails. This is not a test on a Mac.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from duolog.cli.main import COMMANDS
from duolog.core.operating_system.portable import VARIABLE

AS_ON_WINDOWS: Final = """
import asyncio, click, concurrent.futures, confluent_kafka.admin, ctypes, duckdb, kio, logging.handlers
import multiprocessing, prompt_toolkit, rich.console, sqlglot, tempfile, uuid, http.server
import os, select, signal, socket, subprocess, sys, types

# What was loaded before works as on Linux. What Duolog loads now finds Windows.
sys.platform = "win32"
sys.modules |= {"fcntl": None, "resource": None, "msvcrt": types.ModuleType("msvcrt")}
for module, names in {
    os: "eventfd fdatasync fork getloadavg getuid nice pidfd_open pread pwrite pwritev sendfile "
    "register_at_fork sched_setscheduler set_blocking statvfs O_CLOEXEC O_DIRECTORY",
    select: "epoll poll EPOLLIN POLLIN",
    signal: "SIGHUP SIGKILL SIGPROF SIGUSR1 SIGUSR2 setitimer pthread_kill pause",
    socket: "AF_UNIX MSG_MORE TCP_CONGESTION",
}.items():
    for name in names.split():
        delattr(module, name)
os.O_BINARY, os.O_NOINHERIT = 0, 0

from duolog.cli.main import main
sys.exit(max(main(command.split()) for command in sys.argv[1:]))
"""

TESTS: Final = Path(__file__).parents[1]
RECOVERY: Final = "test_acknowledged_batches_survive_and_nothing_torn_is_served"
PARTS: Final = {
    "units": (
        "unit/core/operating_system",
        "unit/broker/event_loop",
        "unit/broker/fetch",
        "unit/broker/network",
        "unit/broker/metrics",
        "unit/broker/expressions",
        "unit/broker/cleaning",
        "unit/log/files/test_disk.py",
        "unit/log/test_group_commit.py",
    ),
    "logs": (f"property/test_log_recovery.py::{RECOVERY}", "unit/log/compaction"),
    "clients": ("conformance/clients/test_clients.py",),
}


def environment() -> dict[str, str]:
    path = [str(TESTS / "portable"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, VARIABLE: "1", "PYTHONPATH": os.pathsep.join(path), "CI": ""}


def test_the_calls_of_linux_are_hidden() -> None:
    program = """
import os, select, socket
from duolog.broker.event_loop.loop import Loop
from duolog.broker.network import send_queue
from duolog.core.clock import SystemClock
from duolog.core.operating_system.polling import PortablePoller
assert type(Loop(SystemClock())._poller) is PortablePoller
hidden = [(os, "eventfd"), (os, "sendfile"), (select, "epoll"), (socket, "MSG_MORE")]
assert not [name for module, name in hidden if hasattr(module, name)]
try:
    open("/proc/self/stat")
except FileNotFoundError:
    print("hidden")
"""

    result = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.stdout, result.returncode) == ("hidden\n", 0), result.stderr


def as_on_windows(*commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands in one process, without the modules and names that Windows does not have."""
    return subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS, *commands],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_broker_is_refused_on_windows_in_lines_instead_of_a_traceback(tmp_path: Path) -> None:
    refused = as_on_windows(f"broker --data {tmp_path}/data")

    error, detail, hint = refused.stderr.splitlines()
    assert error == "error: the broker does not run on Windows"
    assert detail.startswith("detail: Windows cannot rename the directory of a topic")
    assert hint.startswith("hint: Run it in WSL 2,")
    assert hint.endswith(" -b HOST:PORT.")
    assert refused.returncode == 2
    assert not (tmp_path / "data").exists()


def test_each_command_loads_on_windows() -> None:
    described = as_on_windows(*(f"{command} --help" for command in COMMANDS))

    assert (described.returncode, described.stderr) == (0, "")
    assert described.stdout.count("Usage: duolog ") == len(COMMANDS)


@pytest.mark.parametrize("part", PARTS)
def test_the_broker_passes_its_tests_without_the_calls_of_linux(part: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]

    result = subprocess.run(
        [*command, *PARTS[part]],
        cwd=TESTS,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stdout[-20_000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
