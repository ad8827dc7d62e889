"""Follow a topic in a thread: apply its records as they arrive, and wait until offsets are applied.

    consumer ─▶ received ─▶ apply ─▶ reached: by partition, the offset after the last applied record
                   └─ at most up to the limits, while an answer holds the topic

Threads: `apply` is called with `lock` held, by the thread of the follower or of the caller of
`proceed` and `release`; any thread may call the others.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, TopicPartition

from duolog.core.errors import DuologError, KafkaError
from duolog.runtime.sql.tables.progress import Progress
from duolog.runtime.topic_reader import TopicReader, ensure_well
from duolog.security.clients.brokers import Brokers

logger: Final = logging.getLogger(__name__)

THREAD: Final = "duolog-table"
_POLL_S: Final = 0.1
"""Longest time until `close` ends the thread."""
_RECORDS_PER_POLL: Final = 5_000
_RECORDS_PER_LOCK: Final = 200
"""A look-up waits while at most this many records are applied, about 0.5 ms."""
_RECEIVED_MAX: Final = 20_000
_REPORT_S: Final = 5.0
_NOWHERE: Final[Mapping[int, int]] = MappingProxyType({})

Apply = Callable[[Sequence[Message]], None]


class TopicFollower(TopicReader):
    """Follows one topic, after `start`.

    Args:
        topic: name of the topic.
        brokers: the brokers of the cluster.
        lock: held while records are applied.
        apply: applies records.
    """

    # Many topics may be followed: the default would buffer up to 64 MB of each.
    options: ClassVar[Mapping[str, str | int | bool]] = {
        "queued.max.messages.kbytes": 8192,
        "queued.min.messages": 50_000,
        # By default, a client whose buffer was full fetches nothing for a second.
        "fetch.queue.backoff.ms": 20,
        "fetch.wait.max.ms": 100,
    }

    def __init__(self, topic: str, brokers: Brokers, lock: threading.Lock, apply: Apply) -> None:
        super().__init__(topic, brokers)
        self._apply = apply
        self._changed = threading.Condition(lock)
        self._received: deque[Message] = deque()
        self._limits: Mapping[int, int] | None = None
        self._failure: DuologError | None = None
        self._closing = False
        self._thread: threading.Thread | None = None
        self._goal: Mapping[int, int] = _NOWHERE
        """Ends of the partitions when the topic was opened."""
        self._opened_at_s = self._reported_at_s = time.monotonic()
        self._rebuilt_at_s: float | None = None
        """Time at which the goal was reached."""

    def start(self) -> None:
        """Open the topic, and start to follow it.

        Raises:
            BrokerUnavailable, KafkaError: as on entry of a `TopicReader`.
        """
        self.__enter__()
        self._thread = threading.Thread(target=self._follow, name=THREAD, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop soon, without waiting."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def close(self) -> None:
        """Stop. Does nothing if closed; waits for the thread."""
        self.end()
        if self._thread is not None:
            self._thread.join()

    @property
    def is_closed(self) -> bool:
        """True after `end` or `close`."""
        return self._closing

    @property
    def has_failed(self) -> bool:
        """True if the topic is not followed any more because of an error."""
        return self._failure is not None

    @property
    def partitions(self) -> list[int]:
        """Numbers of the partitions that are followed."""
        return list(self._reached)

    def add_partitions(self, numbers: Iterable[int]) -> None:
        """Follow further partitions, from their first record. Does nothing if followed or closed.

        Raises:
            KafkaError: the topic cannot be followed any more.
        """
        with self._changed:
            if self._failure is not None:
                raise self._failure
            added = [number for number in numbers if number not in self._reached]
            if not added or self._closing:
                return
            self._consumer.incremental_assign([TopicPartition(self.topic, at, 0) for at in added])
            self._reached.update(dict.fromkeys(added, 0))

    @property
    def records_at_start(self) -> int:
        """The number of records that the topic had at most when it was opened."""
        return sum(self._goal.values())

    def reached(self) -> dict[int, int]:
        """Return the offset of the first record of each partition that is not applied."""
        with self._changed:
            return dict(self._reached)

    def progress(self) -> Progress:
        """Return how much is applied of the records that the topic had when it was opened."""
        with self._changed:
            return self._progress()

    def wait_for(self, ends: Mapping[int, int], timeout_s: float) -> bool:
        """Wait until all records before these offsets are applied.

        Return false if the follower is closed, or after the timeout.

        Raises:
            KafkaError: the topic cannot be followed any more.
        """
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while self._remaining(ends) > 0:
                if self._failure is not None:
                    raise self._failure
                left_s = deadline - time.monotonic()
                if self._closing or left_s <= 0:
                    return False
                self._changed.wait(left_s)
        return True

    def hold(self) -> None:
        """Apply no further records until `proceed` or `release`."""
        with self._changed:
            self._limits = dict(self._reached)

    def proceed(self, limits: Mapping[int, int]) -> None:
        """Apply records before these offsets, and no others."""
        with self._changed:
            self._limits = dict(limits)
        self._apply_received()

    def release(self) -> None:
        """End a hold."""
        with self._changed:
            self._limits = None
        self._apply_received()

    def _follow(self) -> None:
        try:
            while not self._closing and self._failure is None:
                self._receive()
                self._apply_received()
        except Exception as error:  # noqa: BLE001 - raised in the threads that wait
            with self._changed:
                self._fail(error)
        finally:
            self._consumer.close()

    def _receive(self) -> None:
        if len(self._received) >= _RECEIVED_MAX:
            with self._changed:
                # Records of one partition must not keep out those that an answer waits for.
                is_full = self._limits is None or self._remaining(self._limits) == 0
                if is_full:
                    # Held for long: a release notifies.
                    self._changed.wait(_POLL_S)
            if is_full:
                return
        first = self._consumer.poll(_POLL_S)
        if first is not None:
            # `consume` would wait until it has all that it is asked for.
            more = self._consumer.consume(_RECORDS_PER_POLL, 0)
            with self._changed:
                self._received.append(first)
                self._received.extend(more)

    def _apply_received(self) -> None:
        """Apply the records that the limits allow."""
        more = True
        while more:
            with self._changed:
                try:
                    more = self._apply_some()
                except Exception as error:  # noqa: BLE001 - as in `_follow`
                    self._fail(error)
                    return
                self._note_progress()
                self._changed.notify_all()
            # Let look-ups that wait for the lock have it.
            time.sleep(0)

    def _apply_some(self) -> bool:
        """Apply some records; return true if there are more that may be applied."""
        if self._failure is not None or not self._received:
            return False
        if self._limits is not None:
            within, passed = self._within(self._limits)
            self._take(within, passed)
            return False
        next_one = self._received.popleft
        self._take([next_one() for _ in range(min(len(self._received), _RECORDS_PER_LOCK))])
        return True

    def _within(self, limits: Mapping[int, int]) -> tuple[list[Message], dict[int, int]]:
        """Remove the records before the limits from those received, and return them.

        Also return the limits that are reached with these records, by partition.
        """
        passed: dict[int, int] = {}
        within: list[Message] = []
        kept: deque[Message] = deque()
        for message in self._received:
            number, offset = message.partition() or 0, message.offset() or 0
            last = offset if _is_end(message) else offset + 1
            # A partition that was added during the hold has no limit yet.
            limit = limits.get(number, 0)
            if number not in passed and last <= limit:
                within.append(message)
                continue
            # No further record is before the limit.
            passed[number] = limit
            kept.append(message)
        self._received = kept
        return within, passed

    def _take(self, messages: Sequence[Message], passed: Mapping[int, int] = _NOWHERE) -> None:
        """Apply records, then note the offsets that are reached."""
        records: list[Message] = []
        reached: dict[int, int] = {}
        for message in messages:
            error = message.error()
            if error is None:
                records.append(message)
                # Records of a partition are in order: the last one counts.
                reached[message.partition() or 0] = (message.offset() or 0) + 1
            elif _is_end(message):
                # Offsets before the end may not be records: transaction markers, compaction.
                reached[message.partition() or 0] = message.offset() or 0
            elif not _is_new(message):
                ensure_well(error)
        self._apply(records)
        for offsets in (reached, passed):
            for number, offset in offsets.items():
                self._reached[number] = max(self._reached[number], offset)

    def _fail(self, error: Exception) -> None:
        """Remember the reason why the topic is not followed any more; the lock is held."""
        if isinstance(error, DuologError):
            self._failure = error
        elif isinstance(error, KafkaException):
            refusal = error.args[0]
            self._failure = KafkaError(
                f'cannot read topic "{self.topic}"',
                code=refusal.code(),
                detail=f"{refusal.str()}.",
            )
        else:
            logger.error("topic %s is not read any more", self.topic, exc_info=error)
            self._failure = KafkaError(
                f'cannot read topic "{self.topic}"',
                code=ClientError._FAIL,  # noqa: SLF001 - an error of this process
                detail=f"{type(error).__name__}: {error}.",
            )
        self._changed.notify_all()

    def first_offsets(self, ends: Mapping[int, int]) -> dict[int, int]:
        self._goal = dict(ends)
        self._opened_at_s = self._reported_at_s = time.monotonic()
        return super().first_offsets(ends)

    def _progress(self) -> Progress:
        ended_at_s = self._rebuilt_at_s or time.monotonic()
        total = sum(self._goal.values())
        left = self._remaining(self._goal)
        return Progress(self.topic, total - left, total, ended_at_s - self._opened_at_s)

    def _note_progress(self) -> None:
        """Report a rebuild that takes long, now and then; the lock is held."""
        if self._rebuilt_at_s is not None:
            return
        now = time.monotonic()
        is_rebuilt = self._remaining(self._goal) == 0
        if is_rebuilt:
            self._rebuilt_at_s = now
        if now - self._reported_at_s >= _REPORT_S:
            self._reported_at_s = now
            logger.info("%s topic %s", "read" if is_rebuilt else "reading", self._progress())


def _is_end(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() == ClientError._PARTITION_EOF  # noqa: SLF001


def _is_new(message: Message) -> bool:
    """Return true if the client does not know an added partition yet; it will."""
    error = message.error()
    return error is not None and error.code() == ClientError._UNKNOWN_PARTITION  # noqa: SLF001
