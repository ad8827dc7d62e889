"""A topic with a stream or table over it, and push queries on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from sqlglot import exp

from duolog.ksql.session import SqlSession
from duolog.runtime.sql.fanout.evaluators import Shape
from duolog.runtime.sql.fanout.positions import Place
from duolog.runtime.sql.fanout.row_buffer import BufferLimits
from duolog.runtime.sql.fanout.tokens import Continued, Tokens
from duolog.runtime.topic_states import topic_id_of
from duolog.security.clients.brokers import Brokers
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.kafka.peer import KafkaPeer
    from duolog.runtime.sql.fanout.shared_readers import SharedReaders, SharedRows, Start
    from duolog.testing import EmbeddedCluster

Rows = list[tuple[object, ...]]


class PushedTopic:
    """A topic with JSON values `v` and `text`, and the source `s` over it."""

    def __init__(
        self,
        cluster: EmbeddedCluster | KafkaPeer,
        name: str,
        *,
        partitions: int = 1,
        table: bool = False,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.servers = cluster.bootstrap_servers
        self.brokers = Brokers(self.servers)
        self.admin = AdminClient({"bootstrap.servers": self.servers})
        made = NewTopic(name, partitions, config=dict(config or {}))
        self.admin.create_topics([made])[name].result(60)
        self._producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 0})
        self._session = SqlSession()
        kind = "TABLE s (id STRING PRIMARY KEY," if table else "STREAM s (id STRING KEY,"
        statement = (
            f"CREATE {kind} v INT, text STRING, many ARRAY<INT>) "
            f"WITH (kafka_topic='{name}', value_format='JSON', partitions={partitions});"
        )
        for _ in self._session.run(statement):
            pass
        self.source = self._session.catalog.sources["S"]

    def write(self, key: str, value: dict[str, object] | None, partition: int = 0) -> None:
        data = None if value is None else json.dumps(value)
        self._producer.produce(self.name, key=key, value=data, partition=partition)

    def create_again(self) -> None:
        """Delete the topic, create another one of the same name, and wait until it is known."""
        old = self._id()
        self.admin.delete_topics([self.name])[self.name].result(60)

        def is_created() -> bool:
            made = self.admin.create_topics([NewTopic(self.name, self.partitions)])[self.name]
            try:
                made.result(60)
            except KafkaException as error:
                # Apache Kafka deletes a topic after it has answered.
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
                return False
            return True

        wait_until(is_created, "the topic")
        # Until the broker learns of both, it appends records to the old topic.
        wait_until(lambda: self._id() not in {"", old}, "the new topic is known")

    def _id(self) -> str:
        """Return the id of the topic; empty if the broker knows none."""
        described = self.admin.describe_topics(TopicCollection([self.name]))[self.name]
        try:
            return topic_id_of(described.result(60))
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            return ""

    def grow(self, partitions: int) -> None:
        asked = NewPartitions(self.name, partitions)
        self.admin.create_partitions([asked])[self.name].result(60)

    def write_anew(self, value: int, partition: int) -> None:
        """Write a row by a producer that knows no older state of the topic."""
        producer = Producer({"bootstrap.servers": self.servers})
        wait_until(
            lambda: partition in producer.list_topics(self.name).topics[self.name].partitions,
            "the partition",
        )
        data = json.dumps({"v": value})
        producer.produce(self.name, key=f"k{value}", value=data, partition=partition)
        assert producer.flush(60) == 0

    def numbers(self, values: Sequence[int], partition: int = 0) -> None:
        """Write rows with these values of `v`."""
        for value in values:
            self.write(f"k{value}", {"v": value}, partition)
            if value % 10_000 == 0:
                self._producer.flush(60)
        self.flush()

    def flush(self) -> None:
        assert self._producer.flush(60) == 0

    def shape(self, select: str) -> Shape:
        ((node, _),) = self._session.read(f"{select} EMIT CHANGES;")
        assert isinstance(node, exp.Select)
        node.set("emit", None)
        return Shape.of(node, self._session.catalog, self.source)

    def tokens(self, shape: Shape, service: str = "test_") -> Tokens:
        return Tokens.of(shape, service)

    def subscribe(
        self,
        readers: SharedReaders,
        select: str,
        start: Start | Place | str = "latest",
        limits: BufferLimits | None = None,
    ) -> SharedRows:
        """Start a push query at `latest`, `earliest` or the place of a token."""
        shape = self.shape(select)
        tokens = self.tokens(shape)
        if isinstance(start, Place):
            start = Continued(start)
        elif isinstance(start, str) and start not in {"latest", "earliest"}:
            start = tokens.start(start)
        return readers.subscribe(shape, start, tokens, limits or BufferLimits())  # type: ignore[arg-type]

    def place_of(self, offset: int) -> Place:
        """Return a place in partition 0."""
        return Place({0: offset})

    def read_by_a_consumer(self) -> list[tuple[int, int, object]]:
        """Return partition, offset and `v` of all records, read by confluent-kafka."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "peer",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        places = [TopicPartition(self.name, at, 0) for at in range(self.partitions)]
        ends = {p.partition: consumer.get_watermark_offsets(p, timeout=60)[1] for p in places}
        consumer.assign(places)
        found: list[tuple[int, int, object]] = []
        try:
            while len(found) < sum(ends.values()):
                for one in consumer.consume(1000, 0.5):
                    value = json.loads(one.value() or b"{}").get("v")
                    found.append((one.partition() or 0, one.offset() or 0, value))
        finally:
            consumer.close()
        return found


def take(rows: SharedRows, count: int) -> Rows:
    """Return at least `count` rows, waiting for them."""
    found: Rows = []

    def complete() -> bool:
        found.extend(rows.next_rows(0.05))
        return len(found) >= count

    wait_until(complete, lambda: f"{count} rows; there are {len(found)}")
    return found


def take_to_the_end(rows: SharedRows) -> None:
    """Take rows until the query ends with an error, which is raised."""

    def never() -> bool:
        rows.next_rows(0.05)
        return False

    wait_until(never, "the end of the query")


def take_until_all(rows: SharedRows, keys: set[str]) -> list[tuple[str, object]]:
    """Return the rows, of a key and a value, until all keys have come."""
    found: list[tuple[str, object]] = []

    def complete() -> bool:
        found.extend((str(key), value) for key, value in rows.next_rows(0.05))
        return keys <= {key for key, _ in found}

    wait_until(complete, "the last rows")
    return found
