"""Statistics of this process from the operating system.

What the system does not report has no line. The names are those of Prometheus' own client
libraries.
"""

from collections.abc import Iterator

from duolog.broker.metrics.text import single
from duolog.core.operating_system.proc_files import process_usage


def process_lines() -> Iterator[str]:
    usage = process_usage()
    yield single("process_cpu_seconds_total", "counter", "CPU time of this process.", usage.cpu_s)
    gauges = (
        ("process_virtual_memory_bytes", "Virtual memory.", usage.virtual_bytes),
        ("process_resident_memory_bytes", "Resident memory.", usage.resident_bytes),
        ("process_threads", "Threads.", usage.threads),
        ("process_start_time_seconds", "When this process started.", usage.started_at_s),
        ("process_open_fds", "Open file descriptors.", usage.open_files),
        ("process_max_fds", "The most file descriptors that may be open.", usage.open_files_max),
    )
    for name, doc, value in gauges:
        if value is not None:
            yield single(name, "gauge", doc, value)
