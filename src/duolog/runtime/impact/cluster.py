"""Topics, consumer groups and the last records of a Kafka cluster.

Nothing is changed: records are read without a group, and no offset is committed.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Final, Protocol, cast

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import ConfigResource

from duolog.core.errors import KafkaError
from duolog.runtime.impact.records import StoredRecord
from duolog.runtime.topics import admin_of, client_error
from duolog.security.clients.brokers import Brokers

_TIMEOUT_S: Final = 15.0
_PENDING_S: Final = 3600.0
"""Longest wait of a question to a group; the caller waits for a shorter time. If librdkafka 2.16
ends the wait while no broker is there, it aborts the process when one comes back.
"""
_POLL_S: Final = 0.2
_SPARE: Final = 4
"""Multiple of a partition's share that is read of it: records are not spread evenly."""
_READER: Final = {
    "group.id": "duolog-impact",  # The consumer does not join the group.
    "enable.auto.commit": False,
    "allow.auto.create.topics": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 20,
    "log_level": 0,
}


class Cluster(Protocol):
    """A Kafka cluster. Every method raises a KafkaError if it does not answer."""

    def topics(self) -> Mapping[str, int]:
        """Return the topics with their numbers of partitions."""

    def configs(self, topics: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the configs of topics."""

    def groups(self, topics: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the consumer groups that have committed offsets of topics, with these topics."""

    def last_records(self, topic: str, count: int) -> list[StoredRecord]:
        """Return the last records of a topic, at most `count`."""


class KafkaCluster:
    """A `Cluster` that is reached through the Kafka protocol.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._admin = admin_of(brokers)
        self._topics: Mapping[str, int] | None = None

    def topics(self) -> Mapping[str, int]:
        """Return the topics; see `Cluster`."""
        if self._topics is None:
            try:
                found = self._admin.list_topics(timeout=_TIMEOUT_S).topics
            except KafkaException as error:
                raise _failed("list the topics", error) from error
            self._topics = {name: len(one.partitions) for name, one in found.items()}
        return self._topics

    def configs(self, topics: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the configs of topics; see `Cluster`."""
        if not topics:
            return {}
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in topics]
        asked = self._admin.describe_configs(resources, request_timeout=_TIMEOUT_S)
        try:
            return {
                resource.name: {name: entry.value or "" for name, entry in future.result().items()}
                for resource, future in asked.items()
            }
        except KafkaException as error:
            raise _failed("read the configs of topics", error) from error

    def groups(self, topics: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the groups that read topics; see `Cluster`."""
        there = self.topics()
        places = [
            TopicPartition(topic, number)
            for topic in topics
            for number in range(there.get(topic, 0))
        ]
        if not places:
            return {}
        try:
            listed = self._admin.list_consumer_groups(request_timeout=_TIMEOUT_S).result()
            # All are asked at once; the client takes one group per call.
            asked = {
                one.group_id: self._admin.list_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(one.group_id, list(places))],
                    request_timeout=_PENDING_S,
                )[one.group_id]
                for one in listed.valid
            }
            found: dict[str, tuple[str, ...]] = {}
            for group, future in sorted(asked.items()):
                committed = future.result(_TIMEOUT_S).topic_partitions or []
                read = {place.topic for place in committed if place.offset >= 0}
                if read:
                    found[group] = tuple(sorted(read))
        except (KafkaException, TimeoutError) as error:
            raise _failed("list the offsets of consumer groups", error) from error
        return found

    def last_records(self, topic: str, count: int) -> list[StoredRecord]:
        """Return the last records of a topic; see `Cluster`."""
        partitions = self.topics().get(topic, 0)
        if not partitions or count < 1:
            return []
        share = count if partitions == 1 else min(count, _SPARE * (count // partitions + 1))
        try:
            with closing(Consumer(self._brokers.client({"log_level": 0, **_READER}))) as consumer:
                return self._read(consumer, topic, partitions, share)[-count:]
        except KafkaException as error:
            raise _failed(f'read topic "{topic}"', error) from error

    def _read(
        self, consumer: Consumer, topic: str, partitions: int, share: int
    ) -> list[StoredRecord]:
        """Return the last records of each partition, ordered by their timestamps."""
        starts = []
        for number in range(partitions):
            place = TopicPartition(topic, number)
            low, high = consumer.get_watermark_offsets(place, timeout=_TIMEOUT_S)
            if high > low:
                starts.append(TopicPartition(topic, number, max(low, high - share)))
        consumer.assign(starts)
        reading = {place.partition for place in starts}
        found: list[tuple[int, StoredRecord]] = []
        deadline = time.monotonic() + _TIMEOUT_S
        while reading and time.monotonic() < deadline:
            # With a timeout, `consume` waits for all messages that it may return.
            first = consumer.poll(_POLL_S)
            for message in [first, *consumer.consume(1000, 0)] if first is not None else ():
                number = message.partition() or 0
                if (error := message.error()) is not None:
                    if error.code() != ClientError._PARTITION_EOF:  # noqa: SLF001
                        raise KafkaException(error)
                    reading.discard(number)
                    continue
                # The annotation of confluent-kafka also has what only a producer may pass.
                headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
                offset = message.offset() or 0
                record = StoredRecord(
                    number, offset, message.key(), message.value(), tuple(headers)
                )
                found.append((message.timestamp()[1], record))
        found.sort(key=lambda one: one[0])
        return [record for _, record in found]


def _failed(verb: str, error: KafkaException | TimeoutError) -> KafkaError:
    cause = client_error(error)
    return KafkaError(f"cannot {verb}", code=cause.code(), detail=f"{cause.str()}.")
