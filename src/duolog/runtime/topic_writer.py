"""Write small records to a compacted topic of a service, which the first record creates.

Threads: one at a time.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from duolog.runtime.topics import admin_of, create
from duolog.security.clients.brokers import Brokers

_FLUSH_S: Final = 1.0
_PRODUCER: Final = {"linger.ms": 0, "message.timeout.ms": 30_000, "log_level": 0}


class TopicWriter:
    """Writes to one topic with one partition.

    Args:
        brokers: the cluster.
        topic: the topic.
        config: its configs if it does not exist yet.
    """

    def __init__(self, brokers: Brokers, topic: str, config: Mapping[str, str]) -> None:
        self._brokers = brokers
        self._topic = topic
        self._config = dict(config)
        self._producer: Producer | None = None

    def write(self, records: Mapping[str, bytes | None]) -> None:
        """Write values by key, None for a tombstone; does not wait for the broker.

        Raises:
            KafkaError: the broker refuses the topic.
        """
        if self._producer is None:
            topic = NewTopic(self._topic, 1, config=self._config)
            create(admin_of(self._brokers), [topic])
            self._producer = Producer(self._brokers.client(_PRODUCER))
        for key, value in records.items():
            self._producer.produce(self._topic, value, key.encode())
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait for pending records, for a second at most."""
        if self._producer is not None:
            self._producer.flush(_FLUSH_S)

    def close(self) -> None:
        """Flush pending records. Does nothing if closed."""
        self.flush()
        self._producer = None
