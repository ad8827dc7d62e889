"""Temporary directories that do not outlive their process, even after SIGKILL.

A directory belongs to the process that holds the lock of its lock file. The kernel releases the
lock when that process ends. The next process that makes a scratch directory deletes those that no
process owns any more.
"""

import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import Final

from duolog.core.operating_system.processes import is_own
from duolog.log.files.disk import RealLock

PREFIX: Final = "duolog-testing-"
LOCK_FILE: Final = "owner.lock"
_UNLOCKED_S: Final = 3600.0
"""Age after which a directory without a lock file is deleted: its process was killed before it had
made one.
"""


class Scratch:
    """A temporary directory of this process."""

    def __init__(self) -> None:
        """Make the directory, and delete the directories of processes that were killed."""
        sweep()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Locked before it has the name by which others look for it.
        new = self.path / f"{LOCK_FILE}.new"
        self._lock = RealLock(str(new))
        new.rename(self.path / LOCK_FILE)

    def remove(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.release()


def sweep() -> list[Path]:
    """Delete all scratch directories of this user that no process owns; return their paths."""
    found = Path(tempfile.gettempdir()).glob(f"{PREFIX}*")
    return [path for path in found if _abandoned(path)]


def _abandoned(path: Path) -> bool:
    """Delete a directory if no process owns it; return whether it was deleted."""
    try:
        status = path.lstat()
        # What others own may contain a link in place of the lock file, which would be overwritten.
        if not stat.S_ISDIR(status.st_mode) or not is_own(status):
            return False
        lock_file = path / LOCK_FILE
        if lock_file.is_symlink():
            return False
        if not lock_file.exists():
            if time.time() - status.st_mtime < _UNLOCKED_S:
                return False
            shutil.rmtree(path, ignore_errors=True)
            return True
        lock = RealLock(str(lock_file))
    except OSError:  # Another process owns it, or has deleted it meanwhile.
        return False
    shutil.rmtree(path, ignore_errors=True)
    lock.release()
    return True
