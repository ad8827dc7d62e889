"""Processor time of a process, which is meaningful even on a busy machine."""

import os
from pathlib import Path
from typing import Final

TICKS: Final = os.sysconf("SC_CLK_TCK")
_PARENT: Final = 1
_USER: Final = 11
_SYSTEM: Final = 12


def cpu_s(pid: int) -> float:
    """Return the processor time of a process in seconds; 0 if it has exited."""
    fields = _fields(pid)
    return float(int(fields[_USER]) + int(fields[_SYSTEM])) / TICKS if fields else 0.0


def family_cpu_s(pid: int) -> float:
    """Return the processor time of a process and its running descendants in seconds."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _fields(int(entry.name))):
            parents.setdefault(int(fields[_PARENT]), []).append(int(entry.name))
    spent, left = 0.0, [pid]
    while left:
        one = left.pop()
        spent += cpu_s(one)
        left += parents.get(one, [])
    return spent


def _fields(pid: int) -> list[str]:
    """Return the fields after the name in `stat`, starting with the state."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
