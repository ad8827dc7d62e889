"""A child process that must not outlive its parent."""

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_with(parent: int) -> None:
    """Make the kernel kill this process when the process `parent` exits; Linux only.

    Raises:
        SystemExit: the parent has already exited.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)
