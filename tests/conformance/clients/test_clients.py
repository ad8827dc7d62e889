"""Third-party clients against a broker process: produce, consume by assignment, administer."""

import asyncio
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition as AioTopicPartition
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.runtime.broker_process import BrokerProcess

with warnings.catch_warnings():
    # kafka-python reads its schemas with a function that is deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as PyTopicPartition

RECORDS = 300


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as process:
        yield process


def read_with_confluent(servers: str, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader"})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    values: list[bytes | None] = []
    deadline = time.monotonic() + 60
    while len(values) < count and time.monotonic() < deadline:
        values += [message.value() for message in consumer.consume(count, 1.0)]
    consumer.close()
    return values


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("idempotent", [False, True])
def test_librdkafka_writes_and_reads(broker: BrokerProcess, codec: str, idempotent: bool) -> None:  # noqa: FBT001
    topic = f"confluent-{codec}-{idempotent}"
    failed: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "enable.idempotence": idempotent,
            "compression.type": codec,
        }
    )
    for index in range(RECORDS):
        producer.produce(
            topic,
            value=b"value %d" % index,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )

    assert producer.flush(60) == 0
    assert failed == []
    values = read_with_confluent(broker.bootstrap_servers, topic, RECORDS)
    assert values == [b"value %d" % index for index in range(RECORDS)]


def test_librdkafka_administers_topics(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})

    admin.create_topics([NewTopic("managed", 3, 1)])["managed"].result(60)
    partitions = admin.list_topics(timeout=60).topics["managed"].partitions
    admin.delete_topics(["managed"])["managed"].result(60)

    assert len(partitions) == 3
    assert "managed" not in admin.list_topics(timeout=60).topics


def test_kafka_python_writes_and_reads(broker: BrokerProcess) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    for index in range(RECORDS):
        producer.send("kafka-python", key=b"k", value=b"%d" % index)
    producer.flush(60)
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        auto_offset_reset="earliest",
        consumer_timeout_ms=10_000,
    )
    partition = PyTopicPartition("kafka-python", 0)
    consumer.assign([partition])

    values = [next(consumer).value for _ in range(RECORDS)]

    assert values == [b"%d" % index for index in range(RECORDS)]
    assert consumer.end_offsets([partition]) == {partition: RECORDS}
    consumer.close()


def test_aiokafka_writes_and_reads(broker: BrokerProcess) -> None:
    async def run() -> list[bytes | None]:
        producer = AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True
        )
        await producer.start()
        for index in range(RECORDS):
            await producer.send("aiokafka", b"%d" % index)
        await producer.stop()
        consumer = AIOKafkaConsumer(
            bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
        )
        await consumer.start()
        consumer.assign([AioTopicPartition("aiokafka", 0)])
        values = [(await consumer.getone()).value for _ in range(RECORDS)]
        await consumer.stop()
        return values

    assert asyncio.run(asyncio.wait_for(run(), 30)) == [b"%d" % index for index in range(RECORDS)]


def test_acknowledged_records_survive_a_kill(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as process:
        servers = process.bootstrap_servers
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        acknowledged: list[bytes | None] = []

        def delivered(error: object, message: "Message[bytes, bytes]") -> None:
            if error is None:
                acknowledged.append(message.value())

        for index in range(2000):
            producer.produce("orders", value=b"%d" % index, on_delivery=delivered)
            producer.poll(0)
        while len(acknowledged) < 500:
            producer.poll(0.01)
        process.kill()
        producer.purge()
        producer.flush(60)

    with BrokerProcess(tmp_path / "data") as process:
        values = read_with_confluent(process.bootstrap_servers, "orders", len(acknowledged))

    assert set(acknowledged) <= set(values)


def test_signal_stops_the_broker_cleanly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "duolog", "broker", "--data", str(tmp_path / "data")]
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"duolog broker ready on 127.0.0.1:")

        process.send_signal(signal.SIGTERM)

        output, log = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output == b""
    assert b"broker has stopped" in log
    assert (tmp_path / "data").exists()
