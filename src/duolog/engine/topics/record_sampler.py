"""Sample the records that a query has not read yet: their sizes, and whether there are any.

Offsets alone show neither. Between a position and the end of a topic there may be only transaction
markers, aborted records or gaps that compaction left; a query that has read every record would then
seem to lag forever. So a few records of each partition are read.

Thread rule: any thread; samples are taken one at a time.
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
    # No client joins the group and nothing is committed.
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
class Sample:
    """The records that were read of one partition, summed up."""

    records: int = 0
    bytes: int = 0
    first_ms: int | None = None
    """The timestamp of the first record."""
    reached_end: bool = False
    """True if the partition ended before the requested number of records."""


@dataclass(slots=True)
class RecordSampler:
    """Reads a few records after given offsets, and keeps its connection for the next call."""

    bootstrap_servers: str
    client_options: Mapping[str, str]
    _opened: Consumer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def sample(
        self, offsets: Mapping[Position, int], records_max: int, timeout_s: float = TIMEOUT_S
    ) -> dict[Position, Sample]:
        """Return what follows each offset, up to `records_max` records of each partition.

        After the timeout, partitions that have not answered have incomplete samples.
        """
        if not offsets:
            return {}
        with self._lock, contextlib.suppress(KafkaException):
            return self._sample(offsets, records_max, timeout_s)
        return {}

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
            if opened is not None:
                opened.close()

    def _sample(
        self, offsets: Mapping[Position, int], records_max: int, timeout_s: float
    ) -> dict[Position, Sample]:
        consumer = self._consumer()
        seen = {position: Sample() for position in offsets}
        open_partitions = set(offsets)
        consumer.assign([TopicPartition(*position, at) for position, at in offsets.items()])
        # A partition that an earlier call paused stays paused, even when it is assigned again.
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


def _take(ahead: Sample, message: Message) -> bool:
    """Count a message; return whether the partition needs no further reading."""
    error = message.error()
    if error is None:
        if not ahead.records:
            ahead.first_ms = message.timestamp()[1]
        ahead.records += 1
        ahead.bytes += len(message.key() or b"") + len(message.value() or b"")
        return False
    # On any other error, stop reading the partition; it is not known to be at its end.
    ahead.reached_end = error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's name
    return True
