"""A disk whose changes stay in memory: a start can be rehearsed on a directory of another.

    reads    bytes of the disk below, with the changes over them
    writes   kept as pieces with their positions; names as a map over those of the disk below

The disk below is only read. What was changed can be listed afterwards, which is how the doctor
reports what the next start would cut or remove.

Thread: one.
"""

import errno
import os
import stat
from collections.abc import Sequence
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from duolog.core.operating_system.files import CLOEXEC
from duolog.log.files.disk import Buffer, Disk, RealDisk, RealFile
from duolog.log.files.open_files import OpenFiles


class ReadOnlyDisk(RealDisk):
    """The file system of the machine, opened for reading only, as on a read-only mount."""

    def open(self, path: str, *, create: bool = False) -> RealFile:
        assert not create, "nothing is created here"
        # Without waiting: a pipe would keep the open until another process writes to it.
        flags = os.O_RDONLY | CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        descriptor = self.open_files.spare.use(lambda: os.open(path, flags))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return self.make_file(descriptor)


class Change(NamedTuple):
    """A file that differs from the disk below. The size of a missing file is None."""

    path: str
    size_below: int | None
    size_bytes: int | None


class _Content:
    """The bytes of a file: those below, up to a limit, and pieces over them."""

    __slots__ = ("__weakref__", "_disk", "_path", "below_bytes", "changed", "pieces", "size_bytes")

    def __init__(self, disk: Disk, path: str | None) -> None:
        self._disk = disk
        self._path = path
        self.size_bytes = 0 if path is None else disk.size(path)
        self.below_bytes = self.size_bytes
        self.pieces: list[tuple[int, bytearray]] = []
        self.changed = path is None

    def pread(self, position: int, size_bytes: int) -> bytes:
        size_bytes = max(0, min(size_bytes, self.size_bytes - position))
        if not size_bytes:
            return b""
        found = self._read_below(position, size_bytes)
        if not self.changed:
            return found
        data = bytearray(found.ljust(size_bytes, b"\0"))
        for start, piece in self.pieces:
            low, high = max(start, position), min(start + len(piece), position + size_bytes)
            if low < high:
                data[low - position : high - position] = piece[low - start : high - start]
        return bytes(data)

    def _read_below(self, position: int, size_bytes: int) -> bytes:
        left = min(size_bytes, self.below_bytes - position)
        if self._path is None or left <= 0:
            return b""
        file = self._disk.open(self._path)
        try:
            return file.pread(position, left)
        finally:
            file.close()

    def put(self, position: int, data: bytes) -> None:
        self.changed = True
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last[0] + len(last[1]) == position:
            last[1].extend(data)
        else:
            self.pieces.append((position, bytearray(data)))
        self.size_bytes = max(self.size_bytes, position + len(data))

    def truncate(self, size_bytes: int) -> None:
        if size_bytes == self.size_bytes:
            return
        self.changed = True
        self.below_bytes = min(self.below_bytes, size_bytes)
        kept = [(at, piece[: max(0, size_bytes - at)]) for at, piece in self.pieces]
        self.pieces = [(at, piece) for at, piece in kept if piece]
        self.size_bytes = size_bytes


class OverlayFile:
    """A handle of a file of an `OverlayDisk`."""

    def __init__(self, disk: "OverlayDisk", path: str, content: _Content) -> None:
        self._disk = disk
        self._path = path
        self._content = content
        self.size_bytes = content.size_bytes

    def append(self, buffers: Sequence[Buffer]) -> None:
        data = b"".join(buffers)
        self.pwrite(self.size_bytes, data)

    def pread(self, position: int, size_bytes: int) -> bytes:
        return self._content.pread(position, size_bytes)

    def pwrite(self, position: int, data: Buffer) -> None:
        self._content.put(position, bytes(data))
        self._disk.keep(self._path, self._content)
        self.size_bytes = max(self.size_bytes, position + len(data))

    def sync(self) -> None:
        pass

    def truncate(self, size_bytes: int) -> None:
        self._content.truncate(size_bytes)
        self._disk.keep(self._path, self._content)
        self.size_bytes = size_bytes

    def fileno(self) -> int | None:
        return None

    def close(self) -> None:
        pass


class _NoLock:
    def release(self) -> None:
        pass


class OverlayDisk:
    """A disk over another; see the module docstring."""

    def __init__(self, below: Disk) -> None:
        self.below: Final = below
        self.open_files = OpenFiles()
        self._contents: dict[str, _Content | None] = {}
        """Changed and new files by path; None for a path that was removed."""
        self._directories: set[str] = set()
        self._clean: WeakValueDictionary[str, _Content] = WeakValueDictionary()

    def changes(self) -> list[Change]:
        """Return the files that differ from those below, sorted by path."""
        found = []
        for path, content in sorted(self._contents.items()):
            below = self.below.size(path) if self._is_file_below(path) else None
            now = None if content is None else content.size_bytes
            if (below, now) != (None, None) and (content is None or content.changed):
                found.append(Change(path, below, now))
        return found

    def keep(self, path: str, content: _Content) -> None:
        """Note that a file was changed. One that was removed or replaced since is only held."""
        if content.changed and self._clean.get(path) is content:
            self._contents[path] = content

    def open(self, path: str, *, create: bool = False) -> OverlayFile:
        content = self._find(path)
        if content is None:
            if self._is_directory(path):
                raise IsADirectoryError(path)
            if not create:
                # The disk below says why: no such file, or a part of the path is not a directory.
                if path not in self._contents:
                    self.below.open(path).close()
                raise FileNotFoundError(path)
            content = self._contents[path] = self._clean[path] = _Content(self.below, None)
        return OverlayFile(self, path, content)

    def _find(self, path: str) -> _Content | None:
        if path in self._contents:
            content = self._contents[path]
        elif path in self._clean:
            return self._clean[path]
        elif self._is_removed(path) or not self._is_file_below(path):
            return None
        else:
            content = _Content(self.below, path)
        if content is not None:
            self._clean[path] = content
        return content

    def _is_file_below(self, path: str) -> bool:
        if not self.below.exists(path):
            return False
        try:
            self.below.open(path).close()
        except (IsADirectoryError, FileNotFoundError):  # The root of a disk has no name.
            return False
        return True

    def _is_removed(self, path: str) -> bool:
        while path:
            if path in self._contents and self._contents[path] is None:
                return True
            path = path.rpartition("/")[0]
        return False

    def _is_directory(self, path: str) -> bool:
        return path in self._directories or (
            not self._is_removed(path) and self.below.exists(path) and not self._is_file_below(path)
        )

    def make_dir(self, path: str) -> None:
        while path and not self._is_directory(path):
            self._directories.add(path)
            path = path.rpartition("/")[0]

    def list(self, path: str) -> list[str]:
        names = set() if self._is_removed(path) else set(self.below.list(path))
        for changed, content in self._contents.items():
            parent, _, name = changed.rpartition("/")
            if parent == path:
                (names.discard if content is None else names.add)(name)
        names |= {
            made.rpartition("/")[2] for made in self._directories if made.rpartition("/")[0] == path
        }
        return sorted(names)

    def exists(self, path: str) -> bool:
        if path in self._contents:
            return self._contents[path] is not None
        return path in self._directories or (not self._is_removed(path) and self.below.exists(path))

    def size(self, path: str) -> int:
        content = self._find(path)
        if content is None:
            raise FileNotFoundError(path)
        return content.size_bytes

    def rename(self, old: str, new: str) -> None:
        content = self._find(old)
        if content is None:
            raise FileNotFoundError(old)
        content.changed = True
        self._contents[new] = self._clean[new] = content
        self._contents[old] = None
        self._clean.pop(old, None)

    def remove(self, path: str) -> None:
        if self._find(path) is None:
            raise FileNotFoundError(path)
        self._contents[path] = None
        self._clean.pop(path, None)

    def remove_tree(self, path: str) -> None:
        for known in [one for one in self._contents if one.startswith(f"{path}/")]:
            self._contents[known] = None
        self._directories = {
            one for one in self._directories if not f"{one}/".startswith(f"{path}/")
        }
        self._contents[path] = None

    def sync_dir(self, path: str) -> None:
        if not self._is_directory(path):
            raise FileNotFoundError(path)

    def boot_id(self) -> str | None:
        return self.below.boot_id()

    def lock(self, path: str) -> _NoLock:
        return _NoLock()
