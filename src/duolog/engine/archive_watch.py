"""A process that bounds how long a JVM writes its archive of classes after the process that started it has ended.

    python -c PROGRAM FD SECONDS FILE

The JVM has the lowest priority: on a busy machine it would hold its memory for minutes. After the time it is killed, what
it has written of the archive is removed, and the next run makes another attempt. The JVM is watched by a descriptor of the
process (pidfd), which never speaks of another process that has got its number.

Source: Linux `pidfd_open(2)`.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

WRITE_S: Final = 60.0

# It lives as long as the JVM, so it loads next to nothing.
_PROGRAM: Final = """
import os, select, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
jvm, seconds, file = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
if not select.select([jvm], [], [], seconds)[0]:
    signal.pidfd_send_signal(jvm, signal.SIGKILL)
    select.select([jvm], [], [])
    if os.path.exists(file):
        os.unlink(file)
"""


def bound(pid: int, arriving: Path, seconds: float = WRITE_S) -> "subprocess.Popen[bytes] | None":
    """Let another process kill the JVM `pid` if it still lives after `seconds`, and remove `arriving` then.

    Returns that process; None on a system without pidfds, or without room for a process.
    """
    with contextlib.suppress(OSError, AttributeError):
        jvm = os.pidfd_open(pid)
        try:
            return subprocess.Popen(  # noqa: S603 - our own program, no shell
                [sys.executable, "-I", "-S", "-c", _PROGRAM, str(jvm), str(seconds), str(arriving)],
                pass_fds=[jvm],
                stdin=subprocess.DEVNULL,
                # Whoever reads what this process writes waits for the end of all who could write there.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(jvm)
    return None
