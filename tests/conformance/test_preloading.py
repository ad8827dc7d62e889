"""A broker loads the schemas of common requests by itself, after it is ready."""

import asyncio
import re
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kio.serial import entity_reader

import waiting
from duolog.broker.requests.preloading import VERSIONS
from duolog.broker.router import find_apis
from duolog.protocol.encoder import encoder
from duolog.protocol.headers import is_flexible
from duolog.protocol.messages import entity_type
from duolog.record import Record, encode_batch
from duolog.testing import Client, EmbeddedCluster

PRODUCE, LIST_OFFSETS = 0, 2
LATEST: Final = -1
_REQUEST: Final = re.compile(r"api=(\w+).* version=(\d+)")


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    settings = {"logging.level": "debug", "durability": "os"}
    with EmbeddedCluster(settings=settings) as running:
        yield running


def log(cluster: EmbeddedCluster) -> str:
    return cluster.broker.log_path.read_text()


def wait_until_loaded(cluster: EmbeddedCluster) -> None:
    waiting.wait_until(lambda: "loaded schemas" in log(cluster), lambda: log(cluster))


def connect(cluster: EmbeddedCluster) -> socket.socket:
    host, port = cluster.bootstrap_servers.rsplit(":", 1)
    client = socket.create_connection((host, int(port)), timeout=60)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def frame(key: int, version: int, **fields: Any) -> bytes:
    assert is_flexible(key, version)
    header = key.to_bytes(2) + version.to_bytes(2) + bytes(4) + b"\xff\xff" + b"\0"
    body = header + encoder(entity_type(key, version, "request"))(fields)
    return len(body).to_bytes(4) + body


def receive(client: socket.socket, key: int, version: int) -> Any:
    size = int.from_bytes(client.recv(4, socket.MSG_WAITALL))
    body = client.recv(size, socket.MSG_WAITALL)
    entity, _ = entity_reader(entity_type(key, version, "response"))(body[5:], 0)
    return entity


def test_the_first_list_offsets_is_not_overtaken_by_a_later_produce_request(
    cluster: EmbeddedCluster,
) -> None:
    Client(cluster.bootstrap_servers).create_topic("orders")
    wait_until_loaded(cluster)
    batch = bytes(encode_batch([Record(0, 0, b"k", b"1")]))

    partition = {"partition_index": 0, "timestamp": LATEST, "current_leader_epoch": -1}
    topics = [{"name": "orders", "partitions": [partition]}]
    listing = frame(LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)
    data = [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]
    producing = frame(PRODUCE, 9, acks=-1, timeout=60_000, topic_data=data)

    with closing(connect(cluster)) as reader, closing(connect(cluster)) as writer:
        reader.sendall(listing)
        writer.sendall(producing)
        (produced,) = receive(writer, PRODUCE, 9).responses[0].partition_responses
        (listed,) = receive(reader, LIST_OFFSETS, 7).topics[0].partitions

    assert (produced.error_code.value, produced.base_offset) == (0, 0)
    assert listed.offset == 0


def librdkafka(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    producer.produce("orders", b"1")
    assert producer.flush(60) == 0
    group = {"group.id": "librdkafka", "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": servers, **group})
    consumer.subscribe(["orders"])
    record = consumer.poll(60)
    assert record is not None
    assert record.value() == b"1"
    consumer.commit(message=record, asynchronous=False)
    consumer.close()


def kafka_python(servers: str) -> None:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        from kafka import KafkaConsumer, KafkaProducer  # noqa: PLC0415  It warns when it is loaded.

    with closing(KafkaProducer(bootstrap_servers=servers)) as producer:
        producer.send("orders", b"1").get(60)
    group = {"group_id": "kafka-python", "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer("orders", bootstrap_servers=servers, **group)
    assert next(consumer).value == b"1"
    consumer.commit()
    consumer.close()


def aiokafka(servers: str) -> None:
    async def run() -> object:
        idempotent = {"enable_idempotence": True}
        async with AIOKafkaProducer(bootstrap_servers=servers, **idempotent) as producer:
            await producer.send_and_wait("orders", b"1")
        group = {"group_id": "aiokafka", "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer("orders", bootstrap_servers=servers, **group) as consumer:
            record = await consumer.getone()
            await consumer.commit()
            return record.value

    assert asyncio.run(run()) == b"1"


@pytest.mark.parametrize("client", [librdkafka, kafka_python, aiokafka])
def test_the_versions_that_a_client_sends_first_are_loaded(client: Callable[[str], None]) -> None:
    keys = {api.name: api.key for api in find_apis() if api.key in VERSIONS}
    with EmbeddedCluster(settings={"logging.requests": "true"}) as cluster:
        client(cluster.bootstrap_servers)
        sent = {
            (keys[name], int(version))
            for name, version in _REQUEST.findall(log(cluster))
            if name in keys
        }

    assert {key for key, _ in sent} >= {LIST_OFFSETS, 8, 9, 10, 11, 13, 14, 22}
    assert [row for row in sorted(sent) if row[1] not in VERSIONS[row[0]]] == []
