"""Latency from produce to output at a steady rate, including epoch boundaries, with read_committed.

    demo         the demo's topology: two levels, join and aggregate, re-key, join and aggregate
    stateless    filter and map
    stateful     count by key, 1,000 keys
    two-levels   count by key, then by another key
    python       stateless, with a scalar function in Python
    look-ups     stateless, with look-ups of 20 ms each

librdkafka writes `--rate` events/s, and an ordinary consumer reads the result topics. Up to 5,000
events/s records are sent without delay; above that, they are batched for 5 ms (in the demo 20 ms).
A sample is the time from passing an event to the producer to the arrival of its result, on one
clock.

A stall is a time of more than `--stall-ms` without results although events are written, at the
boundary of two epochs. Percentiles are reported over all samples, and over those whose event was
not written during a stall.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.common.results_file import write_result
from bench.common.steady import SteadyLoad, event_of
from bench.engine.streams_comparison import PARTITIONS, Cluster
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from duolog import Topology, call, col, count, last
from duolog.cli.demo.dataset import Dataset
from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.topics import RESULTS, DemoTopics
from duolog.cli.demo.topology import flights_topology
from duolog.cli.kafka.cluster import Cluster as KafkaCluster
from duolog.dsl.streams import Stream, Table
from duolog.runtime.application import Application
from duolog.runtime.broker_process import BrokerProcess

EVENTS: Final = "events"
RESULT: Final = "results"
SENT_AT: Final = "sent_at"
FIRST_S_MAX: Final = 120
"""Time limit for the first result."""
SentAt = Callable[[dict[str, Any]], float | None]
VALUE: Final = "place STRING, n BIGINT, at BIGINT, sent_at DOUBLE"


def stateless(events: Stream) -> Stream:
    return events.filter(col("n") >= 20).map_values(SENT_AT, doubled=col("n") * 2)


def by_key(events: Stream) -> Table:
    counted = events.group_by_key()
    return counted.aggregate(records=count(), place=last("place"), sent_at=last(SENT_AT))


def two_levels(events: Stream) -> Table:
    by_place = by_key(events).to_stream().group_by("place")
    return by_place.aggregate(records=count(), sent_at=last(SENT_AT))


def double(n: int) -> int:
    return n * 2


def by_function(events: Stream) -> Stream:
    return events.filter(col("n") >= 20).map_values(SENT_AT, doubled=call(double, col("n")))


@dataclass
class Found:
    """Result of a lookup."""

    sent_at: float
    doubled: int


async def looked_up(n: int, sent_at: float) -> Found:
    await asyncio.sleep(0.02)
    return Found(sent_at, n * 2)


def by_lookup(events: Stream) -> Stream:
    found = events.filter(col("n") >= 20).map_async(looked_up)
    return found.map_values(SENT_AT, "doubled")


TOPOLOGIES: Final[dict[str, Callable[[Stream], Any]]] = {
    "stateless": stateless,
    "stateful": by_key,
    "two-levels": two_levels,
    "python": by_function,
    "look-ups": by_lookup,
}


class Sample(NamedTuple):
    """One result record, in milliseconds since 1970."""

    produced_at: float
    arrived_at: float

    @property
    def latency_ms(self) -> float:
        return self.arrived_at - self.produced_at


def read_samples(
    consumer: Consumer,
    load: threading.Thread,
    drain_s: float,
    sent_at: SentAt = itemgetter(SENT_AT),
) -> list[Sample]:
    """Read results until the producer has finished and none has arrived for `drain_s`.

    `sent_at` returns the time at which the event of a result was passed to the producer, or None to
    ignore the result.
    """
    samples: list[Sample] = []
    last = time.monotonic()
    while load.is_alive() or time.monotonic() - last < (drain_s if samples else FIRST_S_MAX):
        message = consumer.poll(0.2)
        if message is None:
            continue
        arrived_at = time.time() * 1000
        last = time.monotonic()
        if message.error() is None and (value := message.value()) is not None:
            produced_at = sent_at(json.loads(value))
            if produced_at is not None:
                samples.append(Sample(produced_at, arrived_at))
    if not samples:
        raise SystemExit("no result came")
    return samples


def find_stalls(samples: list[Sample], stall_ms: float) -> list[tuple[float, float]]:
    """Return the gaps between arrivals that are longer than `stall_ms`."""
    pairs = itertools.pairwise(samples)
    gaps = ((before.arrived_at, after.arrived_at) for before, after in pairs)
    return [(start, end) for start, end in gaps if end - start > stall_ms]


def percentiles(latencies: list[float]) -> dict[str, float]:
    """Return p50, p99, p99.9 and the maximum, in milliseconds."""
    ordered = sorted(latencies)
    count = len(ordered)
    found = {
        f"p{share * 100:g}_ms": ordered[min(count - 1, int(share * count))]
        for share in (0.5, 0.99, 0.999)
    }
    found["max_ms"] = ordered[-1]
    return {name: round(value, 1) for name, value in found.items()}


def summarise(samples: list[Sample], stall_ms: float) -> dict[str, object]:
    """Return all figures of a run."""
    stalls = find_stalls(samples, stall_ms)
    outside = [
        sample.latency_ms
        for sample in samples
        if not any(start <= sample.produced_at <= end for start, end in stalls)
    ]
    return {
        "samples": len(samples),
        "all": percentiles([sample.latency_ms for sample in samples]),
        "outside_stalls": percentiles(outside),
        "samples_in_stalls": len(samples) - len(outside),
        "stalls_ms": [round(end - start) for start, end in stalls],
        "longest_stall_ms": round(max((end - start for start, end in stalls), default=0)),
    }


def run_demo(options: argparse.Namespace, work: Path) -> list[Sample]:
    """Return the samples of the demo's topology."""
    with BrokerProcess(work / "broker") as broker:
        servers = broker.bootstrap_servers
        topics = DemoTopics(KafkaCluster(servers, {}))
        topics.create()
        total = int(options.rate * (options.warm_up_s + options.seconds))
        load = FlightLoad(
            topics,
            Dataset(work / "dataset"),
            total=total,
            years=-(-total // 330_000),
            rate=options.rate,
        )
        load.start()
        load.wait_until_tables_are_loaded()
        with running(flights_topology(), servers, work, options):
            consumer = reader(servers, *RESULTS)
            load.go()
            samples = read_samples(
                consumer, load, drain_s=5, sent_at=itemgetter("last_produced_at")
            )
            consumer.close()
    return samples


def run_steady(options: argparse.Namespace, work: Path) -> list[Sample]:
    """Return the samples of one of `TOPOLOGIES`."""
    with BrokerProcess(work / "broker") as broker:
        servers = broker.bootstrap_servers
        cluster = Cluster(servers)
        cluster.create(EVENTS)
        seconds = options.warm_up_s + options.seconds
        load = SteadyLoad(servers, EVENTS, rate=options.rate, seconds=seconds, keys=1_000)
        topology = Topology(options.work)
        events = topology.stream(EVENTS, key="id STRING", value=VALUE)
        TOPOLOGIES[options.work](events).to(RESULT, partitions=PARTITIONS)
        with running(topology, servers, work, options):
            consumer = reader(servers, RESULT)
            prime(cluster, consumer)
            load.start()
            samples = read_samples(consumer, load, drain_s=5)
            consumer.close()
    return samples


def prime(cluster: Cluster, consumer: Consumer) -> None:
    """Write two events and wait for the result of each, after which real-time mode is running."""
    for number in (50, 51):
        now = time.time() * 1000
        event = event_of(0, number, int(now), now)
        cluster.write(EVENTS, [(str(event["user"]), json.dumps(event), int(now))])
        if consumer.poll(FIRST_S_MAX) is None:
            raise SystemExit("no result came")


@contextmanager
def running(
    topology: Topology, servers: str, work: Path, options: argparse.Namespace
) -> Iterator[None]:
    """Run a topology; in real-time mode, wait until its first epoch has started."""
    settings = {"epoch.ms": str(int(options.epoch_s * 1000))}
    if options.exactly_once:
        settings |= {"processing.guarantee": "exactly_once_v2", "statestore.cache.max.bytes": "0"}
    with Application(
        topology,
        bootstrap_servers=servers,
        data_dir=work,
        mode=options.mode,
        settings=settings,
    ) as application:
        query = application.start()
        query.wait_until_caught_up(120)
        yield
        print("median of phases, ms:", medians([r.durations_ms for r in query.reports()]))


def medians(phases: list[Mapping[str, int]]) -> dict[str, float]:
    """Return the median of each phase over the last hundred epochs, which Spark stores."""
    of: dict[str, list[int]] = {}
    for one in phases:
        for name, spent in one.items():
            of.setdefault(name, []).append(spent)
    return {name: statistics.median(spent) for name, spent in of.items()}


def reader(servers: str, *topics: str) -> Consumer:
    """Return a consumer of both partitions of each topic, from the beginning."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "latency",
            "log_level": 0,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 500,
        }
    )
    numbers = range(PARTITIONS)
    consumer.assign(
        [TopicPartition(topic, number, OFFSET_BEGINNING) for topic in topics for number in numbers]
    )
    return consumer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--work", default="demo", choices=("demo", *TOPOLOGIES))
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--warm-up-s", type=int, default=30, help="not counted")
    parser.add_argument("--epoch-s", type=float, default=60)
    parser.add_argument("--mode", default="real-time", choices=("real-time", "micro-batch"))
    parser.add_argument(
        "--exactly-once",
        action="store_true",
        help="results exactly once: they are seen when their epoch is committed",
    )
    parser.add_argument("--stall-ms", type=float, default=150)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        samples = (run_demo if options.work == "demo" else run_steady)(options, Path(directory))
    measured_from = samples[0].produced_at + options.warm_up_s * 1000
    figures = summarise([s for s in samples if s.produced_at >= measured_from], options.stall_ms)
    # The README quotes the demo at its default rate.
    name = "latency" if options.work == "demo" else f"latency_{options.work}"
    if options.rate > 200:
        name += f"_{options.rate:.0f}"
    if options.exactly_once:
        epoch = f"_{options.epoch_s:g}s" if options.mode == "real-time" else ""
        name += f"_exactly-once_{options.mode}{epoch}"
    elif options.mode != "real-time":
        name += f"_{options.mode}"
    reported = {"rate": options.rate, "mode": options.mode, "epoch_s": options.epoch_s}
    write_result(name, reported | figures)


if __name__ == "__main__":
    main()
