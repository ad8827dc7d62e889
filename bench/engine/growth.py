"""Effect of ten times the events, keys or tasks on rate, memory, checkpoint size and commit time.

    events   1,000,000 and 10,000,000 events, 100,000 keys, 2 tasks
    keys     100,000, 1,000,000 and 10,000,000 keys, 2 tasks:
             one event per key, then as many with random keys
    tasks    1, 4 and 16 tasks, 2,000,000 events, 100,000 keys

Records are counted and summed by key in micro-batches of 500,000 events, JSON in and out, with the
default record cache and 256 MiB for state. Reports the rate over all micro-batches except the
first, and that of the last quarter. Times are medians without the first micro-batch: total, Spark's
logs, and commits of stores (summed over parallel tasks). The checkpoint size is measured at the end
and includes old versions that Spark has not removed yet.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.common.footprint import bytes_below, peak_mib_of_jvms
from bench.common.results_file import write_result
from bench.engine.operators import BEGIN_MS, aggregate, key_of
from bench.engine.streams_comparison import Cluster, Figures, Record, catch_up

from duolog import Topology
from duolog.engine.query.reports.progress import Report
from duolog.runtime.application import Application
from duolog.runtime.broker_process import BrokerProcess

COMMIT_PHASES: Final = ("walCommit", "commitOffsets", "commitBatch")


@dataclass(frozen=True)
class Size:
    """One point of a curve."""

    events: int = 2_000_000
    keys: int = 100_000
    tasks: int = 2
    every_key_first: bool = False

    def shrunk(self, by: int) -> "Size":
        return Size(self.events // by, max(1, self.keys // by), self.tasks, self.every_key_first)

    def records(self) -> Iterator[Record]:
        rng = random.Random(self.keys)  # noqa: S311 - nothing secret
        for number in range(self.events):
            first = self.every_key_first and number < self.keys
            key = number if first else rng.randrange(self.keys)
            yield key_of(key), f'{{"n": {number % 100}}}', BEGIN_MS + number


CURVES: Final = {
    "events": [Size(events=1_000_000), Size(events=10_000_000)],
    "keys": [
        Size(events=2 * keys, keys=keys, every_key_first=True)
        for keys in (100_000, 1_000_000, 10_000_000)
    ],
    "tasks": [Size(tasks=tasks) for tasks in (1, 4, 16)],
}


def run(cluster: Cluster, name: str, size: Size, work: Path, micro_batch: int) -> Figures:
    """Write the events, count them, and return the figures of this size."""
    cluster.create(name, partitions=size.tasks)
    cluster.write(name, size.records())
    topology = Topology(f"count-{name}")
    aggregate(topology, name).to(f"{name}-results", partitions=size.tasks)
    started = time.monotonic()
    with Application(
        topology,
        bootstrap_servers=cluster.servers,
        data_dir=work,
        mode="micro-batch",
        settings={"max.offsets.per.trigger": str(micro_batch)},
    ) as application:
        query = application.start()
        catch_up(query)
        took_s = time.monotonic() - started
        reports = [report for report in query.reports() if report.records_in]
        found = figures_of(reports)
        found["seconds_in_all"] = round(took_s, 1)
        found["jvm_peak_mib"] = peak_mib_of_jvms()
        checkpoint = work / "checkpoints" / topology.name
        found["checkpoint_mib"] = round(bytes_below(checkpoint) / 2**20, 1)
    cluster.delete(name, f"{name}-results")
    return {"events": size.events, "keys": size.keys, "tasks": size.tasks, **found}


def figures_of(reports: list[Report]) -> Figures:
    """Return rates and times of micro-batches; a trial may have only one."""
    measured = reports[1:] or reports
    commits = [
        sum(report.durations_ms.get(phase, 0) for phase in COMMIT_PHASES) for report in measured
    ]
    return {
        "micro_batches": len(reports),
        "events_per_second": rate_of(measured),
        "events_per_second_at_the_end": rate_of(measured[-(-3 * len(measured) // 4) :] or measured),
        "micro_batch_ms": round(statistics.median(report.duration_ms for report in measured)),
        "logs_ms": round(statistics.median(commits)),
        "state_commit_ms": round(statistics.median(report.state_commit_ms for report in measured)),
    }


def rate_of(reports: list[Report]) -> int:
    last = reports[-1]
    took_ms = last.started_at_ms + last.duration_ms - reports[0].started_at_ms
    return round(sum(report.records_in for report in reports) / took_ms * 1000)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--curves", default=",".join(CURVES), help="which ones, with commas")
    parser.add_argument("--micro-batch", type=int, default=500_000)
    parser.add_argument("--shrink", type=int, default=1, help="for a trial: divide all by this")
    options = parser.parse_args()
    for curve in options.curves.split(","):
        points = []
        for number, size in enumerate(CURVES[curve]):
            # Use a new broker and directory for each size, so that sizes do not affect each other.
            with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
                work = Path(directory)
                with BrokerProcess(work / "broker") as broker:
                    cluster, name = Cluster(broker.bootstrap_servers), f"{curve}-{number}"
                    smaller = size.shrunk(options.shrink)
                    points.append(run(cluster, name, smaller, work, options.micro_batch))
            print(points[-1], flush=True)
        write_result(f"growth_{curve}", {"points": points})


if __name__ == "__main__":
    main()
