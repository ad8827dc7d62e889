"""Flights per second at full speed, compared with the same topology in Kafka Streams.

    flights (written before) ─▶ one broker ─▶ Duolog, micro-batches │ Kafka Streams, in turns

Rates are measured as in `streams_comparison.py`; in Kafka Streams an event counts when both
aggregates have processed it.
"""

import argparse
import tempfile
import time
from pathlib import Path

from bench.common.results_file import write_result
from bench.engine.streams_comparison import compile_streams, in_turns, run_duolog, run_streams
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.cli.demo.dataset import FLIGHTS_PER_YEAR, TABLES_AT_MS, Dataset
from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.topics import FLIGHTS_PARTITIONS, DemoTopics
from duolog.cli.demo.topology import flights_topology
from duolog.cli.kafka.cluster import Cluster
from duolog.runtime.broker_process import BrokerProcess


def write_flights(bootstrap_servers: str, dataset: Dataset, events: int) -> float:
    """Write the tables and `events` flights; return events per second."""
    topics = DemoTopics(Cluster(bootstrap_servers, {}))
    topics.create()
    years = -(-events // FLIGHTS_PER_YEAR)
    load = FlightLoad(topics, dataset, total=events, years=years, rate=None)
    load.start()
    load.wait_until_tables_are_loaded()
    started = time.monotonic()
    load.go()
    load.join()
    if load.error is not None:
        raise load.error
    return events / (time.monotonic() - started)


def write_streams_tables(bootstrap_servers: str, dataset: Dataset) -> None:
    """Write the tables again for Kafka Streams, which requires co-partitioned inputs."""
    names = {table: f"streams-{table}" for table in ("airlines", "airports")}
    # Compacted, because records of 2013 are older than any retention time.
    compacted = {"cleanup.policy": "compact"}
    results = ("streams-flights-by-airline", "streams-flights-by-destination")
    wanted = [
        NewTopic(topic, FLIGHTS_PARTITIONS, config=compacted)
        for topic in (*names.values(), *results)
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in admin.create_topics(wanted).values():
        future.result(30)
    producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random"})
    for table, topic in names.items():
        for key, value in dataset.table(table):
            producer.produce(topic, value, key, timestamp=TABLES_AT_MS)
    if producer.flush(30):
        raise SystemExit("the tables of Kafka Streams were not written in 30 s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--micro-batch", type=int, default=500_000, help="flights in a micro-batch")
    parser.add_argument("--cache-bytes", type=int, default=None, help="statestore.cache.max.bytes")
    options = parser.parse_args()
    settings = {"max.offsets.per.trigger": str(options.micro_batch)}
    if options.cache_bytes is not None:
        settings["statestore.cache.max.bytes"] = str(options.cache_bytes)

    with tempfile.TemporaryDirectory(prefix="duolog-bench-") as directory:
        work = Path(directory)
        compile_streams(work / "classes")
        with BrokerProcess(work / "broker") as broker:
            servers = broker.bootstrap_servers
            dataset = Dataset(work / "dataset")
            written = write_flights(servers, dataset, options.events)
            write_streams_tables(servers, dataset)
            found = in_turns(
                options.rounds,
                lambda number: run_duolog(
                    flights_topology(), servers, work / f"duolog-{number}", settings
                ),
                lambda _number: run_streams(
                    work / "classes",
                    "Flights",
                    bootstrap=servers,
                    work=work,
                    events=options.events,
                    warm_up=min(options.micro_batch, options.events // 2),
                ),
            )
    write_result(
        "throughput" if options.cache_bytes is None else "throughput_every_update",
        {
            "events": options.events,
            "produced_per_second": round(written),
            **found,
        },
    )


if __name__ == "__main__":
    main()
