"""Processor time and memory of idle real-time queries.

Ten applications in one process share a JVM; each counts one topic by key. After a few events, no
more arrive for `--seconds`, which is longer than an epoch. Reports the shares of one core used by
the JVM with all queries, and by the broker that they poll.
"""

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.common.footprint import jvms
from bench.common.results_file import write_result
from bench.engine.start import resident_mb
from bench.engine.streams_comparison import PARTITIONS, Cluster, Record, catch_up

from duolog import Topology
from duolog.runtime.application import Application
from duolog.runtime.broker_process import BrokerProcess

EVENTS: Final[list[Record]] = [
    (f"key-{number}", '{"n": 1}', 1_700_000_000_000) for number in range(100)
]


def start(name: str, cluster: Cluster, work: Path) -> Application:
    """Start a query over a new topic and let it count a few events."""
    cluster.create(name)
    topology = Topology(f"count-{name}")
    events = topology.stream(name, key="id STRING", value="n BIGINT")
    events.group_by_key().count().to(f"{name}-results", partitions=PARTITIONS)
    application = Application(
        topology, bootstrap_servers=cluster.servers, data_dir=work, mode="real-time"
    )
    query = application.start()
    cluster.write(name, EVENTS)
    catch_up(query)
    return application


def processor_s(pid: int) -> float:
    """Return the processor time of a process in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(options: argparse.Namespace, work: Path) -> dict[str, object]:
    with BrokerProcess(work / "broker") as broker, ExitStack() as applications:
        cluster = Cluster(broker.bootstrap_servers)
        for number in range(options.queries):
            application = start(f"idle-{number}", cluster, work)
            applications.callback(application.close)
            print(f"query {number + 1} runs", flush=True)
        (jvm,) = (int(lines["Pid"]) for lines in jvms())
        time.sleep(options.settle_s)
        pids = {"jvm": jvm, "broker": broker.pid}
        before = {name: processor_s(pid) for name, pid in pids.items()}
        time.sleep(options.seconds)
        used = {name: processor_s(pid) - before[name] for name, pid in pids.items()}
        return {
            "queries": options.queries,
            "seconds": options.seconds,
            "share_of_a_core_percent": {
                name: round(spent / options.seconds * 100, 1) for name, spent in used.items()
            },
            "resident_mb": {name: round(resident_mb(pid)) for name, pid in pids.items()},
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--settle-s", type=int, default=60, help="before it counts")
    parser.add_argument("--seconds", type=int, default=180)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        write_result("idle", measure(options, Path(directory)))


if __name__ == "__main__":
    main()
