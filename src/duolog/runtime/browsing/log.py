"""The partitions of one topic, and bounded reads of parts of them.

Markers of transactions never arrive; offsets without a record (markers, gaps of compaction,
aborted records) are passed over. With `committed`, a partition ends before the first record of an
open transaction, and aborted records are left out; without it, all records are read.

Threads: one.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.core.errors import KafkaError
from duolog.core.units import MIB
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.browsing.budget import Budget
from duolog.runtime.browsing.record import BrowsedRecord, browsed
from duolog.runtime.reading_progress import ensure_moving, offset_after
from duolog.runtime.topics import admin_of, client_error
from duolog.security.clients.brokers import Brokers

logger: Final = logging.getLogger(__name__)

REQUEST_S: Final = 15.0
_STALLED_S: Final = 30.0
_POLL_S: Final = 0.1
_AT_ONCE: Final = 500
_BYTES_AT_ONCE: Final = 16 * MIB
_UNKNOWN_TOPIC: Final = 3
OPTIONS: Final = {
    # The reader does not join the group or commit offsets.
    "group.id": "duolog-browse",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 50,
    # For each client: a server has many of them, and records may be large.
    "queued.max.messages.kbytes": 8_192,
    "fetch.max.bytes": 8_388_608,
    # What was read ahead in the last range does not delay the next one for a second.
    "fetch.queue.backoff.ms": 20,
    "log_level": 0,
}

Range = tuple[int, int]
"""The first offset, and the offset before which to stop."""


@dataclass(slots=True)
class Chunk:
    """A part of a partition that was read.

    Attributes:
        records: in the order of their offsets.
        reached: the offset before which everything was read.
    """

    reached: int
    records: list[BrowsedRecord] = field(default_factory=list)


class Partitions(NamedTuple):
    """The partitions of a topic.

    Attributes:
        spans: their retained parts, by number.
        leaderless: numbers of partitions that cannot be read now.
    """

    spans: Mapping[int, Range]
    leaderless: tuple[int, ...] = ()


class TopicLog:
    """Reads one topic; a context manager.

    Args:
        brokers: the cluster.
        topic: the topic.
        committed: leave out records of aborted and open transactions.
        whole: keep all bytes of large keys and values.

    Raises:
        BrokerUnavailable: no broker answers.
    """

    def __init__(
        self, brokers: Brokers, topic: str, *, committed: bool = True, whole: bool = False
    ) -> None:
        ensure_reachable(brokers)
        self.topic = topic
        self._committed = committed
        self._whole = whole
        self._admin: AdminClient | None = admin_of(brokers)
        level = "read_committed" if committed else "read_uncommitted"
        self._consumer = Consumer(brokers.client({**OPTIONS, "isolation.level": level}))
        self._followed: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def partitions(self) -> Partitions:
        """Return the partitions with their retained parts.

        Raises:
            KafkaError: there is no such topic, or the broker refuses.
        """
        found = self._numbers()
        led = [number for number, leader in sorted(found.items()) if leader >= 0]
        low = self._offsets(led, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        high = self._offsets(led, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        spans = {number: (low[number], max(low[number], high[number])) for number in led}
        return Partitions(spans, tuple(sorted(set(found) - set(led))))

    def at_time(self, spans: Mapping[int, Range], time_ms: int) -> dict[int, int]:
        """Return the offset of the first record of a time or later; the end if there is none.

        Raises:
            KafkaError: the broker refuses.
        """
        found = self._offsets(list(spans), OffsetSpec.for_timestamp(time_ms))
        return {
            number: end if found[number] < 0 else min(max(low, found[number]), end)
            for number, (low, end) in spans.items()
        }

    def read(
        self, ranges: Mapping[int, Range], budget: Budget, *, completely: bool = False
    ) -> dict[int, Chunk]:
        """Return the records of ranges, or their beginnings when the budget is spent.

        Of large records, a part of each range is read. With `completely`, at least one of the
        ranges is read to its end.

        Raises:
            KafkaError: the broker refuses, or nothing arrives for half a minute.
        """
        chunks = {number: Chunk(start) for number, (start, _) in ranges.items()}
        waiting = {number: end for number, (start, end) in ranges.items() if start < end}
        if not waiting:
            return chunks
        moved_at, before = time.monotonic(), budget.bytes
        try:
            self._consumer.assign(
                [TopicPartition(self.topic, number, ranges[number][0]) for number in waiting]
            )
            while waiting:
                if budget.spent and not (completely and len(waiting) == len(ranges)):
                    break
                for message in self._arrived():
                    moved_at = time.monotonic()
                    self._take(message, chunks, waiting, budget)
                if not completely and budget.bytes - before >= _BYTES_AT_ONCE:
                    # Those with a record can be merged; what is left is read later.
                    waiting = {one: end for one, end in waiting.items() if not chunks[one].records}
                ensure_moving(time.monotonic() - moved_at, _STALLED_S)
            self._consumer.unassign()
        except KafkaException as error:
            raise self._refused("read", error) from error
        return chunks

    def follow(self, positions: Mapping[int, int]) -> None:
        """Read from positions on, without an end: see `arrivals`.

        Partitions cannot be looked up any more: a client with threads of its own would be kept.
        """
        self._admin = None
        self._followed = set(positions)
        self._consumer.assign(
            [TopicPartition(self.topic, number, at) for number, at in positions.items()]
        )

    def follow_added(self) -> None:
        """Also read partitions that were added after `follow`, from their beginnings.

        Does nothing if no broker answers: the next call asks again.
        """
        try:
            # All topics, as in `_numbers`.
            topics = self._consumer.list_topics(timeout=REQUEST_S).topics
            found = topics[self.topic].partitions if self.topic in topics else {}
            if added := sorted(set(found) - self._followed):
                self._consumer.incremental_assign(
                    [TopicPartition(self.topic, number, 0) for number in added]
                )
                self._followed.update(added)
        except KafkaException:
            logger.debug("partitions are not known", extra={"topic": self.topic}, exc_info=True)

    def arrivals(self, timeout_s: float) -> list[BrowsedRecord]:
        """Return records that have arrived; wait for the first one.

        Raises:
            KafkaError: the broker refuses.
        """
        try:
            found = self._consumer.consume(1, timeout_s)
            if found:
                found += self._consumer.consume(_AT_ONCE, 0)
            return [
                browsed(one, whole=self._whole)
                for one in found
                if offset_after(one) is not None and one.error() is None
            ]
        except KafkaException as error:
            raise self._refused("read", error) from error

    def _take(
        self,
        message: Message,
        chunks: Mapping[int, Chunk],
        waiting: dict[int, int],
        budget: Budget,
    ) -> None:
        number = message.partition()
        reached = offset_after(message)
        if number is None or reached is None or number not in waiting:
            return
        chunk, end = chunks[number], waiting[number]
        if message.error() is None and chunk.reached < reached <= end:
            record = browsed(message, whole=self._whole)
            budget.note(record.size)
            chunk.records.append(record)
        chunk.reached = min(max(chunk.reached, reached), end)
        if reached >= end:
            del waiting[number]

    def _arrived(self) -> list[Message]:
        # The client waits until it has the requested number.
        found = self._consumer.consume(1, _POLL_S)
        return found + self._consumer.consume(_AT_ONCE, 0) if found else found

    @property
    def _lookups(self) -> AdminClient:
        assert self._admin is not None, "nothing is looked up after `follow`"
        return self._admin

    def _numbers(self) -> dict[int, int]:
        """Return the leader of each partition."""
        try:
            # All topics: a request that names a topic may create it.
            topics = self._lookups.list_topics(timeout=REQUEST_S).topics
        except KafkaException as error:
            raise self._refused("describe", error) from error
        if self.topic not in topics:
            raise no_topic(self.topic)
        return {number: one.leader for number, one in topics[self.topic].partitions.items()}

    def _offsets(self, numbers: list[int], spec: OffsetSpec) -> dict[int, int]:
        if not numbers:
            return {}
        level = (
            IsolationLevel.READ_COMMITTED if self._committed else IsolationLevel.READ_UNCOMMITTED
        )
        asked = {TopicPartition(self.topic, number): spec for number in numbers}
        try:
            found = self._lookups.list_offsets(
                asked, isolation_level=level, request_timeout=REQUEST_S
            )
            return {at.partition: one.result(REQUEST_S).offset for at, one in found.items()}
        except (KafkaException, TimeoutError) as error:
            raise self._refused("read the offsets of", error) from error

    def _refused(self, doing: str, error: KafkaException | TimeoutError) -> KafkaError:
        found = client_error(error)
        return KafkaError(
            f'could not {doing} topic "{self.topic}"',
            code=found.code(),
            retriable=bool(found.retriable()),
            detail=f"{found.name()}: {found.str()}",
        )


def no_topic(topic: str) -> KafkaError:
    """Return the error for a topic that does not exist."""
    return KafkaError(f'topic "{topic}" does not exist', code=_UNKNOWN_TOPIC)


def no_partition(topic: str, number: int, partitions: int) -> KafkaError:
    """Return the error for a partition that does not exist."""
    return KafkaError(
        f'partition {number} of topic "{topic}" does not exist',
        code=_UNKNOWN_TOPIC,
        hint=f"Use a partition from 0 to {partitions - 1}.",
    )
