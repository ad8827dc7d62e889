"""Flights per second at full speed, against Kafka Streams with the same topology.

    flights (written before) ─▶ one broker ─▶ Duolog, micro-batches │ Kafka Streams, in turns

Both read the same topic of the same broker of Duolog's on the same machine, one after the other,
`--rounds` times. Duolog's rate counts from the start of its second micro-batch to the end of its
last one, when all results are acknowledged. Kafka Streams' rate counts from the moment at which
both aggregates have seen as many events as one micro-batch holds, to the one at which both have
seen all. Settings that matter are those of each system's defaults, but for two stream threads.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from results_file import write_result

from duolog.cli.demo.dataset import FLIGHTS_PER_YEAR, TABLES_AT_MS, Dataset
from duolog.cli.demo.load import FlightLoad
from duolog.cli.demo.topics import FLIGHTS_PARTITIONS, DemoTopics
from duolog.cli.demo.topology import flights_topology
from duolog.runtime.application import Application
from duolog.runtime.supervisor import BrokerProcess

HERE = Path(__file__).parent
FETCH = HERE.parent / "tests" / "conformance" / "kafka" / "fetch"


def write_flights(bootstrap_servers: str, dataset: Dataset, events: int) -> float:
    """Write the tables and `events` flights; return events per second."""
    topics = DemoTopics(bootstrap_servers)
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
    """Write the tables once more for Kafka Streams, which joins only what is co-partitioned."""
    names = {table: f"streams-{table}" for table in ("airlines", "airports")}
    # Compacted, as what is of 2013 is older than any retention by time.
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


def run_duolog(
    bootstrap_servers: str, data_dir: Path, settings: dict[str, str]
) -> dict[str, object]:
    """Run the demo's topology from the beginning to the end of the topic."""
    with Application(
        flights_topology(),
        bootstrap_servers=bootstrap_servers,
        data_dir=data_dir,
        mode="micro-batch",
        settings=settings,
    ) as application:
        query = application.start()
        if not query.wait_until_caught_up(900):
            raise SystemExit("the query did not catch up in 15 minutes")
        time.sleep(1)  # the last report comes just after the last commit
        reports = [report for report in query.reports() if report.records_in]
    measured = reports[1:]
    events = sum(report.records_in for report in measured)
    last = measured[-1]
    took_ms = last.started_at_ms + last.duration_ms - measured[0].started_at_ms
    return {
        "events_measured": events,
        "micro_batches": len(reports),
        "events_per_second": round(events / took_ms * 1000),
        "first_micro_batch_ms": reports[0].duration_ms,
    }


def run_streams(
    bootstrap_servers: str, events: int, warm_up: int, classes: Path
) -> dict[str, object]:
    """Run bench/kafka_streams/Flights.java over the same topic."""
    command = ["java", "-Xmx2g", "-cp", f"{libs()}/*:{classes}", "Flights"]
    command += [bootstrap_servers, str(events), str(warm_up), "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1000)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def compile_streams(classes: Path) -> None:
    """Compile the program of the peer."""
    source = HERE / "kafka_streams" / "Flights.java"
    command = ["javac", "-proc:none", "-cp", f"{libs()}/*", "-d", str(classes), str(source)]
    subprocess.run(command, check=True)


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
            duolog, streams = [], []
            for number in range(options.rounds):
                duolog.append(run_duolog(servers, work / f"duolog-{number}", settings))
                streams.append(
                    run_streams(servers, options.events, options.micro_batch, work / "classes")
                )
                print(json.dumps({"duolog": duolog[-1], "kafka_streams": streams[-1]}), flush=True)
    ratios = [
        float(str(ours["events_per_second"])) / float(str(theirs["events_per_second"]))
        for ours, theirs in zip(duolog, streams, strict=True)
    ]
    write_result(
        "throughput" if options.cache_bytes is None else "throughput_every_update",
        {
            "events": options.events,
            "produced_per_second": round(written),
            "duolog": duolog,
            "kafka_streams": streams,
            "ratio_median": round(statistics.median(ratios), 2),
            "ratio_min_max": [round(min(ratios), 2), round(max(ratios), 2)],
        },
    )


def libs() -> str:
    found = subprocess.run([str(FETCH)], capture_output=True, text=True, check=True)
    return found.stdout.strip().splitlines()[-1]


if __name__ == "__main__":
    main()
