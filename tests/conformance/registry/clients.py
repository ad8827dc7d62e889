"""A small HTTP client of registries, and the records of their topic."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka import KafkaError as ClientError

TOPIC = "_schemas"
TIMEOUT_S = 120


class Answer:
    """A status and a JSON body."""

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body

    def __repr__(self) -> str:
        return f"{self.status} {self.body}"


def ask(
    url: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send one request on a connection of its own."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_S)) as made:
        sent = None if body is None else json.dumps(body)
        given = {"Content-Type": "application/vnd.schemaregistry.v1+json"} if body else {}
        made.request(method, path, sent, given | (headers or {}))
        response = made.getresponse()
        text = response.read()
        return Answer(response.status, json.loads(text) if text else None)


def record_schema(name: str) -> str:
    """Return an Avro record of one field."""
    field = {"name": "f", "type": "string"}
    return json.dumps({"type": "record", "name": name, "fields": [field]})


def register(url: str, subject: str, schema: str) -> Answer:
    return ask(url, "POST", f"/subjects/{quote(subject, safe='')}/versions", {"schema": schema})


def append(bootstrap_servers: str, key: bytes, value: bytes | None, topic: str = TOPIC) -> None:
    """Append a record to the topic, as something else than a registry."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    producer.produce(topic, key=key, value=value, partition=0)
    assert producer.flush(60) == 0


def stored(bootstrap_servers: str, topic: str = TOPIC) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the committed records of the topic, in order: key and value."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader of the test",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    with closing(consumer):
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        while True:
            message = consumer.poll(60)
            assert message is not None, "the topic cannot be read"
            if (error := message.error()) is not None:
                assert error.code() == ClientError._PARTITION_EOF, error  # noqa: SLF001
                return
            value = message.value()
            yield json.loads(message.key() or b""), None if value is None else json.loads(value)
