"""Evaluate a query over batches of records as they arrive.

Threads: one at a time.
"""

from collections.abc import Sequence
from typing import Final

from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.queries import source_columns
from duolog.runtime.sql.tables.source_rows import SourceRows
from duolog.runtime.topic_reader import TopicReader
from duolog.security.clients.brokers import Brokers
from duolog.serde.row import Row

TABLE: Final = "passing"
"""DuckDB table with the records of a batch."""


class ScannedRecords(TopicReader):
    """Reads records of a source, and evaluates queries over batches of them in DuckDB."""

    def __init__(self, records: SourceRows, brokers: Brokers) -> None:
        from duolog.runtime.sql.duck.sandbox import connect  # noqa: PLC0415 - 100 ms
        from duolog.runtime.sql.duck.tables import DuckTable  # noqa: PLC0415 - 100 ms

        super().__init__(records.source.topic, brokers)
        self.records = records
        self._connection = connect()
        self._duck = DuckTable(self._connection, TABLE, source_columns(records.source))
        self._closed = False

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        """Return new rows, as `RowSource`."""
        raise NotImplementedError

    def over(self, rows: Sequence[Row], query: Query) -> list[tuple[object, ...]]:
        """Return the result of a query over rows."""
        from duolog.runtime.sql.duck.answers import answered  # noqa: PLC0415

        if not rows:
            return []
        self._duck.add(range(len(rows)), rows)
        try:
            return list(answered(self._connection, query))
        finally:
            self._duck.clear()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.__exit__(None, None, None)
            self._connection.close()
