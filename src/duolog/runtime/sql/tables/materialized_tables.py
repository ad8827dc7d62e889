"""Materialize the current rows of tables from their topics; updated on demand.

    topic ─▶ rows by key ─▶ lookups by key
                  └───────▶ a DuckDB table, created by the first query that needs it, then updated

Threads: one at a time; another thread may read the rows of a result.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Message

from duolog.core.counts import counted
from duolog.core.errors import SerdeError
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.errors import BrokerUnavailable
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.interrupting import AnswerLimits
from duolog.runtime.sql.duck.queries import source_columns
from duolog.runtime.sql.tables.expiring import Expiring
from duolog.runtime.sql.tables.source_rows import SourceRows
from duolog.runtime.store_rows import hashable
from duolog.runtime.topic_reader import TopicReader
from duolog.security.clients.brokers import Brokers
from duolog.serde.row import Row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from duolog.runtime.sql.duck.tables import DuckTable

logger: Final = logging.getLogger(__name__)

_READ_S: Final = 300.0
_BOUNDS: Final = 2
_STREAMED_AT_ONCE: Final = 20_000

Entry = tuple[int, Row]
"""A row, and its number in DuckDB."""


class MaterializedTable(TopicReader):
    """Rows of one table by key; of a windowed table, by key and bounds."""

    def __init__(self, source: SourceInfo, brokers: Brokers) -> None:
        self._records = SourceRows(source)
        super().__init__(source.topic, brokers)
        self.source = source
        self.skipped = 0
        self._windowed = source.window is not None
        self._time_at = [column.name for column in source_columns(source)].index("ROWTIME")
        self._expiring: Expiring[Row] | None = (
            None if source.ttl_ms is None else Expiring(source.ttl_ms)
        )
        self._rows: dict[Row, Any] = {}
        """Entries by key; of a windowed table, entries by bounds, by key."""
        self._numbers = count()
        self._duck: DuckTable | None = None
        self._added: dict[int, Row] = {}
        self._removed: list[int] = []

    def take(self, message: Message) -> None:
        if message.key() is None:
            return
        try:
            key = self._records.key(message)
            row = self._records.row(message, key)
        except SerdeError:
            self.skipped += 1
            return
        self._keep(hashable(key), row)
        if self._expiring is not None:
            time_ms = message.timestamp()[1] if row is None else row[self._time_at]
            assert isinstance(time_ms, int)
            partition = message.partition() or 0
            self._expiring.see(partition, hashable(key), time_ms, deleted=row is None)

    def let_go(self) -> None:
        """Remove expired rows; call this after reading the whole topic."""
        if self._expiring is not None:
            for key in self._expiring.gone():
                self._keep(key, None)

    def find(self, key: Row) -> list[Row]:
        """Return the rows of a key: at most one, or one per window."""
        found = self._rows.get(key)
        if found is None:
            return []
        if not self._windowed:
            return [found[1]]
        return [row for _, (_, row) in sorted(found.items())]

    def entries(self) -> Iterator[Entry]:
        """Return all rows."""
        for entry in self._rows.values():
            if self._windowed:
                yield from entry.values()
            else:
                yield entry

    def in_duck(self, connection: "DuckDBPyConnection", name: str) -> None:
        """Create or update a DuckDB table with the rows."""
        # Imported here: duckdb takes 100 ms, and lookups do not need it.
        from duolog.runtime.sql.duck.tables import DuckTable  # noqa: PLC0415

        if self._duck is None:
            self._duck = DuckTable(connection, name, source_columns(self.source))
            self._added = dict(self.entries())
            self._removed = []
        self._duck.remove(self._removed)
        self._duck.add(list(self._added), list(self._added.values()))
        self._added, self._removed = {}, []

    def close(self) -> None:
        self.__exit__(None, None, None)
        if self._duck is not None:
            self._duck.drop()

    def _keep(self, key: Row, row: Row | None) -> None:
        if self._windowed:
            plain, bounds = key[:-_BOUNDS], key[-_BOUNDS:]
            rows = self._rows.setdefault(plain, {})
        else:
            bounds, rows = key, self._rows
        before: Entry | None = rows.pop(bounds, None)
        if row is not None:
            rows[bounds] = (next(self._numbers), row)
        elif self._windowed and not rows:
            del self._rows[plain]
        if self._duck is not None:
            self._changed(before, rows.get(bounds))

    def _changed(self, before: Entry | None, after: Entry | None) -> None:
        if before is not None and self._added.pop(before[0], None) is None:
            self._removed.append(before[0])
        if after is not None:
            self._added[after[0]] = after[1]


class _StreamRecords(TopicReader):
    """Adds the rows of a stream to a DuckDB table, in batches."""

    def __init__(self, source: SourceInfo, brokers: Brokers, duck: "DuckTable") -> None:
        self._records = SourceRows(source)
        super().__init__(source.topic, brokers)
        self.skipped = 0
        self._duck = duck
        self._rows: list[Row] = []

    def take(self, message: Message) -> None:
        try:
            row = self._records.row(message, self._records.key(message))
        except SerdeError:
            self.skipped += 1
            return
        if row is not None:
            self._rows.append(row)
            if len(self._rows) >= _STREAMED_AT_ONCE:
                self.flush()

    def flush(self) -> None:
        rows, self._rows = self._rows, []
        self._duck.add(range(len(rows)), rows)


class MaterializedTables:
    """Materialized tables, and the database for queries that are not lookups.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._tables: dict[str, MaterializedTable] = {}
        self._names: dict[str, str] = {}
        self._numbers = count()
        self._connection: DuckDBPyConnection | None = None

    def table(self, source: SourceInfo) -> MaterializedTable:
        """Return a table, updated to the current end of its topic.

        Raises:
            BrokerUnavailable, KafkaError: the topic cannot be read.
            SqlError: its format is not supported.
        """
        table = self._opened(source)
        try:
            _read_whole(table)
            if table.was_recreated:
                self._forget(source.name)
                table = self._opened(source)
                _read_whole(table)
            table.let_go()
        except BaseException:
            self._forget(source.name)
            raise
        _warn_of_skipped(table, source)
        return table

    def _opened(self, source: SourceInfo) -> MaterializedTable:
        """Return the materialized table of a source, without updating it.

        Drop one with another definition.
        """
        table = self._tables.get(source.name)
        if table is not None and table.source == source:
            return table
        if table is not None:
            self._forget(source.name)
        table = MaterializedTable(source, self._brokers)
        table.__enter__()
        self._tables[source.name] = table
        self._names[source.name] = f"t{next(self._numbers)}"
        return table

    def rows(
        self, query: Query, sources: Mapping[str, SourceInfo], limits: AnswerLimits
    ) -> Iterator[tuple[object, ...]]:
        """Run a query over sources, which it names by placeholders, within limits.

        Raises:
            BrokerUnavailable, KafkaError: a topic cannot be read.
            SqlError: a value cannot be computed.
        """
        from duolog.runtime.sql.duck.tables import answered, connect  # noqa: PLC0415

        if self._connection is None:
            self._connection = connect()
        names, streams = {}, []
        try:
            for name, source in sources.items():
                if source.is_table:
                    self.table(source).in_duck(self._connection, self._names[name])
                    names[name] = self._names[name]
                else:
                    streams.append(self._stream(source))
                    names[name] = streams[-1].name
        except BaseException:
            _drop(streams)
            raise
        sql = query.sql
        for name, table in names.items():
            sql = sql.replace(placeholder(name), table)
        answer = Query(sql, query.columns)
        return answered(self._connection, answer, lambda: _drop(streams), limits)

    def close(self) -> None:
        """Drop all rows. Does nothing if closed."""
        for name in list(self._tables):
            self._forget(name)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _stream(self, source: SourceInfo) -> "DuckTable":
        from duolog.runtime.sql.duck.tables import DuckTable  # noqa: PLC0415

        name = f"s{next(self._numbers)}"
        assert self._connection is not None
        duck = DuckTable(self._connection, name, source_columns(source))
        try:
            for topic in source.topics:
                of_topic = replace(source, topic=topic, more_topics=())
                with _StreamRecords(of_topic, self._brokers, duck) as records:
                    _read_whole(records)
                    records.flush()
                    _warn_of_skipped(records, of_topic)
        except BaseException:
            duck.drop()
            raise
        return duck

    def _forget(self, name: str) -> None:
        table = self._tables.pop(name, None)
        if table is not None:
            del self._names[name]
            table.close()


def placeholder(name: str) -> str:
    """Return the placeholder of a source's table in a query."""
    return f"\0{name}\0"


def _read_whole(reader: TopicReader) -> None:
    if not reader.catch_up(_READ_S):
        raise BrokerUnavailable(
            f'cannot read topic "{reader.topic}" to its end',
            detail=f"Reading stopped after {_READ_S:.0f} s.",
        )


def _warn_of_skipped(reader: "MaterializedTable | _StreamRecords", source: SourceInfo) -> None:
    if reader.skipped:
        logger.warning(
            "%s of topic %s could not be read", counted(reader.skipped, "record"), source.topic
        )
        reader.skipped = 0


def _drop(tables: "list[DuckTable]") -> None:
    for table in tables:
        table.drop()
