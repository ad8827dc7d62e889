"""Errors of a start, made of what the operating system says: the place, and what to do.

A file of one log that cannot be read is damage to that log alone; the others are served. Anything
else that the disk refuses ends the start.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from duolog.log.errors import CorruptLog, DataDirRefused

_WHAT_HELPS: Final = {
    errno.ENOSPC: "Make room on its file system, then start the broker again: nothing is lost.",
    errno.EDQUOT: "Raise the quota or make room, then start the broker again: nothing is lost.",
    errno.EROFS: "Mount its file system for writing; look in the system's log why it is not.",
    errno.EISDIR: "Something else has the name of one of its files: restore the file from a copy.",
    errno.ENOTDIR: "Something else has the name of a directory: restore the directory from a copy.",
    errno.EACCES: "Give this user the right to read and write there.",
    errno.EPERM: "Give this user the right to read and write there.",
    errno.EIO: "Look in the system's log what is wrong with the disk.",
}
_OF_ONE_FILE: Final = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM})


@contextmanager
def unreadable_is_damage(path: str) -> Iterator[None]:
    """Take a path that is not a file, or another user's file, for damage to its log alone.

    Raises:
        CorruptLog: instead of such an OSError.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _OF_ONE_FILE:
            raise
        raise CorruptLog(
            f'log in "{path}" cannot be read',
            detail=f"{error.filename}: {(error.strerror or str(error)).lower()}.",
            hint=_WHAT_HELPS[error.errno],
        ) from error


@contextmanager
def refusal_of(path: str) -> Iterator[None]:
    """Name the place and the remedy when the disk refuses a start.

    Raises:
        DataDirRefused: instead of an OSError that names neither.
    """
    try:
        yield
    except OSError as error:
        hint = _WHAT_HELPS.get(error.errno or 0)
        if hint is None:
            raise
        raise DataDirRefused(
            f'directory "{path}" cannot be opened: {(error.strerror or str(error)).lower()}',
            detail=f"It failed at {error.filename}."
            if error.filename
            else "A start writes there: its leader epoch, and what a crash has left to be done.",
            hint=hint,
        ) from error
