"""Cost of metrics: the same topologies with and without them, in turns.

    records (written before) ─▶ one broker ─▶ Duolog, micro-batches, metrics on │ off
    (-Dduolog.metrics=off), in turns

`stateless` is the worst case, because many cheap nodes process each record; `count` is an aggregate
of 100,000 keys. Reports the rate (see `streams_comparison.py`) and the JVM's processor time per
record without the first fifth of the records, in which it loads and compiles classes. The latter is
meaningful even on a busy machine. The order of the two alternates by round.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from bench.common.processor_time import cpu_s
from bench.common.results_file import write_result
from bench.engine.operators import events_of
from bench.engine.streams_comparison import Cluster, Figures, catch_up

from duolog import Topology, col, count
from duolog.engine.query.query import RunningQuery
from duolog.runtime.application import Application
from duolog.runtime.broker_process import BrokerProcess

KEYS: Final = 100_000
NODES: Final = 8
OFF: Final = "-Dduolog.metrics=off"


def stateless() -> Topology:
    """A chain of filters that let every record pass."""
    topology = Topology("cost-stateless")
    stream = topology.stream("events", key="id STRING", value="n BIGINT")
    for _ in range(NODES):
        stream = stream.filter(col("n") >= 0)
    stream.to("passed")
    return topology


def counting() -> Topology:
    """A count by key."""
    topology = Topology("cost-count")
    stream = topology.stream("events", key="id STRING", value="n BIGINT")
    stream.group_by_key().aggregate(events=count()).to("counts")
    return topology


def run(
    topology: Topology,
    servers: str,
    micro_batch: int,
    events: int,
    directory: Path,
    *,
    spent_s: Callable[[int], float] = cpu_s,
) -> Figures:
    """Process the whole topic in a new JVM; `spent_s` takes the JVM's pid."""
    settings = {"max.offsets.per.trigger": str(micro_batch)}
    with Application(
        topology,
        bootstrap_servers=servers,
        data_dir=directory,
        mode="micro-batch",
        settings=settings,
    ) as application:
        query = application.start()
        pid = query.launcher.session.java_pid
        while (read := records_in(query)) < events // 5:
            time.sleep(0.2)
        spent = spent_s(pid)
        catch_up(query)
        spent = spent_s(pid) - spent
        reports = [report for report in query.reports() if report.records_in]
    measured = reports[1:] or reports
    took_ms = measured[-1].started_at_ms + measured[-1].duration_ms - measured[0].started_at_ms
    return {
        "events_per_second": round(sum(one.records_in for one in measured) / took_ms * 1000),
        "cpu_us_per_event": round(spent * 1e6 / (events - read), 3),
    }


def records_in(query: RunningQuery) -> int:
    return sum(report.records_in for report in query.reports())


def compare(made: Topology, work: Path, rounds: int, once: Callable[[Path], Figures]) -> Figures:
    found: dict[str, list[Figures]] = {"on": [], "off": []}
    for number in range(rounds):
        for which in ("on", "off") if number % 2 else ("off", "on"):
            os.environ["JAVA_TOOL_OPTIONS"] = OFF if which == "off" else ""
            directory = work / f"{made.name}-{which}-{number}"
            found[which].append(once(directory))
            print(json.dumps({made.name: which, **found[which][-1]}), flush=True)

    def ratio(figure: str) -> float:
        pairs = zip(found["on"], found["off"], strict=True)
        return round(statistics.median(on[figure] / off[figure] for on, off in pairs), 3)

    return {
        **found,
        "rate_on_to_off": ratio("events_per_second"),
        "cpu_on_to_off": ratio("cpu_us_per_event"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--micro-batch", type=int, default=500_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        with BrokerProcess(work / "broker") as broker:
            cluster = Cluster(broker.bootstrap_servers)
            cluster.create("events", "passed", "counts")
            events = cluster.write("events", events_of(KEYS, options.events))
            found = {
                made.name: compare(
                    made,
                    work,
                    options.rounds,
                    partial(run, made, broker.bootstrap_servers, options.micro_batch, events),
                )
                for made in (stateless(), counting())
            }
    write_result("metrics_cost", {"events": events, "nodes": NODES, **found})


if __name__ == "__main__":
    main()
