"""A topic with a stream or table over it, and push queries on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from sqlglot import exp

from duolog.ksql.session import SqlSession
from duolog.runtime.sql.fanout.evaluators import Shape
from duolog.runtime.sql.fanout.row_buffer import BufferLimits
from duolog.runtime.sql.fanout.tokens import Tokens
from duolog.security.clients.brokers import Brokers
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from duolog.runtime.sql.fanout.shared_readers import SharedReaders, SharedRows, Start
    from duolog.testing import EmbeddedCluster

Rows = list[tuple[object, ...]]


class PushedTopic:
    """A topic with JSON values `v` and `text`, and the source `s` over it."""

    def __init__(
        self,
        cluster: EmbeddedCluster,
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
        start: Start | str = "latest",
        limits: BufferLimits | None = None,
    ) -> SharedRows:
        """Start a push query at `latest`, `earliest` or the place of a token."""
        shape = self.shape(select)
        tokens = self.tokens(shape)
        if isinstance(start, str) and start not in {"latest", "earliest"}:
            start = tokens.place(start) or "again"
        return readers.subscribe(shape, start, tokens, limits or BufferLimits())  # type: ignore[arg-type]

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
