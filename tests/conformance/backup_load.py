"""Clients that write, copy and commit without a pause, and what of it must be in a backup.

    producers ──► events (3 partitions) ──► copier: one transaction for records and offsets ──► copy
                  table (compacted): a few keys, again and again

The copier ties a group's offsets, a topic and the state of transactions together: in any moment of
the cluster, `copy` has exactly the records of `events` below the committed offsets.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, NamedTuple, Self

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from duolog.testing import Client

EVENTS: Final = "events"
COPY: Final = "copy"
TABLE: Final = "table"
GROUP: Final = "copiers"
PARTITIONS: Final = 3
TIMEOUT_S: Final = 60
_FLUSHED_EVERY: Final = 20
_COPIED_AT_ONCE: Final = 50
_KEYS: Final = 7


class Acknowledged(NamedTuple):
    """A record that the broker has acknowledged, and when the producer heard of it."""

    partition: int
    offset: int
    value: bytes
    heard_ns: int


def create_topics(servers: str) -> None:
    client = Client(servers)
    client.create_topic(EVENTS, partitions=PARTITIONS)
    client.create_topic(COPY, partitions=PARTITIONS)
    client.create_topic(
        TABLE,
        partitions=1,
        configs={
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
        },
    )


class Load:
    """The clients, as a context manager; they stop at its end."""

    def __init__(self, servers: str) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.copied = 0
        self.failures: list[BaseException] = []
        self._servers = servers
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._guarded, args=[run])
            for run in (self._produce, self._copy)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        assert self.failures == []

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - the end of a thread: `stop` reports it
            self.failures.append(error)

    def _produce(self) -> None:
        producer = Producer(
            {"bootstrap.servers": self._servers, "enable.idempotence": True, "linger.ms": 1}
        )
        number = 0
        while not self._ended.is_set():
            for _ in range(_FLUSHED_EVERY):
                number += 1
                value = f"{number}-{'x' * 100}"
                producer.produce(
                    EVENTS, value, partition=number % PARTITIONS, on_delivery=self._heard
                )
                producer.produce(TABLE, str(number), str(number % _KEYS))
            assert producer.flush(TIMEOUT_S) == 0

    def _heard(self, error: object, message: Message) -> None:
        assert error is None, error
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert isinstance(value, bytes)
        self.acknowledged.append(Acknowledged(partition, offset, value, time.monotonic_ns()))

    def _copy(self) -> None:
        producer = _copier(self._servers)
        producer.init_transactions(TIMEOUT_S)
        consumer = _reader(self._servers, GROUP)
        consumer.subscribe([EVENTS])
        while not self._ended.is_set():
            messages = consumer.consume(_COPIED_AT_ONCE, timeout=0.1)
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages:
                assert message.error() is None
                value, partition = message.value(), message.partition()
                assert partition is not None
                producer.produce(COPY, value, partition=partition)
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
            )
            producer.commit_transaction(TIMEOUT_S)
            self.copied += len(messages)
        consumer.close()


def end_open_transaction(servers: str) -> None:
    """Let the transaction that was open in the cut be aborted, as the copier's next start does."""
    _copier(servers).init_transactions(TIMEOUT_S)


def _copier(servers: str) -> Producer:
    return Producer({"bootstrap.servers": servers, "transactional.id": "copier"})


def _reader(servers: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            # A member of the cut is still in the restored group until its session ends.
            "session.timeout.ms": 6000,
            "auto.offset.reset": "error" if group != GROUP else "earliest",
            "isolation.level": "read_committed",
        }
    )


def read_all(servers: str, topic: str, partitions: int = PARTITIONS) -> list[list[bytes]]:
    """Return the committed values of each partition, in order."""
    consumer = _reader(servers, "checks")
    found: list[list[bytes]] = [[] for _ in range(partitions)]
    for partition in range(partitions):
        place = TopicPartition(topic, partition)
        start, end = consumer.get_watermark_offsets(place, TIMEOUT_S)
        consumer.assign([TopicPartition(topic, partition, start)])
        until = time.monotonic() + TIMEOUT_S
        while _position(consumer, place, start) < end:
            assert time.monotonic() < until, f"{topic}-{partition} does not end"
            for message in consumer.consume(1000, timeout=0.1):
                assert message.error() is None, message.error()
                found[partition].append(message.value() or b"")
    consumer.close()
    return found


def _position(consumer: Consumer, place: TopicPartition, start: int) -> int:
    offset = consumer.position([place])[0].offset
    return start if offset < 0 else offset


def committed(servers: str) -> list[int]:
    """Return the committed offsets of the copier's group in `events`."""
    consumer = _reader(servers, GROUP)
    places = [TopicPartition(EVENTS, partition) for partition in range(PARTITIONS)]
    found = consumer.committed(places, TIMEOUT_S)
    consumer.close()
    return [max(0, place.offset) for place in found]
