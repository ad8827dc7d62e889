"""A look at the records that a query has not read yet: how large they are, and whether there are any.

Offsets alone tell neither. Between a position and the end of a topic there may be nothing but markers
of transactions, aborted records or holes that compaction left; a query that has read all records then
looks behind for ever. So the broker is asked for the records themselves, a few of each partition.

Thread rule: any thread; looks go one after the other.
"""

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from duolog.core.units import KIB

TIMEOUT_S: Final = 2.0
_OPTIONS: Final = {
    # Nobody joins the group and nothing is committed.
    "group.id": "duolog-peek",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 10,
    "max.partition.fetch.bytes": 256 * KIB,
    "queued.max.messages.kbytes": 1024,
    "log_level": 0,
}

Position = tuple[str, int]
"""A topic and one of its partitions."""


@dataclass(slots=True)
class Ahead:
    """What was seen of one partition."""

    records: int = 0
    bytes: int = 0
    first_ms: int | None = None
    """The timestamp of the first record."""
    reached_end: bool = False
    """Whether the end of the partition came before the last record that was asked for."""


@dataclass(slots=True)
class Peek:
    """Reads a few records ahead of given offsets, and keeps its connection for the next time."""

    bootstrap_servers: str
    client_options: Mapping[str, str]
    _opened: Consumer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ahead(
        self, offsets: Mapping[Position, int], records_max: int, timeout_s: float = TIMEOUT_S
    ) -> dict[Position, Ahead]:
        """Return what follows each offset, up to `records_max` records of each partition.

        What does not answer in time is left as it is known by then.
        """
        if not offsets:
            return {}
        with self._lock, contextlib.suppress(KafkaException):
            return self._ahead(offsets, records_max, timeout_s)
        return {}

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
            if opened is not None:
                opened.close()

    def _ahead(
        self, offsets: Mapping[Position, int], records_max: int, timeout_s: float
    ) -> dict[Position, Ahead]:
        consumer = self._consumer()
        seen = {position: Ahead() for position in offsets}
        open_partitions = set(offsets)
        consumer.assign([TopicPartition(*position, at) for position, at in offsets.items()])
        # A partition that an earlier look has paused stays so, also when it is assigned again.
        consumer.resume([TopicPartition(*position) for position in offsets])
        deadline = time.monotonic() + timeout_s
        while open_partitions and (left_s := deadline - time.monotonic()) > 0:
            for message in consumer.consume(500, timeout=min(left_s, 0.1)):
                position = (message.topic() or "", message.partition() or 0)
                if position not in open_partitions:
                    continue
                if _take(seen[position], message) or seen[position].records >= records_max:
                    open_partitions.discard(position)
                    consumer.pause([TopicPartition(*position)])
        consumer.unassign()
        return seen

    def _consumer(self) -> Consumer:
        if self._opened is None:
            servers = {"bootstrap.servers": self.bootstrap_servers}
            self._opened = Consumer({**self.client_options, **_OPTIONS, **servers})
        return self._opened


def _take(ahead: Ahead, message: Message) -> bool:
    """Count a message; tell whether it was the last of its partition."""
    error = message.error()
    if error is None:
        if not ahead.records:
            ahead.first_ms = message.timestamp()[1]
        ahead.records += 1
        ahead.bytes += len(message.key() or b"") + len(message.value() or b"")
        return False
    # Any other error: the partition is not looked at further, and is not known to be at its end.
    ahead.reached_end = error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's name
    return True
