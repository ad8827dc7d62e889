"""Read committed records of a topic, one partition after the other, up to their present ends.

Records of aborted transactions, markers and gaps of compaction are passed over. At most 64 MiB of
records that were not asked for yet are in memory, or one record if that is larger.

Threads: one.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Self, cast

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.core.errors import KafkaError
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.dead_letters.errors import ReadingStopped
from duolog.runtime.dead_letters.letter import Headers, Record
from duolog.runtime.dead_letters.selection import Selection
from duolog.runtime.reading_progress import ensure_moving, offset_after
from duolog.runtime.topics import admin_of, client_error
from duolog.security.clients.brokers import Brokers

REQUEST_S: Final = 15.0
_STALLED_S: Final = 60.0
_POLL_S: Final = 0.1
_AT_ONCE: Final = 200
_PARTITIONS_AT_ONCE: Final = 500
_OPTIONS: Final = {
    # The reader does not join the group or commit offsets.
    "group.id": "duolog-dead-letters",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
    "queued.max.messages.kbytes": 65_536,
    "log_level": 0,
}

Range = tuple[int, int]
"""The first offset, and the offset before which to stop."""
At = tuple[str, int]
"""A topic, and the number of one of its partitions."""
Problems = Callable[[KafkaError], None]
"""Is called with the error of a topic that cannot be read."""


class Records:
    """Reads topics of one cluster; a context manager.

    Args:
        stopped: returns True if reads are to end with `ReadingStopped`.

    Raises:
        BrokerUnavailable: no broker answers.
    """

    def __init__(self, brokers: Brokers, stopped: Callable[[], bool] = lambda: False) -> None:
        ensure_reachable(brokers)
        self.brokers = brokers
        self._stopped = stopped
        self.admin: AdminClient = admin_of(brokers)
        self._consumer = Consumer(brokers.client(_OPTIONS))
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed = True
        self._consumer.close()

    def topics(self) -> dict[str, int]:
        """Return all topics with their numbers of partitions.

        Raises:
            KafkaError: the broker does not answer.
        """
        try:
            found = self.admin.list_topics(timeout=REQUEST_S).topics
        except KafkaException as error:
            raise refused("list the topics", error) from error
        return {name: len(topic.partitions) for name, topic in found.items()}

    def ranges(self, topic: str, partitions: int) -> dict[int, Range]:
        """Return the retained, committed part of each partition.

        Raises:
            KafkaError: the broker does not answer, or refuses.
        """
        found = self.ranges_of({topic: partitions}, lambda _: None)
        return {number: found[topic, number] for _, number in sorted(found)}

    def ranges_of(self, topics: Mapping[str, int], problems: Problems) -> dict[At, Range]:
        """Return the retained, committed part of each partition of topics that can be read.

        `topics` has their numbers of partitions.

        Raises:
            KafkaError: none of them can be read.
        """
        failed: dict[str, KafkaError] = {}
        found: list[dict[At, int]] = []
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]
            asked = {
                TopicPartition(topic, number): spec
                for topic, partitions in topics.items()
                for number in range(partitions)
                if topic not in failed
            }
            if not asked:
                break
            futures = self.admin.list_offsets(
                asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=REQUEST_S
            )
            offsets = {}
            for at, one in futures.items():
                try:
                    offsets[at.topic, at.partition] = one.result(REQUEST_S).offset
                except (KafkaException, TimeoutError) as error:
                    failed[at.topic] = refused(f'read the offsets of topic "{at.topic}"', error)
            found.append(offsets)
        for _, problem in sorted(failed.items()):
            if len(failed) == len(topics):
                raise problem
            problems(problem)
        if not topics:
            return {}
        low, high = found
        return {at: (low[at], end) for at, end in high.items() if at[0] not in failed}

    def starts_at(self, topic: str, ranges: Mapping[int, Range], since_ms: int) -> dict[int, Range]:
        """Return the ranges from the first record with a time on; raises as `ranges`."""
        asked = [TopicPartition(topic, number, since_ms) for number in ranges]
        try:
            found = self._consumer.offsets_for_times(asked, timeout=REQUEST_S)
        except KafkaException as error:
            raise refused(f'read the offsets of topic "{topic}"', error) from error
        for at in found:
            if at.error is not None:
                raise refused(f'read the offsets of topic "{topic}"', KafkaException(at.error))
        starts = {at.partition: at.offset for at in found}
        return {
            number: (end if starts[number] < 0 else max(low, starts[number]), end)
            for number, (low, end) in ranges.items()
        }

    def records(self, topic: str, ranges: Mapping[int, Range]) -> Iterator[Record]:
        """Yield the records of ranges, one partition after the other, in order.

        Raises:
            KafkaError: the broker refuses, or no record arrives for a minute.
        """
        for number, (start, end) in ranges.items():
            if start < end:
                yield from self._partition(topic, number, start, end)

    def newest(self, ranges: Mapping[At, Range], problems: Problems) -> Iterator[Record]:
        """Yield the records of short ranges, of many partitions at once and in any order.

        Topics that cannot be read, or do not answer for some seconds, are left out.

        Raises:
            KafkaError: the client fails.
        """
        wanted = sorted(at for at, (start, end) in ranges.items() if start < end)
        for first in range(0, len(wanted), _PARTITIONS_AT_ONCE):
            some = wanted[first : first + _PARTITIONS_AT_ONCE]
            yield from self._of_many({at: ranges[at] for at in some}, problems)

    def _of_many(self, ranges: dict[At, Range], problems: Problems) -> Iterator[Record]:
        moved_at = time.monotonic()
        try:
            self._consumer.assign([TopicPartition(*at, start) for at, (start, _) in ranges.items()])
            while ranges:
                self._ensure_wanted()
                if time.monotonic() - moved_at > REQUEST_S:
                    for topic in sorted({at[0] for at in ranges}):
                        problems(refused(f'read topic "{topic}"', TimeoutError()))
                    return
                for message in self._consumer.consume(_AT_ONCE, _POLL_S):
                    at = (message.topic() or "", message.partition() or 0)
                    if at not in ranges:
                        continue
                    moved_at = time.monotonic()
                    start, end = ranges[at]
                    try:
                        after = offset_after(message)
                    except KafkaException as error:
                        problems(refused(f'read topic "{at[0]}"', error))
                        ranges = {one: of for one, of in ranges.items() if one[0] != at[0]}
                        continue
                    reached = start if after is None else after
                    if message.error() is None and reached <= end:
                        yield as_record(message)
                    if reached >= end:
                        del ranges[at]
        except KafkaException as error:
            raise refused("read the newest records", error) from error
        finally:
            self._consumer.unassign()

    def selected(self, topic: str, partitions: int, wanted: Selection) -> dict[int, Range]:
        """Return the parts of partitions that a selection is about; raises as `ranges`."""
        ranges = self.ranges(topic, partitions)
        if wanted.since_ms:
            ranges = self.starts_at(topic, ranges, wanted.since_ms)
        last = wanted.last
        return {
            number: (max(low, wanted.first), end if last is None else min(end, last + 1))
            for number, (low, end) in ranges.items()
            if not wanted.partitions or number in wanted.partitions
        }

    def _partition(self, topic: str, number: int, start: int, end: int) -> Iterator[Record]:
        position, moved_at, before = start, time.monotonic(), start
        try:
            self._consumer.assign([TopicPartition(topic, number, start)])
            while position < end:
                self._ensure_wanted()
                # The client waits until it has the requested number.
                found = self._consumer.consume(1, _POLL_S)
                if found:
                    found += self._consumer.consume(min(_AT_ONCE, end - position), 0)
                for message in found:
                    error = message.error()
                    if error is None and position <= (message.offset() or 0) < end:
                        yield as_record(message)
                    after = offset_after(message)
                    position = position if after is None else max(position, after)
                if position > before:
                    # Errors that pass do not count: a broker that has gone repeats them for ever.
                    moved_at, before = time.monotonic(), position
                ensure_moving(time.monotonic() - moved_at, _STALLED_S)
        except KafkaException as error:
            raise refused(f'read partition {number} of topic "{topic}"', error) from error
        finally:
            # An abandoned iterator may end later than its consumer.
            if not self._is_closed:
                self._consumer.unassign()

    def _ensure_wanted(self) -> None:
        if self._stopped():
            raise ReadingStopped


def as_record(message: Message) -> Record:
    """Return a consumed message as a record."""
    return Record(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        # Consumed messages have their headers as pairs; only produced ones may use a dictionary.
        tuple(cast("Headers", message.headers() or ())),
    )


def refused(doing: str, error: KafkaException | TimeoutError) -> KafkaError:
    """Convert an error of a client; `doing` names what failed."""
    told = client_error(error)
    return KafkaError(
        f"could not {doing}",
        code=told.code(),
        retriable=bool(told.retriable()),
        detail=f"{told.name()}: {told.str()}",
    )
