"""Check records that were read before: find the last before a position; is it unchanged?

When a consumer starts with a leader epoch, the broker validates it (OffsetsForLeaderEpoch, KIP-320)
and reports if the log was truncated below its offset. Thread rule: any thread; checks run one at a
time.
"""

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from duolog.core.units import KIB
from duolog.engine.topics.record_sampler import Position

UNKNOWN: Final = -1
_TIMEOUT_S: Final = 10.0
# Transaction markers and aborted records can lie between the last record and a position: if nothing
# is found, the next search starts ten times as far back.
_BACK: Final = 20
_BACK_FACTOR: Final = 10
_OPTIONS: Final = {
    "group.id": "duolog-looks",  # No client joins the group and nothing is committed.
    "enable.auto.commit": False,
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 10,
    "max.partition.fetch.bytes": 64 * KIB,
    "queued.max.messages.kbytes": 1024,
    "log_level": 0,
}
_IS_GONE: Final = frozenset(
    {
        KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - librdkafka names its own codes like this
        KafkaError._LOG_TRUNCATION,  # noqa: SLF001
        KafkaError.OFFSET_OUT_OF_RANGE,
    }
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in a partition, and what the log contained there when it was recorded."""

    position: int
    leader_epoch: int = UNKNOWN
    record: int = UNKNOWN
    record_epoch: int = UNKNOWN
    digest: str = ""


@dataclass(frozen=True, slots=True)
class SeenRecord:
    """A record as it is stored in marks."""

    offset: int
    leader_epoch: int
    digest: str
    timestamp_ms: int = field(default=0, compare=False)


@dataclass(slots=True)
class RecordChecks:
    """Reads a few records at given offsets from a broker."""

    bootstrap_servers: str
    client_options: Mapping[str, str]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _opened: dict[str, Consumer] = field(default_factory=dict)
    """Consumers by their `auto.offset.reset`; reused, because a new one needs connections."""
    _without: dict[Position, int] = field(default_factory=dict)
    """Positions before which no record was found: only markers and aborted records, or too many."""

    def last_before(self, positions: Mapping[Position, int]) -> dict[Position, SeenRecord]:
        """Return the last record before each position, for those that a broker answers in time."""
        found: dict[Position, SeenRecord] = {}
        answered: set[Position] = set()

        def take(at: Position, message: Message) -> bool:
            seen, error = _seen(message), message.error()
            if error is None or error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                answered.add(at)
            if seen is None or seen.offset >= positions[at]:
                return True
            found[at] = seen
            return seen.offset == positions[at] - 1

        left = {at: of for at, of in positions.items() if self._without.get(at) != of}
        back, deadline = _BACK, time.monotonic() + _TIMEOUT_S
        while left:
            begins = {at: TopicPartition(*at, max(0, of - back)) for at, of in left.items()}
            # Older records may have been deleted: then read those that are left.
            read = self._read(begins, take, "earliest", deadline)
            left = {at: left[at] for at in read - found.keys() if left[at] > back}
            back *= _BACK_FACTOR
        self._without |= {at: positions[at] for at in answered - found.keys()}
        return found

    def changed(self, marks: Mapping[Position, Mark]) -> dict[Position, str]:
        """Return the partitions that differ from their marks, each with a sentence on how."""
        found: dict[Position, str] = {}

        def take(at: Position, message: Message) -> bool:
            mark, error = marks[at], message.error()
            if error is not None and error.code() in _IS_GONE:
                found[at] = f"its log was truncated below offset {mark.position}"
            seen = _seen(message)
            kept = SeenRecord(mark.record, mark.record_epoch, mark.digest)
            if seen is not None and seen.offset == mark.record and seen != kept:
                found[at] = f"the record at offset {mark.record} differs from the one that was read"
            return True

        begins = {
            at: TopicPartition(*at, mark.position, leader_epoch=mark.leader_epoch)
            if mark.record == UNKNOWN
            else TopicPartition(*at, mark.record, leader_epoch=mark.record_epoch)
            for at, mark in marks.items()
        }
        self._read(begins, take, "error", time.monotonic() + _TIMEOUT_S)
        return found

    def _read(
        self,
        begins: Mapping[Position, TopicPartition],
        take: Callable[[Position, Message], bool],
        reset: str,
        deadline: float,
    ) -> set[Position]:
        """Pass the records after each offset to `take` until it returns true.

        Returns the partitions for which it did in time.
        """
        if not begins:
            return set()
        with self._lock, contextlib.suppress(KafkaException):  # Treated as an unreachable broker.
            consumer = self._consumer(reset)
            consumer.assign(list(begins.values()))
            # A partition that an earlier call paused stays paused, even when it is assigned again.
            consumer.resume([TopicPartition(*at) for at in begins])
            left = _poll(consumer, begins, take, deadline)
            consumer.unassign()
            return begins.keys() - left
        return set()

    def _consumer(self, reset: str) -> Consumer:
        if reset not in self._opened:
            options = {"bootstrap.servers": self.bootstrap_servers, "auto.offset.reset": reset}
            self._opened[reset] = Consumer({**self.client_options, **_OPTIONS, **options})
        return self._opened[reset]


def _poll(
    consumer: Consumer,
    wanted: Collection[Position],
    take: Callable[[Position, Message], bool],
    deadline: float,
) -> set[Position]:
    """Return the partitions that `take` wants more of."""
    left = set(wanted)
    while left and (left_s := deadline - time.monotonic()) > 0:
        for message in consumer.consume(500, timeout=min(left_s, 0.1)):
            at = (message.topic() or "", _or(message.partition()))
            if at in left and take(at, message):
                left.discard(at)
                consumer.pause([TopicPartition(*at)])
    return left


def _or(number: int | None) -> int:
    return UNKNOWN if number is None else number


def _seen(message: Message) -> SeenRecord | None:
    if message.error() is not None:
        return None
    content = hashlib.sha256()
    for part in (message.key(), message.value(), str(message.timestamp()[1]).encode()):
        content.update(b"-" if part is None else b"%d:%b" % (len(part), bytes(part)))
    place = _or(message.offset()), _or(message.leader_epoch())
    return SeenRecord(*place, content.hexdigest()[:16], message.timestamp()[1])
