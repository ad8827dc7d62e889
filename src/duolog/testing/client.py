"""A Kafka client for tests and small programs: create a topic, write to it, read all of it.

It waits for every response, which a production producer or consumer should not do.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.testing.topic_reader import TIMEOUT_S, TopicReader

Headers = Sequence[tuple[str, bytes | None]]


class Record(NamedTuple):
    """A record that was read."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int = 0
    headers: Headers = ()
    partition: int = 0
    offset: int = 0

    @property
    def key_text(self) -> str | None:
        return None if self.key is None else self.key.decode()

    @property
    def value_text(self) -> str | None:
        return None if self.value is None else self.value.decode()


class Client:
    """A synchronous client of one Kafka cluster."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "log_level": 0,
        }
        self._producer = Producer(self._config | {"partitioner": "murmur2_random", "linger.ms": 0})
        self._admin: AdminClient | None = None

    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic and wait until it exists.

        Args:
            name: the topic.
            partitions: their number; -1 for the broker's `num.partitions`.
            configs: settings of the topic by name.

        Raises:
            KafkaException: the broker refuses.
        """
        new = NewTopic(name, partitions, config=dict(configs or {}))
        self._admin_client().create_topics([new])[name].result(TIMEOUT_S)

    def delete_topics(self, *names: str) -> None:
        """Delete topics and wait until they are gone; missing topics are passed over.

        Raises:
            KafkaException: the broker refuses.
        """
        for deleted in self._admin_client().delete_topics(list(names)).values():
            try:
                deleted.result(TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise

    def lag(self, topic: str, group: str) -> int:
        """Return the number of records of a topic that a consumer group has not committed.

        A missing topic has no records.

        Raises:
            KafkaException: there is no broker.
        """
        with self.reader(group) as reader:
            return reader.lag(topic)

    def reader(self, group: str = "duolog-testing") -> TopicReader:
        """Return a reader of topics, for a `with` block."""
        return TopicReader(self._config, group)

    def _admin_client(self) -> AdminClient:
        """Return a client that lives as long as this one: its destruction drops responses."""
        if self._admin is None:
            self._admin = AdminClient(self._config)
        return self._admin

    def produce(
        self,
        topic: str,
        key: str | bytes | None,
        value: str | bytes | None,
        *,
        timestamp_ms: int = 0,
        headers: Headers = (),
    ) -> None:
        """Write one record and wait until it is acknowledged.

        Raises:
            KafkaException: the broker refuses, or does not answer.
        """
        refused: list[object] = []
        self._producer.produce(
            topic,
            value,
            key,
            headers=list(headers),
            timestamp=timestamp_ms,
            on_delivery=lambda error, _: refused.append(error) if error else None,
        )
        if self._producer.flush(TIMEOUT_S) or refused:
            raise KafkaException(refused[0] if refused else "no acknowledgement in time")

    def read(self, topic: str) -> list[Record]:
        """Return all records that a topic contains now, in order within each partition.

        A missing topic has no records.

        Raises:
            KafkaException: there is no broker, or it does not send the next record in time.
        """
        with self.reader() as reader:
            return records_of(reader, topic)


def records_of(reader: TopicReader, topic: str) -> list[Record]:
    """Return all records that a topic contains now, in order within each partition.

    Raises:
        KafkaException: there is no broker, or it does not send the next record in time.
    """
    return [
        _record(message)
        for partition in reader.partitions(topic)
        for message in reader.messages(partition)
    ]


def _record(message: Message) -> Record:
    return Record(
        message.key(),
        message.value(),
        message.timestamp()[1],
        # Headers are read as pairs; the dictionary form is for writing.
        cast("Headers", message.headers() or []),
        message.partition() or 0,
        message.offset() or 0,
    )
