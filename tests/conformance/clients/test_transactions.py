"""Transactional producers of third-party clients against a broker process.

Each copies records from one topic to another in transactions, offsets with them, and aborts some;
read_committed consumers of the other clients must see each record once.
"""

import asyncio
import time
import uuid
import warnings
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.runtime.broker_process import BrokerProcess

with warnings.catch_warnings():
    # kafka-python reads its schemas with a function that is deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as PyTopicPartition
    from kafka.structs import OffsetAndMetadata

RECORDS = 40
BATCH = 10
PARTITIONS = 3


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("transactions") / "data") as process:
        yield process


@pytest.fixture
def topics(broker: BrokerProcess) -> tuple[str, str]:
    """Create two topics, the first one with records."""
    names = f"in-{uuid.uuid4().hex}", f"out-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        future.result(60)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(RECORDS):
        producer.produce(names[0], b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(60) == 0
    return names


def committed(broker: BrokerProcess, topic: str) -> list[int]:
    """Return what librdkafka reads with read_committed, in order of value."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "verifier",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    partitions = range(PARTITIONS)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    seen, ended = [], 0
    deadline = time.monotonic() + 60
    while ended < PARTITIONS and time.monotonic() < deadline:
        for message in consumer.consume(100, 0.5):
            if message.error() is None:
                seen.append(int(message.value() or b"-1"))
            else:
                ended += 1
    consumer.close()
    return sorted(seen)


def positions(broker: BrokerProcess, group: str, topic: str) -> int:
    """Return the sum of a group's committed offsets."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    asked = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    found = consumer.committed(asked, timeout=60)
    consumer.close()
    return sum(max(item.offset, 0) for item in found)


def test_librdkafka_copies_in_transactions(broker: BrokerProcess, topics: tuple[str, str]) -> None:
    source, target = topics
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"copy-{source}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([source])
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"tx-{source}"}
    )
    producer.init_transactions(60)

    def copy(messages: list[Message]) -> None:
        producer.begin_transaction()
        for message in messages:
            producer.produce(target, message.value())
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 20
        )

    copied, number = 0, 0
    deadline = time.monotonic() + 60
    while copied < RECORDS and time.monotonic() < deadline:
        messages = consumer.consume(BATCH, 1.0)
        if not messages:
            continue
        number += 1
        copy(messages)
        if number % 3 == 2:
            producer.abort_transaction(60)
            copy(messages)
        producer.commit_transaction(60)
        copied += len(messages)
    consumer.close()

    assert committed(broker, target) == list(range(RECORDS))
    assert positions(broker, f"copy-{source}", source) == RECORDS


def test_librdkafka_is_fenced_by_a_second_producer(
    broker: BrokerProcess, topics: tuple[str, str]
) -> None:
    _, target = topics
    settings = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": target}
    old = Producer(settings)
    old.init_transactions(60)
    old.begin_transaction()
    old.produce(target, b"1")
    old.flush(60)

    new = Producer(settings)
    new.init_transactions(60)
    new.begin_transaction()
    new.produce(target, b"2")
    new.commit_transaction(60)

    with pytest.raises(KafkaException) as fenced:
        old.commit_transaction(60)
    assert fenced.value.args[0].fatal()
    assert committed(broker, target) == [2]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_copies_in_transactions(
    broker: BrokerProcess, topics: tuple[str, str]
) -> None:
    source, target = topics
    servers, group = broker.bootstrap_servers, f"copy-{source}"
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=f"tx-{source}")
    producer.init_transactions()
    consumer = KafkaConsumer(
        bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=2000
    )
    consumer.assign([PyTopicPartition(source, partition) for partition in range(PARTITIONS)])
    records = list(consumer)
    consumer.close()
    assert len(records) == RECORDS

    for start in range(0, RECORDS, BATCH):
        some = records[start : start + BATCH]
        for outcome in ("abort", "commit"):
            producer.begin_transaction()
            for record in some:
                producer.send(target, record.value)
            offsets = {
                PyTopicPartition(source, record.partition): OffsetAndMetadata(
                    record.offset + 1, "", -1
                )
                for record in some
            }
            producer.send_offsets_to_transaction(offsets, group)
            if outcome == "abort":
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    producer.close()

    assert committed(broker, target) == list(range(RECORDS))
    assert positions(broker, group, source) == RECORDS


def test_aiokafka_copies_in_transactions(broker: BrokerProcess, topics: tuple[str, str]) -> None:
    source, target = topics
    servers, group = broker.bootstrap_servers, f"copy-{source}"

    async def copy() -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=servers,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=f"tx-{source}")
        await consumer.start()
        await producer.start()
        consumer.assign([AioTopicPartition(source, partition) for partition in range(PARTITIONS)])
        copied = 0
        while copied < RECORDS:
            found = await consumer.getmany(timeout_ms=1000, max_records=BATCH)
            for partition, records in found.items():
                for outcome in (False, True):
                    await producer.begin_transaction()
                    for record in records:
                        await producer.send_and_wait(target, record.value)
                    end = records[-1].offset + 1
                    await producer.send_offsets_to_transaction({partition: end}, group)
                    await (producer.commit_transaction if outcome else producer.abort_transaction)()
                copied += len(records)
        await producer.stop()
        await consumer.stop()

    asyncio.run(asyncio.wait_for(copy(), 60))

    assert committed(broker, target) == list(range(RECORDS))
    assert positions(broker, group, source) == RECORDS
