"""Resources and relatives of processes, from the files in Linux's /proc.

Other systems have no such files: numbers are None there, and lists are empty.

Source: `proc(5)`.
"""

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.core.operating_system.limits import descriptors_max
from duolog.core.operating_system.portable import PORTABLE

_PROC: Final = Path("/no-proc" if PORTABLE else "/proc")
_FD_DIRECTORY: Final = Path("/dev/fd" if PORTABLE or sys.platform != "linux" else "/proc/self/fd")


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """Resources that this process uses; None if the system does not report them."""

    cpu_s: float
    virtual_bytes: int | None = None
    resident_bytes: int | None = None
    threads: int | None = None
    started_at_s: float | None = None
    open_files: int | None = None
    open_files_max: int | None = None


def process_usage() -> ProcessUsage:
    """Return the resources that this process uses now."""
    if sys.platform == "linux" and not PORTABLE:
        return _usage_from_proc()
    return ProcessUsage(
        time.process_time(), open_files=_open_files(), open_files_max=descriptors_max()
    )


if sys.platform == "linux":

    def _usage_from_proc() -> ProcessUsage:
        # What follows the name, which is in brackets and may hold anything.
        fields = (_PROC / "self/stat").read_text().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        boot_s = next(
            int(row.split()[1])
            for row in (_PROC / "stat").read_text().splitlines()
            if row.startswith("btime ")
        )
        return ProcessUsage(
            cpu_s=(int(fields[11]) + int(fields[12])) / ticks,
            virtual_bytes=int(fields[20]),
            resident_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
            threads=int(fields[17]),
            started_at_s=boot_s + int(fields[19]) / ticks,
            open_files=_open_files(),
            open_files_max=descriptors_max(),
        )


def processor_ns(pid: int) -> int | None:
    """Return for how long a process has run; None if this system does not say it."""
    with suppress(OSError, ValueError):
        return int((_PROC / f"{pid}/schedstat").read_text().split()[0]) or None
    return None


def size_file(pid: int) -> Path:
    """Return the file whose second number is the resident size of a process, in pages."""
    return _PROC / f"{pid}/statm"


def thread_ids(pid: int) -> list[int]:
    """Return the ids of the threads of a process."""
    return [int(thread.name) for thread in (_PROC / f"{pid}/task").glob("*")]


def child_ids(pid: int) -> list[int]:
    """Return the ids of the child processes of a process, oldest first."""
    found = (_PROC / f"{pid}/task").glob("*/children")
    return sorted({int(child) for children in found for child in children.read_text().split()})


def _open_files() -> int | None:
    with suppress(OSError):
        return sum(1 for _ in _FD_DIRECTORY.iterdir())
    return None
