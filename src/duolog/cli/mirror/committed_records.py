"""Read the committed records of several partitions, each between two offsets.

The reader passes over records of aborted transactions, markers and gaps. It stops before the first
open transaction, because the ranges end at last stable offsets.

It reads each range completely or raises an error: it never continues at another offset than the
next one, and it does not wait for offsets that the partition no longer has.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.connection import Connection
from duolog.cli.kafka.topics import LATEST, Offsets, Place
from duolog.core.errors import KafkaError

READ_SIZE: Final = 1000
_POLL_S: Final = 0.2
_PARTITION_EOF: Final = -191
_PASSING: Final = frozenset({-195, -187})
"""Errors that the client recovers from: lost connections."""
NOT_YET: Final = frozenset({3, 5, 6, 74, 75, 78})
"""UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE and NOT_LEADER_OR_FOLLOWER.

FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH and OFFSET_NOT_AVAILABLE: the leader has just changed or
restarted.
"""
OFFSET_OUT_OF_RANGE: Final = 1
_AUTO_OFFSET_RESET: Final = -140
"""The client's error if the partition does not contain the offset to read."""
_TIMED_OUT: Final = 7
_CHECK_S: Final = 10.0
"""Time without a record after which the ends of the partitions are read again."""
_STALLED_S: Final = 600.0
"""Time without progress after which to give up."""
_NEW_PARTITION_S: Final = 10.0
_OPTIONS: Final = {
    "group.id": "duolog-mirror",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "enable.partition.eof": "true",
    "allow.auto.create.topics": "false",
    "check.crcs": "true",
    # A fetch at the end of a range waits for more records, which delays the end of the read.
    "fetch.wait.max.ms": "50",
}

Range = tuple[int, int]
"""The first offset to read, and the offset before which to stop."""


def read_committed(
    cluster: Cluster, ranges: Mapping[Place, Range]
) -> Iterator[list[tuple[Place, Message]]]:
    """Yield the records of the ranges, in order within each partition; an empty list while waiting.

    Raises:
        KafkaError: the connection stays lost, or a partition lost offsets of its range.
        KafkaException: a partition cannot be read.
    """
    ends = {place: end for place, (start, end) in ranges.items() if start < end}
    if not ends:
        return
    connection = cluster.connection()
    consumer: Consumer = cluster.consumer(connection, **_OPTIONS)
    stall = _Stall(cluster, connection, consumer)
    nexts = {place: ranges[place][0] for place in ends}
    try:
        consumer.assign([TopicPartition(*place, start) for place, start in nexts.items()])
        while ends:
            before = set(ends)
            asked_at = time.monotonic()
            found = _read_once(consumer, nexts, ends)
            read = before.difference(ends)
            stall.note(time.monotonic() - asked_at, ends, is_moving=bool(found or read))
            yield found
            if read:
                consumer.pause([TopicPartition(*place) for place in read])
            connection.look()
    finally:
        consumer.close()


def read_ends(
    client: AdminClient,
    cluster: Cluster,
    places: Iterable[Place],
    spec: OffsetSpec = LATEST,
    *,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> Offsets:
    """Return the last stable offset of each partition, or the offset that `spec` selects.

    With READ_UNCOMMITTED, return the high watermark, which is also after open transactions.

    The request is repeated for a while if the partition's leader is not known yet, because the
    partition was just created or its leader has changed.

    Raises:
        KafkaException: a partition is still unknown, or another error.
    """
    asked: dict[TopicPartition, OffsetSpec] = {TopicPartition(*place): spec for place in places}
    deadline = time.monotonic() + _NEW_PARTITION_S
    while True:
        try:
            return _ends_once(client, cluster, asked, isolation)
        except KafkaException as error:
            if error.args[0].code() not in NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)


def _ends_once(
    client: AdminClient,
    cluster: Cluster,
    asked: dict[TopicPartition, OffsetSpec],
    isolation: IsolationLevel,
) -> Offsets:
    if not asked:
        return {}
    futures = client.list_offsets(asked, isolation_level=isolation)
    return {
        (place.topic, place.partition): cluster.first_result([future]).offset
        for place, future in futures.items()
    }


class _Stall:
    """Ends a read that can never be completed.

    It counts only the time spent waiting for records, not that of the caller.
    """

    def __init__(self, cluster: Cluster, connection: Connection, consumer: Consumer) -> None:
        self._cluster, self._connection, self._consumer = cluster, connection, consumer
        self._waited_s = self._checked_s = 0.0
        self._positions: list[int] = []

    def note(self, waited_s: float, ends: Offsets, *, is_moving: bool) -> None:
        """Add the time of a read; after a while without a record, check the partitions' ends.

        Raises:
            KafkaError: a partition ends before its range, or no record has arrived for too long.
        """
        if is_moving or not ends:
            self._waited_s = self._checked_s = 0.0
            return
        self._waited_s += waited_s
        # A lost connection is handled by `Connection.look`.
        if self._waited_s - self._checked_s >= _CHECK_S and not self._connection.is_suspected:
            self._checked_s = self._waited_s
            self._ensure_there(ends)
        if self._waited_s >= _STALLED_S:
            place, end = next(iter(ends.items()))
            raise KafkaError(
                f"{_name(place)} could not be read up to offset {end}",
                code=_TIMED_OUT,
                retriable=True,
                detail=f"No record has arrived for {_STALLED_S:.0f} s.",
                hint="Read the broker's log. Then run the same command again: it continues.",
            )

    def _ensure_there(self, ends: Offsets) -> None:
        present = read_ends(self._cluster.admin(), self._cluster, ends)
        for place, end in ends.items():
            if present[place] < end:
                raise _lost(place, f"It ended at offset {end}, and now at {present[place]}.")
        # Records of aborted transactions move the position, but are not returned.
        asked = [TopicPartition(*place) for place in ends]
        positions = [at.offset for at in self._consumer.position(asked)]
        if positions != self._positions:
            self._positions = positions
            self._waited_s = self._checked_s = 0.0


def _read_once(consumer: Consumer, nexts: Offsets, ends: Offsets) -> list[tuple[Place, Message]]:
    """Return the next records and advance `nexts`; remove from `ends` what is read to its end."""
    found: list[tuple[Place, Message]] = []
    for message in consumer.consume(READ_SIZE, _POLL_S):
        place, offset = _place(message), message.offset() or 0
        error = message.error()
        if error is None:
            if place in ends and offset < nexts[place]:
                raise _lost(place, f"Offset {offset} was read again after {nexts[place] - 1}.")
            if place in ends and offset < ends[place]:
                found.append((place, message))
                nexts[place] = offset + 1
            if offset + 1 >= ends.get(place, offset + 1):
                ends.pop(place, None)
        elif error.code() == _PARTITION_EOF:
            if offset >= ends.get(place, 0):
                ends.pop(place, None)
        elif error.code() == _AUTO_OFFSET_RESET:
            raise _lost(place, error.str())
        elif error.code() not in _PASSING:
            raise KafkaException(error)
    return found


def _lost(place: Place, detail: str) -> KafkaError:
    return KafkaError(
        f"{_name(place)} lost records while they were read",
        code=OFFSET_OUT_OF_RANGE,
        detail=f"{detail} The broker has deleted or truncated the records, or the topic was "
        "created again.",
        hint="Run the same command again: it reports the offsets that it could not copy.",
    )


def _name(place: Place) -> str:
    return f'partition {place[1]} of topic "{place[0]}"'


def _place(message: Message) -> Place:
    return message.topic() or "", message.partition() or 0
