"""Dead letters in the forms of Kafka Streams, Duolog and Kafka Connect, for tests."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from confluent_kafka import Consumer, Producer, TopicPartition

Headers = list[tuple[str, bytes | None]]


def streams(
    topic: str = "orders",
    partition: int = 0,
    offset: int = 0,
    message: str = "cannot read it",
    error: str = "org.apache.kafka.common.errors.SerializationException",
) -> Headers:
    """Return the headers of KIP-1034."""
    texts = {
        "exception": error,
        "message": message,
        "stacktrace": f"{error}: {message}\n\tat org.example.Reader.read(Reader.java:7)\n",
        "topic": topic,
        "partition": str(partition),
        "offset": str(offset),
    }
    return [(f"__streams.errors.{name}", text.encode()) for name, text in texts.items()]


def connect(topic: str = "orders", partition: int = 0, offset: int = 0) -> Headers:
    """Return the headers of Kafka Connect's dead letters."""
    texts = {
        "topic": topic,
        "partition": str(partition),
        "offset": str(offset),
        "connector.name": "to-warehouse",
        "task.id": "0",
        "stage": "VALUE_CONVERTER",
        "class.name": "org.apache.kafka.connect.json.JsonConverter",
        "exception.class.name": "org.apache.kafka.connect.errors.DataException",
        "exception.message": "no schema",
        "exception.stacktrace": "at org.example.Sink",
    }
    return [(f"__connect.errors.{name}", text.encode()) for name, text in texts.items()]


def write(
    servers: str,
    topic: str,
    records: Iterable[tuple[bytes | None, bytes | None, Headers]],
    login: Mapping[str, str] | None = None,
) -> None:
    """Write records, in order, to partition 0 of a topic."""
    producer = Producer(
        {"bootstrap.servers": servers, "message.max.bytes": 100_000_000, **(login or {})}
    )
    for key, value, headers in records:
        producer.produce(
            topic,
            value,
            key,
            0,
            headers=[*headers],
            timestamp=1_700_000_000_000,
            on_delivery=_ensure_written,
        )
        producer.poll(0)
    assert producer.flush(60) == 0


def _ensure_written(error: object, _message: object) -> None:
    assert error is None, error


def read(
    servers: str, topic: str, partitions: Sequence[int] = (0,)
) -> list[tuple[int, bytes | None, bytes | None, Headers]]:
    """Return partition, key, value and headers of the committed records of a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    found: list[tuple[int, bytes | None, bytes | None, Headers]] = []
    ended: set[int | None] = set()
    while len(ended) < len(partitions):
        message = consumer.poll(60)
        assert message is not None, "the topic does not end"
        if message.error() is not None:
            ended.add(message.partition())
            continue
        headers = cast("Headers", message.headers() or [])
        found.append((message.partition() or 0, message.key(), message.value(), headers))
    consumer.close()
    return found
