"""How much memory the system has left for this user's processes.

Source: Linux `proc_meminfo(5)`, and `memory.max` of control groups, version 2, which bound a container.
"""

import contextlib
from pathlib import Path

from duolog.core.units import KIB


def free_memory_bytes(root: Path = Path("/")) -> int | None:
    """Return what can be allocated without swapping or reaching the limit of the container; None if it is not known."""
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
        # In a container the path is often that of the host.
        group = group if (group / "memory.max").exists() else groups
        most = int((group / "memory.max").read_text())  # "max" is no limit
        used = int((group / "memory.current").read_text())
        lines = (group / "memory.stat").read_text().splitlines()
        # The system drops pages of files that were not read for long.
        dropped = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
        return [max(0, most - used + dropped)]
    return []
