"""From produce to output in real-time mode, at a steady rate, epoch boundaries included.

Flights are written at `--rate` events/s by librdkafka without linger; the demo's topology (two
levels: join and aggregate, re-key, join and aggregate) runs in real-time mode; an ordinary consumer
reads both result topics. A sample is one result record: its arrival less the time at which its
flight was handed to the producer, on one clock.

A stall is a time of more than `--stall-ms` in which no result arrives although flights are written:
the boundary between two epochs. Percentiles are given over all samples, and over those whose flight
was not written during a stall.
"""

import argparse
import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from results_file import write_result

from duolog.cli.demo.dataset import Dataset
from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.topics import RESULTS, DemoTopics
from duolog.cli.demo.topology import flights_topology
from duolog.runtime.application import Application
from duolog.runtime.supervisor import BrokerProcess


class Sample(NamedTuple):
    """One result record, in milliseconds since 1970."""

    produced_at: float
    arrived_at: float

    @property
    def latency_ms(self) -> float:
        return self.arrived_at - self.produced_at


def read_samples(consumer: Consumer, load: FlightLoad, drain_s: float) -> list[Sample]:
    """Read results until the producer is done and nothing has come for `drain_s`."""
    samples = []
    last = time.monotonic()
    while load.is_alive() or time.monotonic() - last < drain_s:
        message = consumer.poll(0.2)
        if message is None:
            continue
        arrived_at = time.time() * 1000
        last = time.monotonic()
        if message.error() is None and (value := message.value()) is not None:
            samples.append(Sample(json.loads(value)["last_produced_at"], arrived_at))
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


def run(options: argparse.Namespace, work: Path) -> dict[str, object]:
    with BrokerProcess(work / "broker") as broker:
        topics = DemoTopics(broker.bootstrap_servers)
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
        with Application(
            flights_topology(),
            bootstrap_servers=broker.bootstrap_servers,
            data_dir=work,
            mode="real-time",
            settings={"epoch.ms": str(options.epoch_s * 1000)},
        ) as application:
            application.start().wait_until_caught_up(120)
            consumer = Consumer(
                {
                    "bootstrap.servers": broker.bootstrap_servers,
                    "group.id": "latency",
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 500,
                }
            )
            consumer.assign(
                [
                    TopicPartition(topic, number, OFFSET_BEGINNING)
                    for topic in RESULTS
                    for number in (0, 1)
                ]
            )
            load.go()
            samples = read_samples(consumer, load, drain_s=5)
            consumer.close()
    measured_from = samples[0].produced_at + options.warm_up_s * 1000
    return summarise([s for s in samples if s.produced_at >= measured_from], options.stall_ms)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--warm-up-s", type=int, default=30, help="not counted")
    parser.add_argument("--epoch-s", type=int, default=60)
    parser.add_argument("--stall-ms", type=float, default=150)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        figures = run(options, Path(directory))
    write_result("latency", {"rate": options.rate, "epoch_s": options.epoch_s, **figures})


if __name__ == "__main__":
    main()
