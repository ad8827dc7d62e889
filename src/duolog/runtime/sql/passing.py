"""Rows that pass: columns and conditions of one source, computed over each batch of records as it comes.

Without groups and joins nothing is kept between records, so DuckDB answers the query over what has just come: the
first row is there in milliseconds, where a JVM takes seconds. A table's rows pass as they change: one that goes is its
key with nulls. Where conditions of a table are asked, the rows that leave are to be told, and Spark is asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from confluent_kafka import Message
from sqlglot import exp

from duolog.core.errors import SerdeError
from duolog.ksql import settings
from duolog.ksql.beyond import beyond_column
from duolog.ksql.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.types import sql_name
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.selects import Query, is_aggregate
from duolog.runtime.sql.needs import Engine
from duolog.runtime.sql.pushed import Coming
from duolog.runtime.sql.source_rows import SourceRows
from duolog.runtime.topic_reader import TopicReader
from duolog.serde.row import Row

_KEEPING: Final = ("joins", "group", "having", "partition_by", "stream_window", "distinct")
_TABLE: Final = "passing"


def passing_rows(
    engine: Engine, select: exp.Select
) -> tuple[tuple[tuple[str, str], ...], Coming] | None:
    """Return columns and rows of a query that keeps nothing; None where another one must run it.

    Raises:
        BrokerUnavailable, KafkaError: the topic cannot be read.
    """
    source = _source(engine, select)
    if source is None:
        return None
    plain = select.copy()
    for key in ("emit", "limit"):
        plain.set(key, None)
    try:
        query = Translator(engine.catalog, lambda _source: _TABLE).query(plain)
        records = SourceRows(source)
    except SqlError:
        # What is wrong, the planner says in ksqlDB's words; what DuckDB lacks, Spark has.
        return None
    latest = engine.session.state.settings[settings.OFFSET_RESET] == "latest"
    rows = _PassingRows(records, query, {"bootstrap.servers": engine.bootstrap}, latest=latest)
    rows.__enter__()
    columns = tuple((one.name, sql_name(one.type)) for one in query.columns)
    return columns, rows


def _source(engine: Engine, select: exp.Select) -> SourceInfo | None:
    emit = select.args["emit"]
    table = select.args["from_"].this
    if emit.this != "CHANGES" or any(select.args.get(key) for key in _KEEPING):
        return None
    if not isinstance(table, exp.Table) or any(map(is_aggregate, select.find_all(exp.Anonymous))):
        return None
    source = engine.catalog.sources.get(table.name)
    if source is None or (source.is_table and select.args.get("where") is not None):
        return None
    if not source.is_of_one_topic:
        return None
    if engine.session.state.settings.strict and beyond_column(select, source) is not None:
        return None
    return source


class _PassingRows(TopicReader):
    """Reads records, and answers the query over them."""

    def __init__(
        self, records: SourceRows, query: Query, client: Mapping[str, str], *, latest: bool
    ) -> None:
        from duolog.runtime.sql.duck.tables import DuckTable, connect  # noqa: PLC0415 - 100 ms

        super().__init__(records.source.topic, client)
        self._records = records
        self._query = query
        self._latest = latest
        self._is_table = records.source.is_table
        self._connection: Any = connect()
        self._duck = DuckTable(self._connection, _TABLE, source_columns(records.source))
        self._came: list[Row] = []
        self._answered: list[tuple[object, ...]] = []
        self._closed = False

    def first_offsets(self, ends: Mapping[int, int]) -> dict[int, int]:
        return dict(ends) if self._latest else super().first_offsets(ends)

    def take(self, message: Message) -> None:
        try:
            if self._is_table:
                self._take_change(message)
            else:
                row = self._records.row(message, self._records.key(message))
                self._came += [] if row is None else [row]
        except SerdeError:
            return

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        self.read_on(timeout_s)
        self._answer()
        rows, self._answered = self._answered, []
        return rows

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.__exit__(None, None, None)
            self._connection.close()

    def _take_change(self, message: Message) -> None:
        if message.key() is None:
            return
        key = self._records.key(message)
        row = self._records.row(message, key)
        if row is not None:
            self._came.append(row)
            return
        self._answer()
        missing = len(source_columns(self._records.source)) - len(key)
        self._answered += [
            _kept(one, self._key_places()) for one in self._over([(*key, *(None,) * missing)])
        ]

    def _answer(self) -> None:
        if self._came:
            rows, self._came = self._came, []
            self._answered += self._over(rows)

    def _over(self, rows: Sequence[Row]) -> list[tuple[object, ...]]:
        from duolog.runtime.sql.duck.tables import answered  # noqa: PLC0415

        self._duck.add(range(len(rows)), rows)
        found = list(answered(self._connection, self._query))
        self._duck.clear()
        return found

    def _key_places(self) -> set[int]:
        """Return which columns of the result are columns of the key."""
        keys = {column.name for column in source_columns(self._records.source) if column.key}
        return {at for at, column in enumerate(self._query.columns) if column.name in keys}


def _kept(row: tuple[object, ...], places: set[int]) -> tuple[object, ...]:
    return tuple(value if at in places else None for at, value in enumerate(row))
