"""Records per second by number of tasks: a count by key with one slot per task.

    topic of P partitions (written before) ─▶ count by key, local[P] and P tasks, micro-batches

Measures the duration of micro-batches after the first two, which load classes, and the JVM's
processor time, which does not depend on other load. `--master` uses a cluster instead, with as many
slots as it has.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from bench.common.processor_time import cpu_s
from bench.common.results_file import write_result
from confluent_kafka import Producer

from duolog import Topology
from duolog.runtime.application import Application
from duolog.testing import Client, EmbeddedCluster

WAIT_S = 600
WARM_UP = 2


def topology(tasks: int) -> Topology:
    found = Topology(f"count-{tasks}")
    records = found.stream(f"in-{tasks}", key="k STRING", value="n BIGINT")
    records.group_by_key().count("n").to(f"out-{tasks}")
    return found


def write(servers: str, topic: str, records: int, keys: int) -> None:
    settings: dict[str, Any] = {"bootstrap.servers": servers, "partitioner": "murmur2_random"}
    producer = Producer(settings | {"linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    for number in range(records):
        producer.produce(topic, b'{"n": %d}' % number, f"key-{number % keys}")
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise SystemExit("the records were not written in two minutes")


def run(servers: str, tasks: int, work: Path, options: argparse.Namespace) -> dict[str, Any]:
    Client(servers).create_topic(f"in-{tasks}", partitions=tasks)
    write(servers, f"in-{tasks}", options.records, options.keys)
    master = options.master or f"local[{tasks}]"
    settings = {"master": master, "max.offsets.per.trigger": str(options.micro_batch)}
    with Application(
        topology(tasks),
        bootstrap_servers=servers,
        data_dir=work / f"data-{tasks}",
        mode="micro-batch",
        settings=settings,
    ) as application:
        query = application.start()
        before = cpu_s(query.launcher.session.java_pid)
        if not query.wait_until_caught_up(WAIT_S):
            raise SystemExit("it did not catch up in ten minutes")
        cpu = cpu_s(query.launcher.session.java_pid) - before
        reports = [report for report in query.reports() if report.records_in][WARM_UP:]
    records = sum(report.records_in for report in reports)
    spent_ms = sum(report.duration_ms for report in reports)
    phases = {
        phase: median(report.durations_ms.get(phase, 0) for report in reports)
        for phase in ("addBatch", "walCommit", "commitOffsets", "latestOffset", "queryPlanning")
    }
    return {
        "tasks": tasks,
        "master": master,
        "micro_batches": len(reports),
        "records_per_second": round(records / spent_ms * 1000),
        "jvm_cpu_us_per_record": round(cpu / options.records * 1e6, 2),
        "state_commit_ms": median(report.state_commit_ms for report in reports),
        "median_ms": phases,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--micro-batch", type=int, default=200_000)
    parser.add_argument("--tasks", default="1,2,4")
    parser.add_argument("--master", help="a cluster, in the place of local[tasks]")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory,
        EmbeddedCluster(settings={"durability": "os"}) as cluster,
    ):
        found = []
        for tasks in map(int, options.tasks.split(",")):
            found.append(run(cluster.bootstrap_servers, tasks, Path(directory), options))
            print(json.dumps(found[-1]), flush=True)
    write_result("scaling", {"records": options.records, "keys": options.keys, "runs": found})


if __name__ == "__main__":
    main()
