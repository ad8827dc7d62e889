"""Start time of Duolog, and memory of its processes.

    broker       process start ─▶ first acknowledged produce, in an empty data directory,
                 `--rounds` times
    demo_warm    `duolog demo` with everything installed ─▶ first row of a table
    memory       resident set (VmRSS) of the broker idle, of the broker after a run of the demo at
                 full speed, and the highest total of all processes of the demo

bench/engine/cold_start.py measures the cold start from a fresh clone, including all downloads.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.common.results_file import write_result
from confluent_kafka import Producer

from duolog.runtime.broker_process import BrokerProcess


def broker_start(data_dir: Path) -> tuple[float, float]:
    """Return seconds to the first acknowledged produce, and the broker's resident MB then."""
    started = time.monotonic()
    with BrokerProcess(data_dir) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
        producer.produce("first", b"value")
        if producer.flush(10):
            raise SystemExit("the first record was not acknowledged in 10 s")
        took = time.monotonic() - started
        return took, resident_mb(broker.pid)


def resident_mb(pid: int) -> float:
    """Return VmRSS of a process in MB; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    for line in status.splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


class MemoryWatch(threading.Thread):
    """Measures the total resident memory of a process and its descendants twice per second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.total_mb_max = 0.0
        self.by_kind_mb: dict[str, float] = {}

    def run(self) -> None:
        while Path(f"/proc/{self.pid}").exists():
            found: dict[str, float] = {}
            for pid in family(self.pid):
                kind = kind_of(pid)
                found[kind] = found.get(kind, 0.0) + resident_mb(pid)
            for kind, size in found.items():
                self.by_kind_mb[kind] = max(size, self.by_kind_mb.get(kind, 0.0))
            self.total_mb_max = max(self.total_mb_max, sum(found.values()))
            time.sleep(0.5)


def family(pid: int) -> list[int]:
    """Return `pid` and its descendants."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def kind_of(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return "ended"
    if "java" in command.split(" ", 1)[0]:
        return "jvm"
    return "broker" if " broker " in command else "demo"


def demo(data_dir: Path) -> dict[str, object]:
    """Run the demo once; return its figures with the memory of its processes."""
    command = [sys.executable, "-m", "duolog", "demo", "--json", "--data", str(data_dir)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watch = MemoryWatch(process.pid)
    watch.start()
    out, err = process.communicate(timeout=600)
    if process.returncode:
        raise SystemExit(err)
    last: dict[str, object] = json.loads(out.splitlines()[-1])
    last["resident_mb_max"] = round(watch.total_mb_max)
    last["resident_mb_max_by_process"] = {
        kind: round(size) for kind, size in sorted(watch.by_kind_mb.items())
    }
    return last


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--demo-rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        brokers = [broker_start(work / f"broker-{number}") for number in range(options.rounds)]
        demos = [demo(work / f"demo-{number}") for number in range(options.demo_rounds)]
    starts = [took for took, _ in brokers]
    write_result(
        "start",
        {
            "broker_first_acknowledged_produce_s": {
                "median": round(statistics.median(starts), 3),
                "min": round(min(starts), 3),
                "max": round(max(starts), 3),
            },
            "broker_resident_mb_after_first_produce": round(
                statistics.median(size for _, size in brokers)
            ),
            "demo_warm": demos,
        },
    )


if __name__ == "__main__":
    main()
