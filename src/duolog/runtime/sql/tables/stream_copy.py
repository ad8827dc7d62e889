"""Copy the retained records of a stream to DuckDB."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from confluent_kafka import Message

from duolog.core.counts import counted
from duolog.core.errors import SerdeError
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.tables.duck_copies import DuckCopies
from duolog.runtime.sql.tables.source_rows import SourceRows
from duolog.runtime.topic_reader import TopicReader
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.runtime.sql.duck.tables import DuckTable
    from duolog.serde.row import Row

logger: Final = logging.getLogger(__name__)

_READ_S: Final = 300.0
_ROWS_AT_ONCE: Final = 20_000


def copied_stream(source: SourceInfo, brokers: Brokers, duck: DuckCopies) -> "DuckTable":
    """Return a new DuckDB table with the records of a stream; the caller drops it.

    Raises:
        BrokerUnavailable, KafkaError: a topic cannot be read.
        SqlError: its format is not supported, or the rows do not fit into memory.
    """
    table = duck.new(source)
    try:
        for topic in source.topics:
            of_topic = replace(source, topic=topic, more_topics=())
            with _StreamRecords(of_topic, brokers, duck, table) as records:
                records.read_whole()
            if records.skipped:
                skipped = counted(records.skipped, "record")
                logger.warning("%s of topic %s could not be read", skipped, topic)
    except BaseException:
        duck.drop(table)
        raise
    return table


class _StreamRecords(TopicReader):
    """Adds the rows of a stream to a DuckDB table, in batches."""

    def __init__(
        self, source: SourceInfo, brokers: Brokers, duck: DuckCopies, table: "DuckTable"
    ) -> None:
        self._records = SourceRows(source)
        super().__init__(source.topic, brokers)
        self.skipped = 0
        self._duck = duck
        self._table = table
        self._rows: list[Row] = []

    def take(self, message: Message) -> None:
        try:
            row = self._records.row(message, self._records.key(message))
        except SerdeError:
            self.skipped += 1
            return
        if row is not None:
            self._rows.append(row)
            if len(self._rows) >= _ROWS_AT_ONCE:
                self.flush()

    def read_whole(self) -> None:
        """Add all records up to the current end of the topic."""
        if not self.catch_up(_READ_S):
            raise BrokerUnavailable(
                f'cannot read topic "{self.topic}" to its end',
                detail=f"Reading stopped after {_READ_S:.0f} s.",
            )
        self.flush()

    def flush(self) -> None:
        rows, self._rows = self._rows, []
        self._duck.add(self._table, rows)
