"""Statistics of this process from the operating system.

Source: proc(5); the names are those of Prometheus' own client libraries.
"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from duolog.broker.metrics.text import single


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def process_lines() -> Iterator[str]:
    # What follows the name, which is in brackets and may hold anything.
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    cpu_s = (int(fields[11]) + int(fields[12])) / ticks
    boot_s = next(
        int(row.split()[1])
        for row in Path("/proc/stat").read_text().splitlines()
        if row.startswith("btime ")
    )
    rows = (
        ("process_cpu_seconds_total", "counter", "CPU time of this process.", cpu_s),
        ("process_virtual_memory_bytes", "gauge", "Virtual memory.", int(fields[20])),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory.",
            int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        ),
        ("process_threads", "gauge", "Threads.", int(fields[17])),
        (
            "process_start_time_seconds",
            "gauge",
            "When this process started.",
            boot_s + int(fields[19]) / ticks,
        ),
        ("process_open_fds", "gauge", "Open file descriptors.", _open_files()),
        (
            "process_max_fds",
            "gauge",
            "The most file descriptors that may be open.",
            resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        ),
    )
    for name, kind, doc, value in rows:
        yield single(name, "counter" if kind == "counter" else "gauge", doc, value)
