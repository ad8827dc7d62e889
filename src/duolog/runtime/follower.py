"""Read a topic and keep the current rows of a table, or the last records of a stream."""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeVar

from confluent_kafka import Message

from duolog.core.errors import SerdeError
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.tables.source_rows import Received
from duolog.runtime.sql.tables.stored_rows import RowsForm, Undecodable
from duolog.runtime.sql.tables.table_rows import TableRows
from duolog.runtime.topic_reader import TopicReader
from duolog.runtime.topic_states import TopicState, state_of
from duolog.runtime.topic_values import TopicValues
from duolog.security.clients.brokers import Brokers
from duolog.serde.row import Row

_TIMEOUT_S: Final = 15.0
_DECODED_MAX: Final = 5_000
T = TypeVar("T")


class Follower(TopicReader):
    """Follows one topic; a context manager. Used from one thread at a time.

    If the topic is created again, it is read from its start; added partitions are read, too.

    Args:
        values: decodes keys and values of the topic.
        brokers: the brokers of the cluster.

    Raises:
        BrokerUnavailable: on entry, if no broker answers.
        KafkaError: there is no such topic, or the broker refuses.
    """

    def __init__(self, values: TopicValues, brokers: Brokers) -> None:
        super().__init__(values.topic, brokers)
        self._values = values
        self.skipped = 0
        """Number of records that could not be decoded and were skipped, as a topology does."""

    @abstractmethod
    def shown(self, most: int) -> tuple[list[Row], int]:
        """Return up to `most` rows, key and value columns, and the number of all rows."""

    @abstractmethod
    def forget(self) -> None:
        """Drop all rows, before the topic is read again."""

    def catch_up(self, timeout_s: float) -> bool:
        with self._translated_errors():
            state = self._admin.ask(lambda admin: state_of(admin, self.topic, _TIMEOUT_S))
            if not state.is_same(self.topic_id):
                self._read_again(state)
            elif added := state.partitions - self._reached.keys():
                self._reached.update(dict.fromkeys(added, 0))
                self._assign()
        return super().catch_up(timeout_s)

    def _read_again(self, state: TopicState) -> None:
        """Read the topic from its start."""
        self.forget()
        self.skipped = 0
        self.topic_id = state.id
        self._reached = self.first_offsets(self._end_offsets(sorted(state.partitions)))
        self._assign()


class LastRecords(Follower):
    """Keeps the last records of a stream, in order of arrival.

    Args:
        values: as for `Follower`.
        brokers: as for `Follower`.
        last: number that is kept; reading starts by it before the ends of the partitions.
    """

    def __init__(self, values: TopicValues, brokers: Brokers, last: int) -> None:
        super().__init__(values, brokers)
        self._most = last
        self._last: deque[Row] = deque(maxlen=last)

    def take(self, message: Message) -> None:
        values = self._values
        try:
            key = values.key_row(message.key()) or (None,) * len(values.key_columns)
            row = values.value_row(message.value())
        except SerdeError:
            self.skipped += 1
            return
        self._last.append(key + (row or (None,) * len(values.value_columns)))

    def first_offsets(self, ends: Mapping[int, int]) -> dict[int, int]:
        return {number: max(0, end - self._most) for number, end in ends.items()}

    def shown(self, most: int) -> tuple[list[Row], int]:
        return list(self._last)[:most], len(self._last)

    def forget(self) -> None:
        self._last.clear()


class CurrentRows(Follower):
    """Keeps the row of each key, packed as in the tables of SQL (ADR 0131).

    Values are decoded when rows are read. If one cannot be decoded, the topic is read once more,
    with each value decoded when it arrives: such a value must not hide the row before it.
    """

    def __init__(self, values: TopicValues, brokers: Brokers) -> None:
        super().__init__(values, brokers)
        self._rows = TableRows(_form(values))
        self._deadline = 0.0

    def take(self, message: Message) -> None:
        with self._rows.lock:
            self._rows.take(message)

    def catch_up(self, timeout_s: float) -> bool:
        self._deadline = time.monotonic() + timeout_s
        complete = super().catch_up(timeout_s)
        self.skipped += self._rows.report_skipped()
        return complete

    def read(self, use: Callable[[Iterator[Row]], T]) -> T:
        """Return what a function makes of the rows: key and value columns, ordered by key.

        It is called again with all rows if a value cannot be decoded.

        Raises:
            KafkaError: the broker does not answer, or refuses.
            BrokerUnavailable: the topic cannot be read once more in the time of `catch_up`.
        """
        return self._read(lambda rows: use(rows.ordered()), whole=True)

    def shown(self, most: int) -> tuple[list[Row], int]:
        """As `Follower.shown`; of more than 5,000 rows, only those that are shown are decoded."""

        def some(rows: TableRows) -> tuple[list[Row], int]:
            if len(rows) > _DECODED_MAX:
                return list(islice(rows.ordered(), most)), len(rows)
            found = list(rows.ordered())
            return found[:most], len(found)

        return self._read(some, whole=False)

    def forget(self) -> None:
        self._rows = TableRows(_form(self._values))

    def _read(self, read: Callable[[TableRows], T], *, whole: bool) -> T:
        try:
            return read(self._rows)
        except Undecodable:
            self._rows = TableRows(_form(self._values), checked=True)
            self.skipped = 0
            self._reached = self.first_offsets(self._reached)
            self._assign()
            complete = self.catch_up(max(1.0, self._deadline - time.monotonic()))
            if whole and not complete:
                raise BrokerUnavailable(
                    f'cannot read topic "{self.topic}" to its end',
                    detail="It was read again, because a value cannot be decoded.",
                ) from None
            return read(self._rows)


class _TopicRecords:
    """Decodes records of a topic of a topology."""

    def __init__(self, values: TopicValues) -> None:
        self._values = values
        self._no_key: Row = (None,) * len(values.key_columns)

    def key(self, message: Received) -> Row:
        return self._values.key_row(_bytes(message.key())) or self._no_key

    def row(self, message: Received, key: Row) -> Row | None:
        row = self._values.value_row(_bytes(message.value()))
        return None if row is None else key + row


def _form(values: TopicValues) -> RowsForm:
    types = tuple(column.type for column in values.key_columns)
    return RowsForm(_TopicRecords(values), types, values.key_format)


def _bytes(data: object) -> bytes | None:
    assert data is None or isinstance(data, bytes), data
    return data
