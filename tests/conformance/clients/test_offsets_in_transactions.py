"""Consume, transform, produce with real clients: offsets commit with the transaction."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.clients.members import TIMEOUT_S
from duolog.testing.cluster import EmbeddedCluster

Steps = Callable[[str, int, bool], None]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        for future in admin.create_topics([NewTopic("in", 1, 1), NewTopic("out", 1, 1)]).values():
            future.result(TIMEOUT_S)
        yield cluster


def committed(cluster: EmbeddedCluster) -> int:
    """Return the offset of group `g` that a client with require_stable sees."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
    (found,) = consumer.committed([TopicPartition("in", 0)], TIMEOUT_S)
    consumer.close()
    return int(found.offset)


def read_committed(cluster: EmbeddedCluster) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition("out", 0, 0)])
    values = []
    while (message := consumer.poll(TIMEOUT_S)) is not None and message.error() is None:
        values.append(message.value() or b"")
    consumer.close()
    return values


def by_librdkafka(bootstrap: str, offset: int, commit: bool) -> None:  # noqa: FBT001
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g"})
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "x"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("out", str(offset))
    member = consumer.consumer_group_metadata()
    marks = [TopicPartition("in", 0, offset)]
    producer.send_offsets_to_transaction(marks, member, TIMEOUT_S)
    if commit:
        producer.commit_transaction(TIMEOUT_S)
    else:
        producer.abort_transaction(TIMEOUT_S)
    consumer.close()


def by_kafka_python(bootstrap: str, offset: int, commit: bool) -> None:  # noqa: FBT001
    from kafka import KafkaProducer  # noqa: PLC0415  It warns when it is loaded.
    from kafka import TopicPartition as Place  # noqa: PLC0415
    from kafka.structs import OffsetAndMetadata  # noqa: PLC0415

    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id="x")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("out", str(offset).encode())
    marks = {Place("in", 0): OffsetAndMetadata(offset, "", -1)}
    producer.send_offsets_to_transaction(marks, "g")
    if commit:
        producer.commit_transaction()
    else:
        producer.abort_transaction()
    producer.close()


def by_aiokafka(bootstrap: str, offset: int, commit: bool) -> None:  # noqa: FBT001
    from aiokafka import AIOKafkaProducer  # noqa: PLC0415
    from aiokafka.structs import TopicPartition as Place  # noqa: PLC0415

    async def run() -> None:
        producer: Any = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="x")
        await producer.start()
        await producer.begin_transaction()
        await producer.send_and_wait("out", str(offset).encode())
        await producer.send_offsets_to_transaction({Place("in", 0): offset}, "g")
        if commit:
            await producer.commit_transaction()
        else:
            await producer.abort_transaction()
        await producer.stop()

    asyncio.run(run())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("steps", [by_librdkafka, by_kafka_python, by_aiokafka])
def test_offsets_and_records_commit_atomically(cluster: EmbeddedCluster, steps: Steps) -> None:
    servers = cluster.bootstrap_servers

    steps(servers, 5, True)  # noqa: FBT003
    assert (committed(cluster), read_committed(cluster)) == (5, [b"5"])
    steps(servers, 7, False)  # noqa: FBT003
    assert (committed(cluster), read_committed(cluster)) == (5, [b"5"])
    cluster.kill()
    cluster.restart()
    assert (committed(cluster), read_committed(cluster)) == (5, [b"5"])
    steps(cluster.bootstrap_servers, 9, True)  # noqa: FBT003
    assert (committed(cluster), read_committed(cluster)) == (9, [b"5", b"9"])


def test_restarted_broker_aborts_transactions_left_open_by_a_kill(
    cluster: EmbeddedCluster,
) -> None:
    by_librdkafka(cluster.bootstrap_servers, 5, commit=True)
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
    hanging = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "x"})
    hanging.init_transactions(TIMEOUT_S)
    hanging.begin_transaction()
    hanging.produce("out", "6")
    member = consumer.consumer_group_metadata()
    hanging.send_offsets_to_transaction([TopicPartition("in", 0, 6)], member, TIMEOUT_S)
    consumer.close()

    cluster.kill()
    cluster.restart()
    by_librdkafka(cluster.bootstrap_servers, 8, commit=True)

    assert (committed(cluster), read_committed(cluster)) == (8, [b"5", b"8"])


def test_producer_of_an_earlier_generation_cannot_commit(cluster: EmbeddedCluster) -> None:
    """The producing member left the group, which fences its transaction (KIP-447)."""
    config = {"bootstrap.servers": cluster.bootstrap_servers}
    consumer = Consumer({**config, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["in"])
    while not consumer.assignment():
        consumer.poll(0.1)
    stale = consumer.consumer_group_metadata()
    consumer.close()
    producer = Producer({**config, "transactional.id": "x"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("out", "1")

    with pytest.raises(KafkaException) as caught:
        producer.send_offsets_to_transaction([TopicPartition("in", 0, 6)], stale, TIMEOUT_S)
    producer.abort_transaction(TIMEOUT_S)

    assert caught.value.args[0].name() == "UNKNOWN_MEMBER_ID"
    assert committed(cluster) < 0
