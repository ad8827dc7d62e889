"""A file system in memory in the place of the JVM that asks a real one: atomic as HDFS is, one question at a time."""

import base64
import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from duolog.engine.checkpoint.remote import paths
from duolog.engine.errors import FileSystemFailed


class FakeFileSystem:
    """Takes the part of `Door`; files are texts by their URLs, directories are None."""

    settings: dict[str, str] = {}  # noqa: RUF012 - never changed
    jars: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.modified_ms: dict[str, int] = {}
        self.refuses: int | None = None
        self._lock = threading.Lock()

    def ask(self, do: str, path: str, **more: str) -> Any:
        with self._lock:
            if self.refuses is not None:
                raise FileSystemFailed(
                    'file system "hdfs://host" does not answer',
                    path=path,
                    number=self.refuses,
                    why=os.strerror(self.refuses),
                    hint="See that it runs.",
                )
            return getattr(self, f"_{do}")(path, **more)

    def read(self, path: str) -> bytes:
        return base64.b64decode(self.ask("read", path))

    def close(self) -> None:
        pass

    def _status(self, path: str) -> dict[str, Any]:
        content = self.files[path]
        status = {"name": path.rpartition("/")[2], "directory": content is None}
        return status | {"bytes": len(content or ""), "modified_ms": self.modified_ms.get(path, 0)}

    def _stat(self, path: str) -> dict[str, Any] | None:
        return self._status(path) if path in self.files else None

    def _list(self, path: str) -> list[dict[str, Any]] | None:
        # HDFS's word for what is below a file.
        assert self.files.get(path.rpartition("/")[0]) is None, f"{path} (is not a directory)"
        if path not in self.files:
            return None
        return [self._status(one) for one in self.files if one.rpartition("/")[0] == path]

    def _read(self, path: str) -> str:
        if self.files.get(path) is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return base64.b64encode((self.files[path] or "").encode()).decode()

    def _put(self, path: str, text: str) -> None:
        if path.rpartition("/")[0] not in self.files:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        self.files[path], self.modified_ms[path] = text, int(time.time() * 1000)

    def _replace(self, path: str, text: str) -> None:
        self._put(path, text)

    def _create(self, path: str) -> None:
        if path in self.files:
            raise FileExistsError(errno.EEXIST, "File exists", path)
        self._put(path, "")

    def _mkdirs(self, path: str) -> None:
        while path.count("/") > 2:
            self.files.setdefault(path, None)
            path = path.rpartition("/")[0]

    def _rename(self, path: str, to: str) -> None:
        if to in self.files:
            raise FileExistsError(errno.EEXIST, "File exists", to)
        for one in [one for one in self.files if one == path or one.startswith(f"{path}/")]:
            self.files[to + one[len(path) :]] = self.files.pop(one)

    def _delete(self, path: str) -> None:
        for one in [one for one in self.files if one == path or one.startswith(f"{path}/")]:
            del self.files[one]


@contextmanager
def opened(system: str = "hdfs://host") -> Iterator[FakeFileSystem]:
    door = FakeFileSystem()
    paths._doors[system] = door  # type: ignore[assignment]  # noqa: SLF001 - the one place
    try:
        yield door
    finally:
        del paths._doors[system]  # noqa: SLF001
