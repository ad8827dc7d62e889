"""A disk in memory that simulates the data loss of a power failure.

Durable data are those that POSIX guarantees: a file's bytes up to its last `sync`, a directory's
names up to its last `sync_dir`. A crash keeps a random part of all later changes: of a file's bytes
any subset of 512-byte pieces and any size between the old and the new, of a directory's changes any
subset, each as a whole.

    disk = CrashDisk()
    disk.power_off_after(operations=40)     # the 41st change raises PowerLost, and all later ones
    ...
    disk = disk.crash(seed=7)               # the disk at the next start
    disk = disk.kill()                      # the same, if only the process ended

`crash` creates a clone and does not change the disk, so one run can be cut at every point. The same
seed always keeps the same part.
"""

from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import Final

from duolog.log.files.disk import Buffer
from duolog.log.files.open_files import OpenFiles

PIECE_BYTES: Final = 512
_KEEP_CHANCES: Final = (0.0, 0.3, 0.7, 1.0)
_OPEN_FILES_MAX: Final = 2
"""So few that segments are closed and reopened often."""


class PowerLost(OSError):
    """The power is off: reads and writes fail."""


class _File:
    """A file's content as seen by programs, and the durable part."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.durable = content

    def after_crash(self, random: Random) -> "_File":
        keep = random.choice(_KEEP_CHANCES)
        low, high = sorted((len(self.durable), len(self.content)))
        size = random.choice((low, high, random.randint(low, high)))
        kept = bytearray(self.durable[:size].ljust(size, b"\0"))
        for start in range(0, size, PIECE_BYTES):
            end = min(start + PIECE_BYTES, size, len(self.content))
            if random.random() < keep and start < end:
                kept[start:end] = self.content[start:end]
        return _File(bytes(kept))


class _Directory:
    """A directory's names as seen by programs, the durable names, and the changes between them."""

    def __init__(self) -> None:
        self.names: dict[str, _File | _Directory] = {}
        self.durable: dict[str, _File | _Directory] = {}
        self.changes: list[Callable[[dict[str, _File | _Directory]], None]] = []

    def change(self, apply: Callable[[dict[str, "_File | _Directory"]], None]) -> None:
        apply(self.names)
        self.changes.append(apply)

    def sync(self) -> None:
        self.durable = dict(self.names)
        self.changes.clear()

    def after_crash(self, random: Random, clones: dict[int, "_File"]) -> "_Directory":
        kept = dict(self.durable)
        keep = random.choice(_KEEP_CHANCES)
        for apply in self.changes:
            if random.random() < keep:
                apply(kept)
        clone = _Directory()
        for name, node in sorted(kept.items(), key=_by_name):
            if isinstance(node, _Directory):
                clone.names[name] = node.after_crash(random, clones)
            else:  # A file may have two names here: a rename that is half durable.
                clone.names[name] = clones.setdefault(id(node), node.after_crash(random))
        clone.durable = dict(clone.names)
        return clone


class CrashFile:
    """A handle of a file of a `CrashDisk`."""

    def __init__(self, disk: "CrashDisk", file: _File) -> None:
        self._disk = disk
        self._file = file
        self.size_bytes = len(file.content)

    def append(self, buffers: Sequence[Buffer]) -> None:
        self._disk.count("append")
        data = b"".join(buffers)
        self._put(self.size_bytes, data)
        self.size_bytes += len(data)

    def pwrite(self, position: int, data: Buffer) -> None:
        self._disk.count("pwrite")
        self._put(position, bytes(data))
        self.size_bytes = max(self.size_bytes, position + len(data))

    def _put(self, position: int, data: bytes) -> None:
        content = self._file.content
        if len(content) < position:
            content.extend(bytes(position - len(content)))
        content[position : position + len(data)] = data

    def pread(self, position: int, size_bytes: int) -> bytes:
        self._disk.ensure_on()
        return bytes(self._file.content[position : position + size_bytes])

    def sync(self) -> None:
        self._disk.count("sync")
        if "sync" not in self._disk.lies:
            self._file.durable = bytes(self._file.content)

    def truncate(self, size_bytes: int) -> None:
        self._disk.count("truncate")
        content = self._file.content
        del content[size_bytes:]
        content.extend(bytes(size_bytes - len(content)))
        self.size_bytes = size_bytes

    def fileno(self) -> int | None:
        return None

    def close(self) -> None:
        pass


class CrashLock:
    """The lock file of a `CrashDisk`; a crash drops the lock."""

    def __init__(self, held: set[str], path: str) -> None:
        if path in held:
            raise BlockingIOError(f"{path} is locked")
        self._held = held
        self._path = path
        held.add(path)

    def release(self) -> None:
        self._held.discard(self._path)


class CrashDisk:
    """A file tree in memory; see the module docstring.

    Args:
        lies: operations that report success without effect: "sync", like a disk that acknowledges
            writes in its cache, or "sync_dir". A durability test must fail on such a disk.

    Attributes:
        operations: the number of attempted changes.
        open_files: keeps two segment files open, so that tests cover reopening.
        boots: the number of power failures; part of the boot id.
        on_change: called before each change with its name, to inspect or clone the disk.
    """

    def __init__(self, *, lies: Collection[str] = ()) -> None:
        self.lies = lies
        self.operations = 0
        self.boots = 0
        self.open_files = OpenFiles(_OPEN_FILES_MAX)
        self.on_change: Callable[[str], None] | None = None
        self._root = _Directory()
        self._locks: set[str] = set()
        self._power_off_at: int | None = None
        self._failures: dict[str, OSError] = {}

    # Controls for tests.

    def crash(self, seed: int) -> "CrashDisk":
        """Return the disk as the next start finds it after a power failure now."""
        clone = CrashDisk(lies=self.lies)
        clone.boots = self.boots + 1
        clone._root = self._root.after_crash(Random(seed), {})  # noqa: S311 - chance, not a secret
        return clone

    def kill(self) -> "CrashDisk":
        """Return the disk as the next process finds it if this one is killed, with power on.

        All writes are present, but no additional data are durable.
        """
        found = CrashDisk(lies=self.lies)
        found.boots = self.boots
        found._root = self._root
        return found

    def power_off_after(self, *, operations: int) -> None:
        """Let `operations` more changes succeed, and none after them."""
        self._power_off_at = self.operations + operations

    def fail(self, operation: str, error: OSError) -> None:
        """Let each `append`, `sync`, `rename`, `open`, ... raise `error` from now on."""
        self._failures[operation] = error

    def heal(self) -> None:
        """Undo `fail`."""
        self._failures.clear()

    # Used by files and by the methods below.

    def ensure_on(self) -> None:
        if self._power_off_at is not None and self.operations > self._power_off_at:
            raise PowerLost("the power is off")

    def count(self, operation: str) -> None:
        """Count a change before it is made, or refuse it."""
        if self.on_change is not None:
            self.on_change(operation)
        self.operations += 1
        self.ensure_on()
        if operation in self._failures:
            raise self._failures[operation]

    # The disk interface.

    def open(self, path: str, *, create: bool = False) -> CrashFile:
        if "open" in self._failures:
            raise self._failures["open"]
        directory, name = self._parent(path)
        node = directory.names.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(path)
            self.count("create")
            node = _File()
            directory.change(_setting(name, node))
        if isinstance(node, _Directory):
            raise IsADirectoryError(path)
        return CrashFile(self, node)

    def make_dir(self, path: str) -> None:
        directory = self._root
        for name in _parts(path):
            node = directory.names.get(name)
            if node is None:
                self.count("make_dir")
                node = _Directory()
                directory.change(_setting(name, node))
            if isinstance(node, _File):
                raise FileExistsError(path)
            directory = node

    def list(self, path: str) -> list[str]:
        node = self._find(path)
        return sorted(node.names) if isinstance(node, _Directory) else []

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def size(self, path: str) -> int:
        node = self._find(path)
        if not isinstance(node, _File):
            raise FileNotFoundError(path)
        return len(node.content)

    def rename(self, old: str, new: str) -> None:
        directory, old_name = self._parent(old)
        new_directory, new_name = self._parent(new)
        assert directory is new_directory, "renames stay in their directory"
        node = directory.names.get(old_name)
        if node is None:
            raise FileNotFoundError(old)
        self.count("rename")
        moved = node

        def apply(names: "dict[str, _File | _Directory]") -> None:
            names.pop(old_name, None)
            names[new_name] = moved

        directory.change(apply)

    def remove(self, path: str) -> None:
        directory, name = self._parent(path)
        if name not in directory.names:
            raise FileNotFoundError(path)
        self.count("remove")
        directory.change(_removing(name))

    def remove_tree(self, path: str) -> None:
        self.remove(path)

    def sync_dir(self, path: str) -> None:
        node = self._find(path)
        if not isinstance(node, _Directory):
            raise FileNotFoundError(path)
        self.count("sync_dir")
        if "sync_dir" not in self.lies:
            node.sync()

    def boot_id(self) -> str | None:
        return f"boot-{self.boots}"

    def lock(self, path: str) -> CrashLock:
        self.open(path, create=True)
        return CrashLock(self._locks, path)

    def _find(self, path: str) -> "_File | _Directory | None":
        self.ensure_on()
        node: _File | _Directory | None = self._root
        for name in _parts(path):
            node = node.names.get(name) if isinstance(node, _Directory) else None
        return node

    def _parent(self, path: str) -> tuple[_Directory, str]:
        parent, _, name = path.rstrip("/").rpartition("/")
        node = self._find(parent)
        if not isinstance(node, _Directory):
            raise FileNotFoundError(parent)
        return node, name


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _by_name(item: "tuple[str, _File | _Directory]") -> str:
    return item[0]


def _setting(
    name: str, node: "_File | _Directory"
) -> Callable[[dict[str, "_File | _Directory"]], None]:
    def apply(names: "dict[str, _File | _Directory]") -> None:
        names[name] = node

    return apply


def _removing(name: str) -> Callable[[dict[str, "_File | _Directory"]], None]:
    def apply(names: "dict[str, _File | _Directory]") -> None:
        names.pop(name, None)

    return apply
