"""Measure how much memory is available to this user's processes.

Source: Linux `proc_meminfo(5)`, and `memory.max` of control groups v2, which limits a container.
"""

import contextlib
from pathlib import Path

from duolog.core.units import KIB


def free_memory_bytes(root: Path = Path("/")) -> int | None:
    """Return the bytes available without swapping or reaching the container's limit; None if unknown."""
    found = [*_of_machine(root), *_of_group(root)]
    return min(found) if found else None


def _of_machine(root: Path) -> list[int]:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return [int(line.split()[1]) * KIB]
    return []


def _of_group(root: Path) -> list[int]:
    groups = root / "sys/fs/cgroup"
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
        own = next(line[3:] for line in lines if line.startswith("0::"))
        group = groups / own.strip("/")
        # Inside a container the path is often the host's.
        group = group if (group / "memory.max").exists() else groups
        most = int((group / "memory.max").read_text())  # "max" is no limit
        used = int((group / "memory.current").read_text())
        lines = (group / "memory.stat").read_text().splitlines()
        # The system can drop pages of files that were not read recently.
        dropped = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
        return [max(0, most - used + dropped)]
    return []
