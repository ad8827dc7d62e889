"""A process that bounds time and memory of a JVM that writes its archive of classes after the process that started it has ended.

    python -c PROGRAM FD SECONDS FILE STATM PAGES

The JVM has the lowest priority: on a busy machine it would hold its memory for minutes. No option of the JVM bounds what it
allocates outside of its heap to write: some 700 MB for fifteen thousand classes. After the time, or when it has become
larger than that, it is killed, what it has written of the archive is removed, and the next run makes another attempt. The
JVM is watched and killed by a descriptor of the process (pidfd), which never means another process with its number.

Source: Linux `pidfd_open(2)`, `proc_pid_statm(5)`.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from duolog.core.units import MIB

WRITE_S: Final = 60.0
GROWTH_BYTES_MAX: Final = 1024 * MIB
"""How much larger than at its end the JVM may become."""

# It lives as long as the JVM, so it loads next to nothing.
_PROGRAM: Final = """
import os, select, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
jvm, end, file = int(sys.argv[1]), time.monotonic() + float(sys.argv[2]), sys.argv[3]
statm, pages_max = sys.argv[4], int(sys.argv[5])

def is_too_large():
    try:
        with open(statm) as told:
            return int(told.read().split()[1]) > pages_max
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
    """Let another process kill the JVM `pid` if it lives after `seconds` or grows too large, and remove `arriving` then.

    Returns that process; None on a system without pidfds, or without room for a process.
    """
    with contextlib.suppress(OSError, AttributeError):
        jvm = os.pidfd_open(pid)
        try:
            statm = Path(f"/proc/{pid}/statm")
            pages = int(statm.read_text().split()[1])
            pages += growth_bytes_max // os.sysconf("SC_PAGE_SIZE")
            watched = (jvm, seconds, arriving, statm, pages)
            return subprocess.Popen(  # noqa: S603 - our own program, no shell
                [sys.executable, "-I", "-S", "-c", _PROGRAM, *map(str, watched)],
                pass_fds=[jvm],
                stdin=subprocess.DEVNULL,
                # Whoever reads what this process writes waits for the end of all who could write there.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(jvm)
    return None
