"""Cost of syncing each commit to disk, in micro-batches and in real time.

    flights at --rate ─▶ the demo's topology ─▶ checkpoint on the disk │ in memory (tmpfs), in turns

Syncs are free in memory; everything else is equal. For micro-batches the figure is their duration,
because a micro-batch of a few records consists almost entirely of the commit. In real time it is
the longest time without a result around the end of an epoch of --epoch seconds.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from bench.common.results_file import write_result
from bench.engine.latency import read_samples
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from duolog.cli.demo.dataset import Dataset
from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.topics import RESULTS, DemoTopics
from duolog.cli.demo.topology import flights_topology
from duolog.cli.kafka.cluster import Cluster
from duolog.runtime.application import Application
from duolog.runtime.broker_process import BrokerProcess

IN_MEMORY = Path("/dev/shm")  # noqa: S108 - tmpfs, on purpose
Mode = Literal["micro-batch", "real-time"]


@contextmanager
def flights(work: Path, rate: float, seconds: float) -> Iterator[tuple[str, FlightLoad]]:
    """Yield a broker and a load that is not started yet."""
    with BrokerProcess(work / "broker") as broker:
        topics = DemoTopics(Cluster(broker.bootstrap_servers, {}))
        topics.create()
        dataset = Dataset(Path(tempfile.gettempdir()) / "duolog-bench-dataset")
        load = FlightLoad(topics, dataset, total=int(rate * seconds), years=1, rate=rate)
        load.start()
        load.wait_until_tables_are_loaded()
        yield broker.bootstrap_servers, load
        load.join()


def run(checkpoint: Path, mode: Mode, options: argparse.Namespace) -> list[float]:
    """Return durations in ms: of the micro-batches, or of the longest gap in each epoch."""
    settings = {"epoch.ms": str(options.epoch * 1000)} if mode == "real-time" else {}
    with (
        tempfile.TemporaryDirectory(prefix="duolog-bench-") as work,
        flights(Path(work), options.rate, options.seconds) as (servers, load),
        Application(
            flights_topology(),
            bootstrap_servers=servers,
            data_dir=checkpoint,
            mode=mode,
            settings=settings,
        ) as application,
    ):
        query = application.start()
        query.wait_until_caught_up(120)
        time.sleep(5)  # until the JIT compiler has compiled the hot code
        before = len(query.reports())
        load.go()
        if mode == "micro-batch":
            load.join()
            reports = query.reports()[before:]
            return [report.duration_ms for report in reports if report.records_in]
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "durable-commit"})
        consumer.assign(
            [TopicPartition(topic, p, OFFSET_BEGINNING) for topic in RESULTS for p in (0, 1)]
        )
        arrivals = [sample.arrived_at for sample in read_samples(consumer, load, 3)]
        consumer.close()
        return longest_gaps(arrivals, options.epoch * 1000)


def longest_gaps(arrivals: list[float], epoch_ms: float) -> list[float]:
    """Return the longest gap between arrivals in each period of an epoch's length."""
    longest: dict[int, float] = {}
    for one, following in itertools.pairwise(arrivals):
        stretch = int((following - arrivals[0]) // epoch_ms)
        longest[stretch] = max(longest.get(stretch, 0.0), following - one)
    return list(longest.values())[1:-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=200, help="flights per second")
    parser.add_argument("--seconds", type=float, default=40, help="of each run")
    parser.add_argument("--epoch", type=int, default=4, help="seconds of an epoch in real time")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    found: dict[str, dict[str, object]] = {}
    for mode in ("micro-batch", "real-time"):
        durations: dict[str, list[float]] = {"disk": [], "memory": []}
        for _ in range(options.rounds):
            for place, parent in (("disk", None), ("memory", IN_MEMORY)):
                with tempfile.TemporaryDirectory(prefix="duolog-commit-", dir=parent) as checkpoint:
                    durations[place] += run(Path(checkpoint), mode, options)
        found[mode] = {
            f"{place}_ms": {
                "p50": round(statistics.median(all_of), 1),
                "p90": round(statistics.quantiles(all_of, n=10)[-1], 1),
                "commits": len(all_of),
            }
            for place, all_of in durations.items()
        }
        print(mode, found[mode], flush=True)
    write_result("durable_commit", {"rate": options.rate, "epoch_s": options.epoch, **found})


if __name__ == "__main__":
    main()
