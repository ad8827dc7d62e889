"""The end of a JVM process, as a sentence for people."""

import signal
import subprocess
from typing import Final, NamedTuple

# For a JVM that has closed its connections and is about to exit.
_LAST_MOMENT_S: Final = 2

_KILLED_HINT: Final = (
    "The system kills processes when it runs out of memory: add memory, "
    'or lower the setting "driver.memory.bytes".'
)

_KILLED: Final = -9
"""The status of a process that SIGKILL has ended."""
_OUT_OF_MEMORY: Final = (3, 52)
"""The statuses of a JVM (ExitOnOutOfMemoryError) and of Spark after an OutOfMemoryError."""


class JvmEnd(NamedTuple):
    """The end of a JVM."""

    pid: int
    how: str
    """A sentence."""
    out_of_memory: bool
    """True if its heap was too small."""

    @classmethod
    def of(cls, pid: int, status: int) -> "JvmEnd":
        return cls(pid, how_ended(status), status in _OUT_OF_MEMORY)


def how_ended(status: int) -> str:
    """Return a sentence about the exit status of a JVM.

    Example:
        >>> how_ended(-9), how_ended(1)
        ('The JVM was killed by SIGKILL.', 'The JVM ended with exit status 1.')
        >>> how_ended(3)
        'The JVM ran out of memory (exit status 3).'
    """
    if status in _OUT_OF_MEMORY:
        return f"The JVM ran out of memory (exit status {status})."
    if status >= 0:
        return f"The JVM ended with exit status {status}."
    try:
        return f"The JVM was killed by {signal.Signals(-status).name}."
    except ValueError:
        return f"The JVM was killed by signal {-status}."


def hint_for_killed(status: int | None) -> str:
    """Return what to do about a JVM that was killed; empty if it was not."""
    return _KILLED_HINT if status == _KILLED else ""


def final_status(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit status of a process that has ended, or ends in a moment; None if it runs."""
    try:
        return process.wait(_LAST_MOMENT_S)
    except subprocess.TimeoutExpired:
        return None
