"""Measure how much memory is available to this user's processes.

Source: Linux `proc_meminfo(5)`, and control groups, which limit a container: v2 (`memory.max`) and
v1 (`memory.limit_in_bytes`). The limits of all parent groups apply, too.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from duolog.core.units import KIB


class _Version(NamedTuple):
    """A version of control groups: where its memory groups are, and the names of their files."""

    mounted: str
    most: str
    used: str
    droppable: str
    """The line of `memory.stat` for file pages not read for long, of the group and its children."""


_V1: Final = _Version(
    "sys/fs/cgroup/memory",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_inactive_file",
)
_V2: Final = _Version("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")


def free_memory_bytes(root: Path = Path("/")) -> int | None:
    """Return the bytes available before swapping or the container's limit; None if unknown."""
    found = [*_of_machine(root), *_of_groups(root)]
    return min(found) if found else None


def _of_machine(root: Path) -> list[int]:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return [int(line.split()[1]) * KIB]
    return []


def _of_groups(root: Path) -> Iterator[int]:
    """Yield what the group of this process has left, and each group around it that has a limit."""
    with contextlib.suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            number, controllers, own = line.split(":", 2)
            if number == "0":
                yield from _up_from(root / _V2.mounted, own, _V2)
            elif "memory" in controllers.split(","):
                yield from _up_from(root / _V1.mounted, own, _V1)


def _up_from(mounted: Path, own: str, version: _Version) -> Iterator[int]:
    path = PurePosixPath(own.strip("/"))
    # In a container the path is often that of the host, and its own group is the first one.
    if ".." in path.parts or not (mounted / path).is_dir():
        path = PurePosixPath()
    for group in (path, *path.parents):
        yield from _left_in(mounted / group, version)


def _left_in(group: Path, version: _Version) -> list[int]:
    with contextlib.suppress(OSError, ValueError):
        most = int((group / version.most).read_text())  # "max" means unlimited
        used = int((group / version.used).read_text())
        lines = (line.split() for line in (group / "memory.stat").read_text().splitlines())
        # The system drops these pages when it needs their memory.
        dropped = sum(int(words[1]) for words in lines if words[0] == version.droppable)
        return [max(0, most - used + dropped)]
    return []
