"""The only door to the disk: a small interface, and the real implementation.

What the interface promises is what POSIX promises, and no more: bytes are durable after `sync`
of their file, names (created, renamed, removed) after `sync_dir` of their directory. A file that
was removed stays readable through handles that are open; handles close when they are unused.
`duolog.testing.disk.CrashDisk` is the same interface over memory, and forgets what POSIX lets
it forget.

Threads: a file may be appended by one thread while others read it or sync it.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Sequence
from typing import Final, Protocol

from duolog.core.operating_system import files
from duolog.core.operating_system.boot import boot_id
from duolog.core.operating_system.files import (
    CLOEXEC,
    pread,
    pwrite,
    pwritev,
    sync_data,
    sync_directory,
)
from duolog.core.operating_system.locks import try_lock
from duolog.log.files.open_files import OPEN_FILES_MAX, OpenFiles

Buffer = files.Buffer
IOV_MAX: Final = files.IOV_MAX
"""Buffers that one writev takes."""
_FILE_MODE: Final = 0o600
_DIRECTORY_MODE: Final = 0o700
"""Only for the user of the broker: files hold records, credentials and settings with secrets."""


class DiskFile(Protocol):
    """An open file. Appends go to `size_bytes`, which this handle alone moves."""

    size_bytes: int

    def append(self, buffers: Sequence[Buffer]) -> None:
        """Write all `buffers` at the end, one after the other.

        Raises:
            OSError: the disk refused; `size_bytes` is what it was before.
        """
        ...

    def pread(self, position: int, size_bytes: int) -> bytes:
        """Return the bytes at `position`, fewer at the end of the file."""
        ...

    def pwrite(self, position: int, data: Buffer) -> None:
        """Write `data` over what is at `position`; the file grows if it must."""
        ...

    def sync(self) -> None:
        """Return when all bytes of the file, and its size, would survive a loss of power."""
        ...

    def truncate(self, size_bytes: int) -> None:
        """Cut the file to `size_bytes`."""
        ...

    def fileno(self) -> int | None:
        """Return the descriptor for sendfile, or None if the file does not have one."""
        ...

    def close(self) -> None:
        """Close the descriptor. Only for files that no other code can hold."""
        ...


class DirLock(Protocol):
    """A lock that ends with `release`, or with the process."""

    def release(self) -> None: ...


class Disk(Protocol):
    """A tree of files. Paths are texts with slashes.

    Attributes:
        open_files: bounds the number of segment files that are open.
    """

    open_files: OpenFiles

    def open(self, path: str, *, create: bool = False) -> DiskFile:
        """Open a file for reading and writing.

        Raises:
            FileNotFoundError: it does not exist and `create` is False.
        """
        ...

    def make_dir(self, path: str) -> None:
        """Create a directory and its parents, where they do not exist."""
        ...

    def list(self, path: str) -> list[str]:
        """Return the names in a directory, sorted; none where there is no directory."""
        ...

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Rename within one directory; a file called `new` is replaced in one step."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all in it."""
        ...

    def sync_dir(self, path: str) -> None:
        """Return when the names in this directory would survive a loss of power."""
        ...

    def boot_id(self) -> str | None:
        """Return an id that changes when unsynced bytes may be lost; None if there is none."""
        ...

    def lock(self, path: str) -> DirLock:
        """Take the lock file at `path`.

        Raises:
            BlockingIOError: another process, or another lock of this one, holds it.
        """
        ...


class RealFile:
    """A file of the operating system."""

    __slots__ = ("_descriptor", "size_bytes")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size_bytes = os.fstat(descriptor).st_size

    def append(self, buffers: Sequence[Buffer]) -> None:
        position = self.size_bytes
        for start in range(0, len(buffers), IOV_MAX):
            position = self._write_all(buffers[start : start + IOV_MAX], position)
        self.size_bytes = position

    def _write_all(self, buffers: Sequence[Buffer], position: int) -> int:
        end = position + sum(map(len, buffers))
        position += pwritev(self._descriptor, buffers, position)
        while position < end:  # A short write: what is left goes as one piece.
            rest = b"".join(buffers)[position - end :]
            position += pwrite(self._descriptor, rest, position)
        return end

    def pread(self, position: int, size_bytes: int) -> bytes:
        return pread(self._descriptor, size_bytes, position)

    def pwrite(self, position: int, data: Buffer) -> None:
        rest = memoryview(data)
        while rest:
            written = pwrite(self._descriptor, rest, position)
            rest = rest[written:]
            position += written
        self.size_bytes = max(self.size_bytes, position)

    def sync(self) -> None:
        sync_data(self._descriptor)

    def truncate(self, size_bytes: int) -> None:
        os.ftruncate(self._descriptor, size_bytes)
        self.size_bytes = size_bytes

    def fileno(self) -> int | None:
        return self._descriptor

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        # A deleted segment lives until the last fetch that sends from it is done.
        self.close()


_PID_BYTES_MAX: Final = 20


class LockHeld(BlockingIOError):
    """Another one holds a lock; `pid` is its process, where the lock file says so."""

    def __init__(self, path: str, pid: int | None) -> None:
        super().__init__(errno.EWOULDBLOCK, "lock is held", path)
        self.pid = pid


class RealLock:
    """A lock on a file; the kernel drops it when the process ends, however it ends.

    The file names the process that holds the lock, for the error of a process that fails to get it.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | CLOEXEC, _FILE_MODE)
        try:
            try_lock(self._descriptor)
            os.ftruncate(self._descriptor, 0)
            pwrite(self._descriptor, b"%d\n" % os.getpid(), 0)
        except BlockingIOError:
            holder = pread(self._descriptor, _PID_BYTES_MAX, 0).strip()
            os.close(self._descriptor)
            raise LockHeld(path, int(holder) if holder.isdigit() else None) from None
        except OSError:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        os.close(self._descriptor)


class RealDisk:
    """The file system of the machine."""

    def __init__(self, open_files_max: int = OPEN_FILES_MAX) -> None:
        self.open_files = OpenFiles(open_files_max)
        self._spare = self.open_files.spare
        self._spare.refill()

    def open(self, path: str, *, create: bool = False) -> RealFile:
        flags = os.O_RDWR | CLOEXEC | (os.O_CREAT if create else 0)
        return self.make_file(self._spare.use(lambda: os.open(path, flags, _FILE_MODE)))

    def make_file(self, descriptor: int) -> RealFile:
        """Return the file of an open descriptor; a disk for tests returns one that can fail."""
        return RealFile(descriptor)

    def make_dir(self, path: str) -> None:
        os.makedirs(path, _DIRECTORY_MODE, exist_ok=True)  # noqa: PTH103 - paths are texts here

    def list(self, path: str) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(os.listdir(path))  # noqa: PTH208
        return []

    def exists(self, path: str) -> bool:
        return os.path.exists(path)  # noqa: PTH110

    def size(self, path: str) -> int:
        return os.stat(path).st_size  # noqa: PTH116

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)  # noqa: PTH105

    def remove(self, path: str) -> None:
        os.unlink(path)  # noqa: PTH108

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)

    def sync_dir(self, path: str) -> None:
        sync_directory(path, self._spare.use)

    def boot_id(self) -> str | None:
        return boot_id()

    def lock(self, path: str) -> RealLock:
        return RealLock(path)


def make_durable_dir(disk: Disk, path: str) -> None:
    """Create a directory and its parents where they do not exist, and make their names durable."""
    missing = []
    while path and not disk.exists(path):
        missing.append(path)
        path = path.rpartition("/")[0]
    if path:
        # It may be ours, from a process that was killed before this sync; if it is not, the
        # directory around it may be closed to us.
        with contextlib.suppress(PermissionError):
            disk.sync_dir(_parent(path))
    for new in reversed(missing):
        disk.make_dir(new)
        disk.sync_dir(_parent(new))


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")


def replace_file(disk: Disk, directory: str, name: str, data: bytes) -> None:
    """Put `data` into a file so that a crash leaves the old content or the new, durably."""
    temporary = f"{directory}/{name}.tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.append([data])
        file.sync()
    finally:
        file.close()
    disk.rename(temporary, f"{directory}/{name}")
    disk.sync_dir(directory)


def read_file(disk: Disk, path: str) -> bytes | None:
    """Return the content of a small file, or None if it does not exist."""
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.pread(0, file.size_bytes)
    finally:
        file.close()
