"""Paths at URLs with the interface of local paths, so that a checkpoint can be at either.

    RemotePath("hdfs://host:8020/data") / "checkpoints"     hdfs://host:8020/data/checkpoints

Unsupported operations are refused (`open`, links, permissions), since there is no local file.
Source: `pathlib`, whose methods these are.

The first component of such a path is the scheme. Code that opens it without `RemotePath` finds no
file, and `shutil` does nothing with it; use `durable.remove_tree`.
"""

import fnmatch
import os
from collections.abc import Generator, Mapping
from errno import ENOTSUP
from pathlib import PosixPath
from typing import Final, NoReturn, TypedDict, cast

from duolog.engine.checkpoint.remote.door import Door


class Status(TypedDict):
    """A file or directory, as `RemoteFileServer` describes it."""

    name: str
    directory: bool
    bytes: int
    modified_ms: int


_WILD: Final = frozenset("*?[")
# One for each file system, with the settings of its last use.
_doors: Final[dict[str, Door]] = {}


def use(path: "RemotePath", spark: Mapping[str, str]) -> None:
    """Access the file system of `path` with these Spark settings from now on."""
    wanted, known = Door(spark), _doors.get(path.system)
    if known is not None and (known.settings, known.jars) == (wanted.settings, wanted.jars):
        return
    _doors[path.system] = wanted
    if known is not None:
        known.close()


class RemotePath(PosixPath):
    """A path at a URL.

    To `pathlib` it is a relative path whose first part is the scheme and whose second part is the
    authority: it is joined, compared and split like any other path, and displayed as a URL.
    """

    __slots__ = ()

    @property
    def system(self) -> str:
        """The URL of its file system."""
        scheme, authority = self.parts[:2]
        return f"{scheme}//{authority}"

    def __str__(self) -> str:
        return "/".join([self.system, *self.parts[2:]])

    def __fspath__(self) -> str:
        # The system's open() would create a directory called "hdfs:".
        raise OSError(ENOTSUP, "it is a URL, not a local file", str(self))

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def _ask(self, do: str, **more: str) -> object:
        door = _doors.get(self.system)
        if door is None:
            door = _doors.setdefault(self.system, Door({}))
        return door.ask(do, str(self), **more)

    def resolve(self, strict: bool = False) -> "RemotePath":
        return self

    def absolute(self) -> "RemotePath":
        return self

    def is_absolute(self) -> bool:
        return True

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        found = self._status()
        if found is None:
            raise FileNotFoundError(2, "No such file or directory", str(self))
        modified_s = found["modified_ms"] / 1000
        mode = 0o040755 if found["directory"] else 0o100644
        numbers = (mode, 0, 0, 1, 0, 0, found["bytes"], modified_s, modified_s, modified_s)
        return os.stat_result(
            numbers, {"st_mtime_ns": found["modified_ms"] * 1_000_000, "st_mtime": modified_s}
        )

    def lstat(self) -> os.stat_result:
        return self.stat()

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        return self._status() is not None

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        found = self._status()
        return found is not None and found["directory"]

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        found = self._status()
        return found is not None and not found["directory"]

    def read_bytes(self) -> bytes:
        door = _doors.setdefault(self.system, Door({}))
        return door.read(str(self))

    def read_text(
        self, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> str:
        assert newline is None
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def replace_text(self, text: str) -> None:
        """Replace the content atomically and durably: a reader finds the old or the new text."""
        self._ask("replace", text=text)

    def create(self) -> None:
        """Create an empty file.

        Raises:
            FileExistsError: it exists. Of two concurrent calls one succeeds.
            FileNotFoundError: its directory does not exist.
        """
        self._ask("create")

    def touch(self, mode: int = 0o666, exist_ok: bool = True) -> None:
        try:
            self.create()
        except FileExistsError:
            if not exist_ok:
                raise

    def iterdir(self) -> Generator["RemotePath", None, None]:
        yield from (self / of["name"] for of in self._listed())

    def _status(self) -> Status | None:
        return cast("Status | None", self._ask("stat"))

    def _listed(self) -> list[Status]:
        found = cast("list[Status] | None", self._ask("list"))
        if found is None:
            raise FileNotFoundError(2, "No such file or directory", str(self))
        return found

    def glob(self, pattern: str, **options: bool) -> Generator["RemotePath", None, None]:
        assert not options, "none is needed"
        first, _, rest = str(pattern).partition("/")
        if not _WILD & set(first):
            at = [self / first]
        else:
            try:
                # Do not descend into a file: HDFS reports that as a permission error.
                found = [of for of in self._listed() if of["directory"] or not rest]
            except FileNotFoundError:
                return
            names = sorted(of["name"] for of in found)
            at = [self / name for name in names if fnmatch.fnmatchcase(name, first)]
        for path in at:
            if rest:
                yield from path.glob(rest)
            elif _WILD & set(first) or path.exists():
                yield path

    def rglob(self, pattern: str, **options: bool) -> Generator["RemotePath", None, None]:
        assert not options, "none is needed"
        try:
            found = self._listed()
        except FileNotFoundError:
            return
        for of in found:
            path = self / of["name"]
            if fnmatch.fnmatchcase(of["name"], pattern):
                yield path
            if of["directory"]:
                yield from path.rglob(pattern)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        assert parents, "those above come with it"
        if not exist_ok and self.exists():
            raise FileExistsError(17, "File exists", str(self))
        self._ask("mkdirs")

    def unlink(self, missing_ok: bool = False) -> None:
        if not missing_ok and not self.exists():
            raise FileNotFoundError(2, "No such file or directory", str(self))
        self._ask("delete")

    def rename(self, target: "str | os.PathLike[str]") -> "RemotePath":
        assert isinstance(target, RemotePath)
        self._ask("rename", to=str(target))
        return target

    def remove_tree(self) -> None:
        """Remove it and everything below; does nothing if it does not exist."""
        self._ask("delete")

    def open(self, *_given: object, **_more: object) -> NoReturn:
        raise OSError(ENOTSUP, "it is a URL, not a local file", str(self))
