"""Read one topic up to its current end, and process each record.

Reads committed records: what is written or committed later is read by a later call.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import ClassVar, Final, Self

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.core.errors import KafkaError
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.renewed_admin import RenewedAdmin
from duolog.runtime.topic_states import state_of, when_ready
from duolog.security.clients.brokers import Brokers

_TIMEOUT_S: Final = 15.0
_RECORDS_PER_POLL: Final = 5_000
_POLL_S: Final = 0.1
_OPTIONS: Final = {
    # The reader does not join the group or commit offsets.
    "group.id": "duolog-follower",
    "enable.auto.commit": False,
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
    "log_level": 0,
}


class TopicReader:
    """Follows one topic; a context manager. Used from one thread at a time.

    Subclasses define `take`, which processes a record, and `first_offsets`.

    Args:
        topic: name of the topic.
        brokers: the brokers of the cluster.

    Raises:
        BrokerUnavailable: on entry, if no broker answers.
        KafkaError: there is no such topic, or the broker refuses.
    """

    options: ClassVar[Mapping[str, str | int | bool]] = {}
    """Further settings of the consumer."""

    def __init__(self, topic: str, brokers: Brokers) -> None:
        self.topic = topic
        self._consumer = Consumer(brokers.client({**_OPTIONS, **self.options}))
        self._brokers = brokers
        self._admin = RenewedAdmin(brokers)
        self._reached: dict[int, int] = {}
        self.topic_id = ""
        """Id of the topic that is read; empty before it is opened, or if brokers have no ids."""

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self._consumer.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def take(self, message: Message) -> None:
        """Process a record. If this raises, the next call of `catch_up` takes the record again."""
        raise NotImplementedError

    def first_offsets(self, ends: Mapping[int, int]) -> dict[int, int]:
        """Return the first offset to read in each partition; by default 0.

        `ends` are the end offsets.
        """
        return dict.fromkeys(ends, 0)

    def catch_up(self, timeout_s: float) -> bool:
        """Read to the current end of the topic; return false if that was not reached in time.

        Raises:
            KafkaError: the broker does not answer, or refuses.
        """
        deadline = time.monotonic() + timeout_s
        with self._translated_errors():
            ends = self._end_offsets(list(self._reached))
            while (behind := self._remaining(ends)) > 0:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return False
                self._poll(behind, min(left_s, _POLL_S))
        return True

    def read_on(self, timeout_s: float) -> int:
        """Process records that arrive within a time, or those that are available.

        Return their number.

        Raises:
            KafkaError: the broker does not answer, or refuses.
        """
        with self._translated_errors():
            return self._poll(1, timeout_s) + self._poll(_RECORDS_PER_POLL, 0)

    def _remaining(self, ends: Mapping[int, int]) -> int:
        """Return the number of offsets to the ends, which is the maximum number of records."""
        return sum(max(0, end - self._reached[number]) for number, end in ends.items())

    def _poll(self, count: int, timeout_s: float) -> int:
        # The client waits until it has the requested number.
        messages = self._consumer.consume(min(count, _RECORDS_PER_POLL), timeout_s)
        try:
            for message in messages:
                self._reach(message)
        except BaseException:
            # The record that failed, and those after it, are read again by the next call.
            self._assign()
            raise
        return len(messages)

    def _open(self) -> None:
        # The client itself would retry for as long as a request may take.
        ensure_reachable(self._brokers)
        with self._translated_errors():
            # Before the first record is read: if the topic is created again now, the id is that
            # of the topic which is gone.
            state = self._admin.ask(lambda admin: state_of(admin, self.topic, _TIMEOUT_S))
            self.topic_id = state.id
            self._reached = self.first_offsets(self._end_offsets(sorted(state.partitions)))
            self._assign()

    def _assign(self) -> None:
        # Offsets before the first retained record start there (`auto.offset.reset`).
        self._consumer.assign([TopicPartition(self.topic, *at) for at in self._reached.items()])

    def _end_offsets(self, numbers: Iterable[int]) -> dict[int, int]:
        asked = {TopicPartition(self.topic, n): OffsetSpec.latest() for n in numbers}  # type: ignore[no-untyped-call]
        committed = IsolationLevel.READ_COMMITTED

        def listed(admin: AdminClient) -> dict[int, int]:
            answers = admin.list_offsets(
                asked, isolation_level=committed, request_timeout=_TIMEOUT_S
            )
            return {at.partition: one.result(_TIMEOUT_S).offset for at, one in answers.items()}

        return when_ready(self._admin, self.topic, _TIMEOUT_S, listed)

    def _reach(self, message: Message) -> None:
        number, error = message.partition() or 0, message.error()
        if error is not None and error.code() == ClientError._PARTITION_EOF:  # noqa: SLF001
            # Offsets before the end may not be records: transaction markers, gaps of compaction.
            self._reached[number] = max(self._reached[number], message.offset() or 0)
            return
        ensure_well(error)
        self.take(message)
        self._reached[number] = (message.offset() or 0) + 1

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except (KafkaException, TimeoutError) as error:
            refusal = error.args[0] if isinstance(error, KafkaException) else None
            raise KafkaError(
                f'cannot read topic "{self.topic}"',
                code=refusal.code() if refusal else ClientError.REQUEST_TIMED_OUT,
                detail=f"{refusal.str() if refusal else error}.",
            ) from error


def ensure_well(error: ClientError | None) -> None:
    if error is not None:
        raise KafkaException(error)
