"""Memory that this process's JVMs have used, and bytes on disk."""

import os
from pathlib import Path


def bytes_below(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # Spark may remove old versions at the same time.
            continue
    return total


def jvms() -> list[dict[str, str]]:
    """Return the fields of `/proc/PID/status` for each running JVM started by this process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(
                line.split(":", 1) for line in status.read_text().splitlines() if ":" in line
            )
        except OSError:
            continue
        if int(lines.get("PPid", "0")) == os.getpid() and lines["Name"].strip() == "java":
            found.append(lines)
    return found


def peak_mib_of_jvms() -> int:
    """Return the largest resident size that a JVM of this process has had."""
    return max(
        (int(lines["VmHWM"].split()[0]) // 1024 for lines in jvms() if "VmHWM" in lines), default=0
    )
