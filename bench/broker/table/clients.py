"""Loads from real clients: Kafka's performance tools, and librdkafka.

On two cores these clients need more CPU time than the broker, so the client limits the throughput.
Therefore the broker's CPU time per record is reported, too.
"""

import random
import re
import string
import subprocess
import tempfile
import time
from functools import cache
from typing import Final

from bench.broker.table.measured_brokers import MeasuredBroker
from confluent_kafka import Consumer, Producer, TopicPartition

from conformance.kafka.peer import HERE as PEER
from conformance.kafka.peer import fetch

RECORD_BYTES: Final = 100
_LIMIT_S: Final = 120
_FIRST_LINE: Final = re.compile(
    r"([\d.]+) records/sec.*?([\d.]+) ms avg latency.*?([\d.]+) ms 50th.*?([\d.]+) ms 99th"
)
Figures = dict[str, float]


def java_produce(
    measured: MeasuredBroker, topic: str, records: int, codec: str, *properties: str
) -> Figures:
    """Run Kafka's ProducerPerformance: idempotent, acks=all; its defaults but for `properties`."""
    with tempfile.NamedTemporaryFile(prefix="duolog-values-") as values:
        # Generating values would cost the tool more than sending them.
        values.write(b"\n".join(record_values()))
        values.flush()
        printed = _tool(
            "ProducerPerformance",
            *("--topic", topic, "--num-records", str(records), "--payload-file", values.name),
            *("--throughput", "-1", "--producer-props", f"bootstrap.servers={measured.address}"),
            *("acks=all", f"compression.type={codec}", *properties),
        )
    last = printed.strip().splitlines()[-1]
    found = _FIRST_LINE.search(last)
    assert found, f"ProducerPerformance printed: {printed}"
    return {
        "records_per_s": float(found[1]),
        "p50_ms": float(found[3]),
        "p99_ms": float(found[4]),
        "records": float(records),
    }


def java_consume(measured: MeasuredBroker, topic: str, records: int) -> Figures:
    """Run Kafka's ConsumerPerformance over a topic that holds `records`."""
    printed = _tool(
        "ConsumerPerformance",
        *("--bootstrap-server", measured.address, "--topic", topic),
        *("--messages", str(records), "--timeout", "20000", "--hide-header"),
    )
    # start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
    fields = printed.strip().splitlines()[-1].split(",")
    return {
        "records_per_s": float(fields[5]),
        "fetch_records_per_s": float(fields[9]),
        "records": float(fields[4]),
    }


def rdkafka_produce(
    measured: MeasuredBroker, topic: str, records: int, codec: str, *, idempotent: bool
) -> Figures:
    """Produce with librdkafka from prepared lists of records."""
    producer = Producer(
        {
            "bootstrap.servers": measured.address,
            "acks": "all",
            "compression.type": codec,
            "enable.idempotence": idempotent,
            "linger.ms": 5,
            "queue.buffering.max.messages": records,
            "queue.buffering.max.kbytes": 2 * 1024 * 1024,
        }
    )
    values = record_values()
    turns = records // len(values)
    producer.list_topics(topic, 10)
    started = time.perf_counter()
    for _ in range(turns):
        # The call writes results into the dictionaries, so each call needs new ones.
        producer.produce_batch(topic, [{"value": value} for value in values])
        producer.poll(0)
    if producer.flush(_LIMIT_S):
        raise SystemExit(f"{measured.name} did not acknowledge all records")
    took = time.perf_counter() - started
    return {"records_per_s": turns * len(values) / took, "records": float(turns * len(values))}


def rdkafka_consume(measured: MeasuredBroker, topic: str, records: int) -> Figures:
    """Read `records` from a topic of one partition with librdkafka, without a group."""
    consumer = Consumer(
        {
            "bootstrap.servers": measured.address,
            "group.id": "not-used",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 1048576,
            "queued.min.messages": 1_000_000,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    left = records
    started = 0.0
    deadline = time.monotonic() + _LIMIT_S
    while left > 0:
        got = consumer.consume(min(10_000, left), 1.0)
        started = started or time.perf_counter()
        left -= len(got)
        if time.monotonic() > deadline:
            raise SystemExit(f"{measured.name} gave {records - left} of {records} records")
    took = time.perf_counter() - started
    consumer.close()
    return {"records_per_s": records / took, "records": float(records)}


@cache
def record_values() -> list[bytes]:
    """Return 1,000 values of letters, as ProducerPerformance makes them."""
    letters = random.Random(7)  # noqa: S311
    return [
        "".join(letters.choices(string.ascii_uppercase, k=RECORD_BYTES)).encode()
        for _ in range(1000)
    ]


def _tool(name: str, *arguments: str) -> str:
    log = f"-Dlog4j2.configurationFile=file:{PEER / 'log4j2.properties'}"
    command = ["java", "-Xms512m", "-Xmx512m", log, "-cp", f"{fetch()}/*"]
    done = subprocess.run(
        [*command, f"org.apache.kafka.tools.{name}", *arguments],
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
