"""Unchanged clients obey throttle times, and what the broker took is within Kafka's model.

The bounds come from the broker's own clock: records have the time of their append, and for any two
batches, what came between them must be within the rate, the burst and one request.
"""

import asyncio
import subprocess
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition as AioTopicPartition
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.kafka.peer import TOOL_OPTIONS, fetch, free_ports
from conformance.kafka.wire_client import WireClient
from conftest import RequireProgram
from duolog.record.batch import read_header, whole_batches
from duolog.runtime.broker_process import BrokerProcess

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as PyTopicPartition

FETCH, ALTER_QUOTAS = 1, 49
RATE: Final = 100_000
BURST: Final = RATE
"""With two windows of a second, one second's worth is free."""
VALUE_BYTES, COUNT = 10_000, 40
REQUEST_BYTES_MAX: Final = 5 * VALUE_BYTES + 10_000
CLIENT: Final = "limited"
(METRICS_PORT,) = free_ports(1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data = tmp_path_factory.mktemp("quotas") / "data"
    settings = {
        "quota.window.num": "2",
        "log.message.timestamp.type": "LogAppendTime",
        "metrics.listen": f"127.0.0.1:{METRICS_PORT}",
    }
    with BrokerProcess(data, settings=settings) as process:
        rates = [("producer_byte_rate", RATE), ("consumer_byte_rate", RATE)]
        entry = {
            "entity": [{"entity_type": "client-id", "entity_name": CLIENT}],
            "ops": [{"key": key, "value": float(value), "remove": False} for key, value in rates],
        }
        with WireClient(process.bootstrap_servers) as client:
            answer = client.ask(ALTER_QUOTAS, 1, entries=[entry], validate_only=False)
        assert not answer.entries[0].error_code
        yield process


@pytest.fixture
def topic(broker: BrokerProcess, request: pytest.FixtureRequest) -> str:
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, 1)])[name].result(60)
    return name


def value(index: int) -> bytes:
    return (b"%d " % index).ljust(VALUE_BYTES, b"x")


def produce_with_librdkafka(servers: str, topic: str) -> int:
    throttled: list[float] = []
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "client.id": CLIENT,
            "batch.size": 5 * VALUE_BYTES,
            "throttle_cb": lambda event: throttled.append(event.throttle_time),
        }
    )
    for index in range(COUNT):
        producer.produce(topic, value(index))
    assert producer.flush(120) == 0
    return len(throttled)


def produce_with_kafka_python(servers: str, topic: str) -> float:
    arguments: dict[str, Any] = {"bootstrap_servers": servers, "client_id": CLIENT}
    producer = KafkaProducer(**arguments, batch_size=5 * VALUE_BYTES)
    sent = [producer.send(topic, value(index)) for index in range(COUNT)]
    for future in sent:
        future.get(120)
    metrics = producer.metrics()
    producer.close(60)
    return max(float(group.get("throttle-time-max", 0.0)) for group in metrics.values())


def produce_with_aiokafka(servers: str, topic: str) -> float:
    async def run() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=servers, client_id=CLIENT, max_batch_size=5 * VALUE_BYTES
        )
        await producer.start()
        sent = [await producer.send(topic, value(index)) for index in range(COUNT)]
        await asyncio.wait_for(asyncio.gather(*sent), 120)
        await producer.stop()

    asyncio.run(run())
    return 1.0  # It shows no throttle times.


@pytest.mark.parametrize(
    "produce", [produce_with_librdkafka, produce_with_kafka_python, produce_with_aiokafka]
)
def test_a_producer_is_held_to_its_rate_and_loses_nothing(
    broker: BrokerProcess, topic: str, produce: Callable[[str, str], float]
) -> None:
    throttled = produce(broker.bootstrap_servers, topic)

    batches = stored(broker, topic)
    assert throttled > 0
    assert sum(count for _, _, count in batches) == COUNT
    ensure_within_rate(batches)


def stored(broker: BrokerProcess, topic: str) -> list[tuple[int, int, int]]:
    """Return time, size and count of each batch."""
    data = bytearray()
    offset = 0
    while True:
        asked = {
            "partition": 0,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "partition_max_bytes": 1 << 30,
        }
        with WireClient(broker.bootstrap_servers) as client:
            answer = client.ask(
                FETCH,
                11,
                max_wait=0,
                min_bytes=0,
                max_bytes=1 << 30,
                session_epoch=-1,
                topics=[{"topic": topic, "partitions": [asked]}],
            )
        records = answer.responses[0].partitions[0].records
        if not records:
            break
        data += records
        offset = [header.next_offset for header, _ in whole_batches(records)][-1]
    return [
        (read_header(batch).max_timestamp, len(batch), header.records_count)
        for header, batch in whole_batches(bytes(data))
    ]


def ensure_within_rate(batches: list[tuple[int, int, int]]) -> None:
    """Check each span: the rate, the burst, two windows, and a request on top."""
    for first, (start_ms, _, _) in enumerate(batches):
        total = 0
        for at_ms, size, _ in batches[first:]:
            total += size
            allowed = RATE * (at_ms - start_ms) / 1000 + BURST + 2 * RATE + REQUEST_BYTES_MAX
            assert total <= allowed, f"{total} bytes within {at_ms - start_ms} ms"
    total = sum(size for _, size, _ in batches)
    took_ms = batches[-1][0] - batches[0][0]
    assert total > BURST
    assert took_ms >= (total - BURST - REQUEST_BYTES_MAX) / RATE * 1000 * 0.5


def read_with_librdkafka(servers: str, topic: str) -> list[bytes]:
    settings = {"bootstrap.servers": servers, "client.id": CLIENT, "group.id": topic}
    consumer = Consumer(settings | {"fetch.message.max.bytes": 3 * VALUE_BYTES})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = [message.value() for message in consumer.consume(COUNT, 120)]
    consumer.close()
    return [each for each in found if isinstance(each, bytes)]


def read_with_kafka_python(servers: str, topic: str) -> list[bytes]:
    consumer = KafkaConsumer(
        bootstrap_servers=servers,
        client_id=CLIENT,
        auto_offset_reset="earliest",
        consumer_timeout_ms=120_000,
        max_partition_fetch_bytes=3 * VALUE_BYTES,
    )
    consumer.assign([PyTopicPartition(topic, 0)])
    found = [next(consumer).value for _ in range(COUNT)]
    consumer.close()
    return found


def read_with_aiokafka(servers: str, topic: str) -> list[bytes]:
    async def run() -> list[bytes]:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=servers,
            client_id=CLIENT,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=3 * VALUE_BYTES,
        )
        await consumer.start()
        consumer.assign([AioTopicPartition(topic, 0)])
        found = [(await asyncio.wait_for(consumer.getone(), 120)).value for _ in range(COUNT)]
        await consumer.stop()
        return [each for each in found if each is not None]

    return asyncio.run(run())


@pytest.mark.parametrize("read", [read_with_librdkafka, read_with_kafka_python, read_with_aiokafka])
def test_a_consumer_is_held_to_its_rate_and_reads_everything_in_order(
    broker: BrokerProcess, topic: str, read: Callable[[str, str], list[bytes]]
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
    for index in range(COUNT):
        producer.produce(topic, value(index))
        producer.flush(60)

    before, started = throttled_fetches(broker), time.monotonic()
    found = read(broker.bootstrap_servers, topic)
    took_s = time.monotonic() - started

    assert found == [value(index) for index in range(COUNT)]
    assert throttled_fetches(broker) > before
    # A slow machine makes it longer, never shorter.
    assert took_s >= (COUNT * VALUE_BYTES - BURST - REQUEST_BYTES_MAX) / RATE * 0.5


def throttled_fetches(broker: BrokerProcess) -> int:
    """Return how many fetches of the client have been throttled."""
    with urllib.request.urlopen(f"http://127.0.0.1:{METRICS_PORT}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    name = f'kafka_server_fetch_throttled_total{{user="",client_id="{CLIENT}"}} '
    return sum(int(row.removeprefix(name)) for row in text.splitlines() if row.startswith(name))


def test_the_producer_of_java_is_held_to_its_rate(
    broker: BrokerProcess, topic: str, require_program: RequireProgram, tmp_path: Path
) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    file = tmp_path / "producer.properties"
    file.write_text(
        f"bootstrap.servers={broker.bootstrap_servers}\nclient.id={CLIENT}\n"
        f"batch.size={5 * VALUE_BYTES}\n"
    )

    done = subprocess.run(
        [
            *("java", *TOOL_OPTIONS, "-cp", f"{fetch()}/*"),
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", topic, "--num-records", str(COUNT), "--record-size", str(VALUE_BYTES)),
            *("--throughput", "-1", "--producer.config", str(file), "--print-metrics"),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    batches = stored(broker, topic)
    assert sum(count for _, _, count in batches) == COUNT
    ensure_within_rate(batches)
    (line,) = [row for row in done.stdout.splitlines() if "produce-throttle-time-max" in row]
    assert float(line.rpartition(":")[2]) > 0
