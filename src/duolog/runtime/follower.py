"""Reads a topic and keeps what it says by now: the rows of a table, or the last records of a stream.

Read committed, and up to the end that the topic has at the call: what an application writes later
is read later.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import AdminClient, OffsetSpec

from duolog.core.errors import KafkaError, SerdeError
from duolog.runtime.reach import ensure_reachable
from duolog.runtime.topic_values import TopicValues
from duolog.serde.row import Row

_TIMEOUT_S: Final = 15.0
_RECORDS_PER_POLL: Final = 5_000
_OPTIONS: Final = {
    # Nobody joins the group and nothing is committed.
    "group.id": "duolog-follower",
    "enable.auto.commit": False,
    "allow.auto.create.topics": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
    "log_level": 0,
}


class Follower:
    """Keeps up with one topic; a context manager. Used from one thread at a time.

    Args:
        values: how keys and values of the topic are read.
        client: options of the Kafka client, `bootstrap.servers` among them.
        last: keep so many last records instead of the row of each key, and begin there.

    Raises:
        BrokerUnavailable: as it is entered, where nobody answers.
        KafkaError: there is no such topic, or the broker refuses.
    """

    def __init__(
        self, values: TopicValues, client: Mapping[str, str], *, last: int | None = None
    ) -> None:
        self._values = values
        self.skipped = 0
        """Records that could not be read, and were passed over as a topology does."""
        self._rows: dict[bytes, Row] = {}
        self._last: deque[Row] | None = None if last is None else deque(maxlen=last)
        self._consumer = Consumer({**client, **_OPTIONS})
        self._bootstrap_servers = client["bootstrap.servers"]
        self._admin = AdminClient({**client, "log_level": 0})
        self._reached: dict[int, int] = {}

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

    @property
    def rows(self) -> list[Row]:
        """Key and value columns of what is kept: a table's ordered by key, else by arrival."""
        if self._last is not None:
            return list(self._last)
        rows = list(self._rows.values())
        keys = len(self._values.key_columns)
        try:
            return sorted(rows, key=lambda row: [(v is None, v) for v in row[:keys]])
        except TypeError:  # Rows and maps in a key have no order.
            return rows

    def catch_up(self, timeout_s: float) -> bool:
        """Read up to where the topic ends now; tell whether that was reached in time.

        Raises:
            KafkaError: the broker does not answer, or refuses.
        """
        deadline = time.monotonic() + timeout_s
        with self._told():
            ends = self._end_offsets(list(self._reached))
            while any(self._reached[number] < end for number, end in ends.items()):
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return False
                for message in self._consumer.consume(_RECORDS_PER_POLL, min(left_s, 0.1)):
                    self._take(message)
        return True

    def _open(self) -> None:
        topic = self._values.topic
        # The client itself would try for as long as a request may take.
        ensure_reachable(self._bootstrap_servers)
        with self._told():
            found = self._consumer.list_topics(topic, _TIMEOUT_S).topics[topic]
            _ensure_well(found.error)
            ends = self._end_offsets(list(found.partitions))
            if self._last is not None and self._last.maxlen is not None:
                ahead = self._last.maxlen
                self._reached = {number: max(0, end - ahead) for number, end in ends.items()}
            else:
                self._reached = dict.fromkeys(ends, 0)
            # What is before the first record that is kept, is that one (`auto.offset.reset`).
            self._consumer.assign([TopicPartition(topic, *at) for at in self._reached.items()])

    def _end_offsets(self, numbers: Iterable[int]) -> dict[int, int]:
        topic = self._values.topic
        asked = {TopicPartition(topic, n): OffsetSpec.latest() for n in numbers}  # type: ignore[no-untyped-call]
        committed = IsolationLevel.READ_COMMITTED
        answers = self._admin.list_offsets(
            asked, isolation_level=committed, request_timeout=_TIMEOUT_S
        )
        return {at.partition: answer.result(_TIMEOUT_S).offset for at, answer in answers.items()}

    def _take(self, message: Message) -> None:
        number, error = message.partition() or 0, message.error()
        if error is not None and error.code() == ClientError._PARTITION_EOF:  # noqa: SLF001
            # Before it may stand what is no record: markers of transactions, holes of compaction.
            self._reached[number] = max(self._reached[number], message.offset() or 0)
            return
        _ensure_well(error)
        self._reached[number] = (message.offset() or 0) + 1
        try:
            self._keep(message.key(), message.value())
        except SerdeError:
            self.skipped += 1

    def _keep(self, key: bytes | None, value: bytes | None) -> None:
        values = self._values
        key_row = values.key_row(key) or (None,) * len(values.key_columns)
        row = values.value_row(value)
        if self._last is not None:
            self._last.append(key_row + (row or (None,) * len(values.value_columns)))
        elif key is not None:
            self._rows.pop(key, None)
            if row is not None:
                self._rows[key] = key_row + row

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (KafkaException, TimeoutError) as error:
            told = error.args[0] if isinstance(error, KafkaException) else None
            raise KafkaError(
                f'cannot read topic "{self._values.topic}"',
                code=told.code() if told else ClientError.REQUEST_TIMED_OUT,
                detail=f"{told.str() if told else error}.",
            ) from error


def _ensure_well(error: ClientError | None) -> None:
    if error is not None:
        raise KafkaException(error)
