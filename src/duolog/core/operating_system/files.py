"""Reads and writes at a position, and syncs to the disk.

| | Linux | macOS | Windows |
|---|---|---|---|
| `pread`, `pwrite` | the system's | the system's | a seek and a read or write, under a lock |
| `pwritev` | the system's | one write of the joined buffers | as macOS |
| `sync_data` | fdatasync | F_FULLFSYNC | fsync |
| `sync_directory` | fsync | F_FULLFSYNC | nothing: NTFS writes names in its journal |

On macOS, fsync only hands the data to the drive, which may keep it in its cache. F_FULLFSYNC asks
the drive to write it. A file system that does not know it, such as a network share, gets an fsync.

Source: Linux `fdatasync(2)`; macOS `fsync(2)`, `fcntl(2)`.
"""

import errno
import operator
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from duolog.core.operating_system.portable import PORTABLE

if sys.platform != "win32":
    import fcntl

Buffer = bytes | bytearray | memoryview

IOV_MAX: Final = 1024
"""Buffers that one `pwritev` takes on Linux."""
_NO_FULL_SYNC: Final = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY}

if sys.platform == "win32":
    CLOEXEC: Final = os.O_BINARY | os.O_NOINHERIT
    """Flags for each open file: child processes do not inherit it."""
    NONBLOCK: Final = 0
    """Flag for a file that may be a pipe without a writer."""

    _seeking: Final = threading.Lock()

    def pread(descriptor: int, size_bytes: int, position: int, /) -> bytes:
        """Return the bytes at `position`, fewer at the end of the file."""
        with _seeking:
            os.lseek(descriptor, position, os.SEEK_SET)
            return os.read(descriptor, size_bytes)

    def pwrite(descriptor: int, data: Buffer, position: int, /) -> int:
        """Write `data` at `position`; return how many bytes were written."""
        with _seeking:
            os.lseek(descriptor, position, os.SEEK_SET)
            return os.write(descriptor, data)

else:
    CLOEXEC: Final = os.O_CLOEXEC
    NONBLOCK: Final = os.O_NONBLOCK
    pread = os.pread
    pwrite = os.pwrite


def write_joined(descriptor: int, buffers: Sequence[Buffer], position: int, /) -> int:
    """Write the buffers one after the other at `position`; return how many bytes were written."""
    return pwrite(descriptor, b"".join(buffers), position)


if sys.platform != "win32":

    def sync_fully(descriptor: int, full_sync: int) -> None:
        """Write a file through the cache of its drive, by the command `full_sync` of fcntl(2).

        Raises:
            OSError: the drive refused.
        """
        try:
            fcntl.fcntl(descriptor, full_sync)
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC:
                raise
            os.fsync(descriptor)


def sync(descriptor: int, /) -> None:
    """Return when a file or directory, with its size and times, would survive a loss of power."""
    if sys.platform == "darwin":
        sync_fully(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


pwritev: Callable[[int, Sequence[Buffer], int], int] = write_joined
"""Write buffers one after the other at a position; return how many bytes were written."""
sync_data: Callable[[int], None] = sync
"""Return when the bytes of a file, and its size, would survive a loss of power."""
if sys.platform == "linux" and not PORTABLE:
    pwritev, sync_data = os.pwritev, os.fdatasync


def sync_directory(
    path: str | Path, opening: Callable[[Callable[[], int]], int] = operator.call
) -> None:
    """Return when the names in a directory would survive a loss of power.

    `opening` calls the function that opens the directory, and returns its result.
    """
    if sys.platform != "win32":
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        descriptor = opening(lambda: os.open(path, flags))
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)
