"""Locks on files. The system drops them when the process ends, however it ends.

Windows locks ranges of bytes, and no other process can read those. So the lock is on a byte far
beyond the end, and the content stays readable.

Source: `flock(2)`, `fcntl(2)`; Windows `LockFile`.
"""

import errno
import os
import sys
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_BYTE: Final = 1 << 30


def try_lock(descriptor: int) -> None:
    """Lock a file exclusively.

    Raises:
        BlockingIOError: another open file holds the lock.
        OSError: the file system has no locks.
    """
    if sys.platform == "win32":
        _try_range(descriptor, _BYTE)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def java_holds_lock(descriptor: int) -> bool:
    """Return whether a Java process holds a lock on a file that is open for reading.

    Java locks the bytes of a file: on POSIX systems by `fcntl`. Use another file than `try_lock`:
    Linux keeps the two kinds of locks apart, but on macOS a lock of one kind refuses the other.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            _try_range(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


if sys.platform == "win32":

    def _try_range(descriptor: int, position: int) -> None:
        os.lseek(descriptor, position, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(errno.EWOULDBLOCK, "lock is held") from error
