"""Shared code of the comparisons with Kafka Streams: run one topology in both.

    records (written before) ─▶ one broker ─▶ Duolog, micro-batches │ Kafka Streams, in turns

Both read the same topics of one Duolog broker on this machine, one after the other, each in a
separate JVM. Duolog's rate is measured from the start of its second micro-batch to the end of its
last one, when all results are acknowledged. Kafka Streams' rate is measured from when it has read
as many records as one micro-batch contains to when it has read all. Both use default settings,
except for two stream threads. Kafka Streams' Avro is the jar that Spark contains.
"""

import json
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from duolog import Topology
from duolog.engine.jvm.jars import spark_jars
from duolog.runtime.application import Application

if TYPE_CHECKING:
    from duolog.engine.query.query import RunningQuery

HERE: Final = Path(__file__).parent
FETCH: Final = HERE.parents[1] / "tests" / "conformance" / "kafka" / "fetch"
PARTITIONS: Final = 2
CAUGHT_UP_S: Final = 900
READ_S: Final = 120

Record = tuple[str | bytes, str | bytes, int]
"""Key, value (JSON if it is text) and timestamp."""
Figures = dict[str, Any]


class Cluster:
    """A broker and functions for writing to it."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        # Do not log that the broker is gone at the end.
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": servers,
            "log_level": 0,
        }
        self._admin = AdminClient(settings)
        self._producer = Producer(
            settings
            | {
                "partitioner": "murmur2_random",
                "linger.ms": 20,
                "queue.buffering.max.messages": 1_000_000,
            }
        )

    def create(self, *topics: str, partitions: int = PARTITIONS) -> None:
        """Make topics whose records are older than any retention by time."""
        wanted = [NewTopic(topic, partitions, config={"retention.ms": "-1"}) for topic in topics]
        for future in self._admin.create_topics(wanted).values():
            future.result(30)

    def delete(self, *topics: str) -> None:
        for future in self._admin.delete_topics(list(topics)).values():
            future.result(30)

    def count(self, topic: str) -> int:
        """Return the number of records in a topic, including transaction markers."""
        every = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(PARTITIONS)}
        return sum(future.result(30).offset for future in self._admin.list_offsets(every).values())

    def write(self, topic: str, records: Iterable[Record]) -> int:
        """Write records, and wait until they are acknowledged; return how many there are."""
        count = 0
        for count, (key, value, time_ms) in enumerate(records, start=1):  # noqa: B007
            while True:
                try:
                    self._producer.produce(topic, value, key, timestamp=time_ms)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        if self._producer.flush(120):
            raise SystemExit(f'topic "{topic}" was not written in two minutes')
        return count

    def read(self, topic: str) -> list[tuple[bytes, bytes]]:
        """Return keys and values of all records that were committed, partition by partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "bench",
                "log_level": 0,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        found: list[tuple[bytes, bytes]] = []
        ended = 0
        deadline = time.monotonic() + READ_S
        while ended < PARTITIONS:
            if time.monotonic() > deadline:
                raise SystemExit(f'topic "{topic}" was not read in {READ_S} s')
            for record in consumer.consume(10_000, timeout=1):
                error = record.error()
                if error is None:
                    found.append((record.key() or b"", record.value() or b""))
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its only name
                    ended += 1
                else:
                    raise SystemExit(f'topic "{topic}" cannot be read: {error}')
        consumer.close()
        return found


def run_duolog(
    topology: Topology, servers: str, data_dir: Path, settings: Mapping[str, str]
) -> Figures:
    """Run from the beginning to the end of the topics, in micro-batches."""
    with Application(
        topology,
        bootstrap_servers=servers,
        data_dir=data_dir,
        mode="micro-batch",
        settings=settings,
    ) as application:
        query = application.start()
        catch_up(query)
        reports = [report for report in query.reports() if report.records_in]
    # A trial with few records has only one.
    measured = reports[1:] or reports
    events = sum(report.records_in for report in measured)
    last = measured[-1]
    took_ms = last.started_at_ms + last.duration_ms - measured[0].started_at_ms
    return {
        "events_measured": events,
        "micro_batches": len(reports),
        "events_per_second": round(events / took_ms * 1000),
        "first_micro_batch_ms": reports[0].duration_ms,
        "events_per_second_of_each": [
            round(report.records_in / report.duration_ms * 1000) for report in measured
        ],
    }


def catch_up(query: "RunningQuery") -> None:
    """Wait until the query has read and reported all records."""
    if not query.wait_until_caught_up(CAUGHT_UP_S):
        raise SystemExit("the query did not catch up in 15 minutes")
    time.sleep(2)  # for the last report, and the writes after a commit


def compile_streams(classes: Path) -> None:
    """Compile the programs of the peer."""
    sources = [str(path) for path in sorted((HERE / "kafka_streams").glob("*.java"))]
    command = ["javac", "-proc:none", "-cp", class_path(), "-d", str(classes), *sources]
    subprocess.run(command, check=True)


def run_streams(classes: Path, program: str, *arguments: str, **options: object) -> Figures:
    """Run a program of kafka_streams/ with the options of `Run.java`; return its output."""
    command = ["java", "-Xmx2g", "-cp", f"{class_path()}:{classes}", program, *arguments]
    command += [f"{name}={value}" for name, value in {"threads": 2, **options}.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1000)
    if done.returncode:
        raise SystemExit(f"{program} {arguments} of Kafka Streams failed:\n{done.stderr[-3000:]}")
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def in_turns(
    rounds: int, duolog: Callable[[int], Figures], streams: Callable[[int], Figures]
) -> Figures:
    """Run both in turns, `rounds` times; return their figures and ratios."""
    ours, theirs = [], []
    for number in range(rounds):
        ours.append(duolog(number))
        theirs.append(streams(number))
        print(json.dumps({"duolog": ours[-1], "kafka_streams": theirs[-1]}), flush=True)
    ratios = [
        one["events_per_second"] / other["events_per_second"]
        for one, other in zip(ours, theirs, strict=True)
    ]
    return {
        "duolog": ours,
        "kafka_streams": theirs,
        "ratio_median": round(statistics.median(ratios), 2),
        "ratio_min_max": [round(min(ratios), 2), round(max(ratios), 2)],
    }


def class_path() -> str:
    """Return Apache Kafka's jars, and Avro's."""
    (avro,) = (jar for jar in spark_jars() if re.fullmatch(r"avro-[0-9.]+\.jar", jar.name))
    return f"{libs()}/*:{avro}"


def libs() -> str:
    """Return the folder of Apache Kafka's jars."""
    found = subprocess.run([str(FETCH)], capture_output=True, text=True, check=True)
    return found.stdout.strip().splitlines()[-1]
