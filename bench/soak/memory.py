"""Resident memory of the processes of `duolog start`, and the rule for "flat".

A process is flat if the median of the last third of its samples is at most GROWTH above that of the
middle third, or at most SLACK_MIB more. The first third is its start: caches, heap and
compiled code grow to their limits. Each process is judged alone, since a kill starts a new one, and
only if it was sampled for JUDGED_S or longer.
"""

import itertools
import statistics
import threading
from pathlib import Path
from typing import Final, NamedTuple

GROWTH: Final = 0.10
SLACK_MIB: Final = 16
JUDGED_S: Final = 600.0


class Process(NamedTuple):
    """A running process."""

    pid: int
    name: str
    """broker, registry, server or jvm."""


def processes_of(pid: int) -> list[Process]:
    """Return the processes of a `duolog start`: itself, its children, and theirs."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        one = left.pop()
        if name := _name_of(one):
            found.append(Process(one, name))
        left += parents.get(one, [])
    return found


def resident_mib(pid: int) -> float | None:
    """Return the resident memory of a process; None if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(sizes[0]) / 1024 if sizes else None


class Samples(threading.Thread):
    """Samples memory each `every_s` until `finish`."""

    def __init__(self, every_s: float) -> None:
        super().__init__(name="memory", daemon=True)
        self.pid: int | None = None
        """The process of `duolog start`; None while there is none."""
        self._every_s = every_s
        self._stopping = threading.Event()
        self._found: dict[Process, list[float]] = {}

    def run(self) -> None:
        while not self._stopping.wait(self._every_s):
            pid = self.pid
            for process in [] if pid is None else processes_of(pid):
                if (size := resident_mib(process.pid)) is not None:
                    self._found.setdefault(process, []).append(size)

    def finish(self) -> list[dict[str, object]]:
        """Return a row for each process."""
        self._stopping.set()
        self.join()
        return [self._row(process, sizes) for process, sizes in self._found.items()]

    def _row(self, process: Process, sizes: list[float]) -> dict[str, object]:
        judged = len(sizes) * self._every_s >= JUDGED_S and len(sizes) >= 6
        return {
            "process": process.name,
            "pid": process.pid,
            "seconds": round(len(sizes) * self._every_s),
            "first_mib": round(sizes[0]),
            "last_mib": round(sizes[-1]),
            "most_mib": round(max(sizes)),
            "flat": is_flat(sizes) if judged else None,
        }


def is_flat(sizes: list[float]) -> bool:
    """Return true if memory does not grow; see the module's docstring for the rule.

    Example:
        >>> is_flat([10, 200, 300, 310, 305, 308]), is_flat([10, 20, 300, 310, 400, 410])
        (True, False)
    """
    third = len(sizes) // 3
    middle = statistics.median(sizes[third : 2 * third])
    last = statistics.median(sizes[2 * third :])
    return last <= max(middle * (1 + GROWTH), middle + SLACK_MIB)


def _name_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    if words[0].endswith(b"java"):
        return "jvm"
    commands = {b"start": "broker", b"registry": "registry", b"server": "server"}
    for before, word in itertools.pairwise(words):
        if before == b"duolog" and word in commands:
            return commands[word]
    return ""
