"""Bound a JVM that writes its class archive after its parent process has ended.

    python -c PROGRAM FD SECONDS FILE STATM PAGES

The JVM runs at the lowest priority, so on a busy machine it would hold its memory for minutes. No
JVM option bounds the memory that it allocates outside of its heap for the archive: some 700 MB for
fifteen thousand classes. After the time limit, or once it grows beyond the memory limit, the
watching process kills it and removes the partial archive; the next run tries again. It watches and
kills the JVM by a pidfd, which never refers to another process with the same number.

Source: Linux `pidfd_open(2)`, `proc_pid_statm(5)`.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from duolog.core.operating_system.portable import PORTABLE
from duolog.core.operating_system.proc_files import size_file
from duolog.core.units import MIB

WRITE_S: Final = 60.0
GROWTH_BYTES_MAX: Final = 1024 * MIB
"""How much the JVM may grow beyond its size at shutdown."""

# Runs as long as the JVM, so it imports next to nothing.
_PROGRAM: Final = """
import os, select, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
jvm, end, file = int(sys.argv[1]), time.monotonic() + float(sys.argv[2]), sys.argv[3]
statm, pages_max = sys.argv[4], int(sys.argv[5])

def is_too_large():
    try:
        with open(statm) as file_:
            return int(file_.read().split()[1]) > pages_max
    except (OSError, IndexError):
        return False

while not select.select([jvm], [], [], max(0.0, min(0.25, end - time.monotonic())))[0]:
    if time.monotonic() >= end or is_too_large():
        signal.pidfd_send_signal(jvm, signal.SIGKILL)
        select.select([jvm], [], [])
        if os.path.exists(file):
            os.unlink(file)
        break
"""


def bound(
    pid: int,
    arriving: Path,
    seconds: float = WRITE_S,
    growth_bytes_max: int = GROWTH_BYTES_MAX,
) -> "subprocess.Popen[bytes] | None":
    """Start a process that kills the JVM `pid` if it is too slow or large, then removes `arriving`.

    Returns that process; None on a system without pidfds, or if no process can be started.
    """
    if sys.platform == "linux" and not PORTABLE:
        # A Python that was built for old kernels has no pidfds.
        with contextlib.suppress(OSError, AttributeError):
            return _watch(pid, arriving, seconds, growth_bytes_max)
    return None


if sys.platform == "linux":

    def _watch(
        pid: int, arriving: Path, seconds: float, growth_bytes_max: int
    ) -> "subprocess.Popen[bytes]":
        jvm = os.pidfd_open(pid)
        try:
            statm = size_file(pid)
            pages = int(statm.read_text().split()[1])
            pages += growth_bytes_max // os.sysconf("SC_PAGE_SIZE")
            watched = (jvm, seconds, arriving, statm, pages)
            return subprocess.Popen(  # noqa: S603 - our own program, no shell
                [sys.executable, "-I", "-S", "-c", _PROGRAM, *map(str, watched)],
                pass_fds=[jvm],
                stdin=subprocess.DEVNULL,
                # A reader of this process's output waits until every process that could write to it
                # has ended.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(jvm)
