"""Cost of a group commit of the real log, by the number of dirty partitions.

Each round appends one batch to each of N partitions, writes, and waits for the group commit.
`journal` is the log's normal mode; `per_file` is the same without the journal.

Run: scripts/bench group_commit --directory /var/tmp
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from threading import Event

from bench.common.results_file import write_result

from duolog.core.clock import SystemClock
from duolog.log import GroupCommit, LogManager, RealDisk
from duolog.record import Record, encode_batch


def measure(directory: Path, partitions: int, *, journal: bool) -> dict[str, float]:
    """Return p50 and p99 in milliseconds from the request to the completed ticket."""
    rounds = max(60, min(400, 20_000 // partitions))
    with tempfile.TemporaryDirectory(dir=directory) as data_dir:
        manager = LogManager(RealDisk(), data_dir, SystemClock(), {})
        manager.topics.create("dirty", partitions)
        woken = Event()
        commit = (
            manager.group_commit("fsync", woken.set) if journal else GroupCommit("fsync", woken.set)
        )
        logs = [manager.log("dirty", partition) for partition in range(partitions)]
        batch = encode_batch([Record(0, 1, b"key", bytes(1000))])
        took_ms = []
        for _ in range(rounds):
            for log in logs:
                log.append(memoryview(bytearray(batch)))
                log.write_staged()
            started = time.perf_counter()
            ticket = commit.request(logs)
            while commit.completed_ticket < ticket:
                woken.wait()
                woken.clear()
            took_ms.append((time.perf_counter() - started) * 1e3)
        commit.close()
        manager.close()
    took_ms = sorted(took_ms[5:])  # The first rounds create the files.
    return {
        "rounds": rounds,
        "p50_ms": round(took_ms[len(took_ms) // 2], 3),
        "p99_ms": round(took_ms[int(len(took_ms) * 0.99)], 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="what a group commit of the real log costs")
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    options = parser.parse_args()

    rows = []
    for partitions in (1, 4, 8, 16, 50, 500):
        for journal in (True, False):
            row = {
                "partitions": partitions,
                "way": "journal" if journal else "per_file",
                **measure(options.directory, partitions, journal=journal),
            }
            rows.append(row)
            print(row, flush=True)
    write_result("group_commit", {"rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
