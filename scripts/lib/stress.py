"""Run a command while other processes keep every core busy: `stress.py COMMAND...`.

One busy process for each core that this process may use, at normal priority. They end with the
command: after success, after failure, on Ctrl-C and on SIGTERM. If this process is killed, each of
them notices within a second that its parent has exited; none lives longer than LIFETIME_S. Exits
with the command's status.
"""

import os
import signal
import subprocess
import sys
from types import FrameType
from typing import Final

LIFETIME_S: Final = 4 * 3600
# One iteration takes milliseconds. With shorter ones, the system call would keep the kernel busy
# instead of the core.
_BUSY: Final = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
parent, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
while os.getppid() == parent and time.monotonic() < end:
    sum(range(200_000))
"""


def busy_processes() -> list[subprocess.Popen[bytes]]:
    """Start one busy process for each core."""
    command = [sys.executable, "-c", _BUSY, str(os.getpid()), str(LIFETIME_S)]
    return [subprocess.Popen(command) for _ in os.sched_getaffinity(0)]


def run(command: list[str]) -> int:
    """Run the command alongside busy processes; return its exit status as a shell would."""
    child: subprocess.Popen[bytes] | None = None

    def forward(number: int, _frame: FrameType | None) -> None:
        # Ctrl-C reaches the command directly, because it is in the same process group.
        if child is not None and number == signal.SIGTERM:
            child.send_signal(number)

    # A function instead of SIG_IGN, which the command would inherit.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, forward)
    busy = busy_processes()
    try:
        child = subprocess.Popen(command)
        status = child.wait()
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
