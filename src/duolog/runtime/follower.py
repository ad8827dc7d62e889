"""Read a topic and keep the current rows of a table, or the last records of a stream."""

from collections import deque
from collections.abc import Mapping

from confluent_kafka import Message

from duolog.core.errors import SerdeError
from duolog.runtime.topic_reader import TopicReader
from duolog.runtime.topic_values import TopicValues
from duolog.security.clients.brokers import Brokers
from duolog.serde.row import Row


class Follower(TopicReader):
    """Follows one topic; a context manager. Used from one thread at a time.

    Args:
        values: decodes keys and values of the topic.
        brokers: the brokers of the cluster.
        last: keep this many last records instead of the row of each key, and start there.

    Raises:
        BrokerUnavailable: on entry, if no broker answers.
        KafkaError: there is no such topic, or the broker refuses.
    """

    def __init__(self, values: TopicValues, brokers: Brokers, *, last: int | None = None) -> None:
        super().__init__(values.topic, brokers)
        self._values = values
        self.skipped = 0
        """Number of records that could not be decoded and were skipped, as a topology does."""
        self._rows: dict[bytes, Row] = {}
        self._last: deque[Row] | None = None if last is None else deque(maxlen=last)

    @property
    def rows(self) -> list[Row]:
        """Key and value columns; rows of a table ordered by key, records in order of arrival."""
        if self._last is not None:
            return list(self._last)
        rows = list(self._rows.values())
        keys = len(self._values.key_columns)
        try:
            return sorted(rows, key=lambda row: [(v is None, v) for v in row[:keys]])
        except TypeError:  # STRUCTs and MAPs in a key have no order.
            return rows

    def take(self, message: Message) -> None:
        try:
            self._keep(message.key(), message.value())
        except SerdeError:
            self.skipped += 1

    def first_offsets(self, ends: Mapping[int, int]) -> dict[int, int]:
        if self._last is None or self._last.maxlen is None:
            return super().first_offsets(ends)
        ahead = self._last.maxlen
        return {number: max(0, end - ahead) for number, end in ends.items()}

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
