"""Read the committed records of several partitions, each between two offsets.

The reader passes over records of aborted transactions, markers and gaps. It stops before the first
open transaction, because the ranges end at last stable offsets.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import LATEST, Offsets, Place

READ_SIZE: Final = 1000
_POLL_S: Final = 0.2
_PARTITION_EOF: Final = -191
_PASSING: Final = frozenset({-195, -187})
"""Errors that the client recovers from: lost connections."""
_NOT_YET: Final = frozenset({3, 5, 6, 74, 75})
"""UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE and NOT_LEADER_OR_FOLLOWER.

FENCED_LEADER_EPOCH and UNKNOWN_LEADER_EPOCH: the leader has just changed or restarted.
"""
_NEW_PARTITION_S: Final = 10.0
_OPTIONS: Final = {
    "group.id": "duolog-mirror",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "enable.partition.eof": "true",
    "allow.auto.create.topics": "false",
    "check.crcs": "true",
}

Range = tuple[int, int]
"""The first offset to read, and the offset before which to stop."""


def read_committed(
    cluster: Cluster, ranges: Mapping[Place, Range]
) -> Iterator[list[tuple[Place, Message]]]:
    """Yield the records of the ranges, in order within each partition; an empty list while waiting.

    Raises:
        KafkaError: the connection stays lost.
        KafkaException: a partition cannot be read.
    """
    ends = {place: end for place, (start, end) in ranges.items() if start < end}
    if not ends:
        return
    connection = cluster.connection()
    consumer: Consumer = cluster.consumer(connection, **_OPTIONS)
    try:
        consumer.assign([TopicPartition(*place, ranges[place][0]) for place in ends])
        while ends:
            before = set(ends)
            yield _read_once(consumer, ends)
            if read := before.difference(ends):
                consumer.pause([TopicPartition(*place) for place in read])
            connection.look()
    finally:
        consumer.close()


def read_ends(
    client: AdminClient, cluster: Cluster, places: Iterable[Place], spec: OffsetSpec = LATEST
) -> Offsets:
    """Return the last stable offset of each partition, or the offset that `spec` selects.

    The request is repeated for a while if the partition's leader is not known yet, because the
    partition was just created or its leader has changed.

    Raises:
        KafkaException: a partition is still unknown, or another error.
    """
    asked: dict[TopicPartition, OffsetSpec] = {TopicPartition(*place): spec for place in places}
    deadline = time.monotonic() + _NEW_PARTITION_S
    while True:
        try:
            return _ends_once(client, cluster, asked)
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)


def _ends_once(
    client: AdminClient, cluster: Cluster, asked: dict[TopicPartition, OffsetSpec]
) -> Offsets:
    if not asked:
        return {}
    futures = client.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED)
    return {
        (place.topic, place.partition): cluster.first_result([future]).offset
        for place, future in futures.items()
    }


def _read_once(consumer: Consumer, ends: Offsets) -> list[tuple[Place, Message]]:
    """Return the next records; remove from `ends` what is read to its end."""
    found: list[tuple[Place, Message]] = []
    for message in consumer.consume(READ_SIZE, _POLL_S):
        place, offset = _place(message), message.offset() or 0
        error = message.error()
        if error is None:
            if place in ends and offset < ends[place]:
                found.append((place, message))
            if offset + 1 >= ends.get(place, offset + 1):
                ends.pop(place, None)
        elif error.code() == _PARTITION_EOF:
            if offset >= ends.get(place, 0):
                ends.pop(place, None)
        elif error.code() not in _PASSING:
            raise KafkaException(error)
    return found


def _place(message: Message) -> Place:
    return message.topic() or "", message.partition() or 0
