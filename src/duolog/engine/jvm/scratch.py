"""The scratch directory of a session, and the removal of those that killed processes left.

    TMPDIR/duolog-spark-…/.lock     locked by Python and, as it inherits the descriptor, by its JVM

The lock is released when the last process with the descriptor ends, however it ends. So a directory
with a free lock has no owner, and the next start removes it. The directory gets its final name once
it is locked.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.core.operating_system.files import CLOEXEC
from duolog.core.operating_system.locks import try_lock
from duolog.core.operating_system.processes import is_own
from duolog.core.units import DAY_MS

PREFIX: Final = "duolog-spark-"
_LOCK: Final = ".lock"
_ARRIVING: Final = ".arriving-"


@dataclass(frozen=True, slots=True)
class Scratch:
    """A directory of this process; child processes inherit `lock_fd`."""

    directory: Path
    lock_fd: int


@contextlib.contextmanager
def scratch_dir() -> Iterator[Scratch]:
    """Create a scratch directory, and remove it at the end. Removes leftovers of others first."""
    base = Path(tempfile.gettempdir()).resolve()
    sweep(base)
    arriving = Path(tempfile.mkdtemp(prefix=f"{_ARRIVING}{PREFIX}", dir=base))
    directory = base / arriving.name.removeprefix(_ARRIVING)
    lock_fd = os.open(arriving / _LOCK, os.O_CREAT | os.O_WRONLY | CLOEXEC, 0o600)
    try:
        try_lock(lock_fd)
        arriving.rename(directory)
        yield Scratch(directory, lock_fd)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock_fd)


def sweep(base: Path) -> None:
    """Remove the directories in `base` whose processes have ended."""
    for directory in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if is_own(directory.stat()) and _is_left(directory):
                shutil.rmtree(directory, ignore_errors=True)


def _is_left(directory: Path) -> bool:
    try:
        lock_fd = os.open(directory / _LOCK, os.O_WRONLY | CLOEXEC)
    except FileNotFoundError:
        # Created by a version without locks: no process works in one for days.
        return time.time() - directory.stat().st_mtime > DAY_MS / 1000
    try:
        try_lock(lock_fd)
    except BlockingIOError:
        return False
    finally:
        os.close(lock_fd)
    return True
