"""Push query on one source, evaluated over each batch of records as it arrives.

Without groups and joins there is no state between records, so DuckDB evaluates the query over the
new records. The first row is available in milliseconds; a JVM would take seconds. Tables are read
in `scanned_table`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from confluent_kafka import Message
from sqlglot import exp

from duolog.core.errors import SerdeError
from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.compatibility.extensions import extension_column
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.types import sql_name
from duolog.runtime.sql.duck.aggregate_calls import is_aggregate
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.queries import Translator
from duolog.runtime.sql.needs import Engine
from duolog.runtime.sql.reply.row_source import RowSource
from duolog.runtime.sql.reply.scanned_records import TABLE, ScannedRecords
from duolog.runtime.sql.reply.scanned_table import ScannedTable, TableQueries
from duolog.runtime.sql.tables.source_rows import SourceRows
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.serde.row import Row

_KEEPING: Final = ("joins", "group", "having", "partition_by", "stream_window", "distinct", "with_")


def streaming_rows(
    engine: Engine, select: exp.Select
) -> tuple[tuple[tuple[str, str], ...], RowSource] | None:
    """Return columns and rows of a stateless query; None for other queries.

    Raises:
        BrokerUnavailable, KafkaError: the topic cannot be read.
    """
    source = _source(engine, select)
    if source is None:
        return None
    plain = select.copy()
    for key in ("emit", "limit"):
        plain.set(key, None)
    translator = Translator(engine.catalog, lambda _source: TABLE)
    try:
        query = translator.query(plain)
        records = SourceRows(source)
    except SqlError:
        # The planner reports errors with ksqlDB's messages, and Spark has the functions that DuckDB
        # lacks.
        return None
    latest = engine.session.state.settings[settings.OFFSET_RESET] == "latest"
    rows: ScannedRecords
    brokers = engine.brokers
    if source.is_table:
        rows = ScannedTable(records, TableQueries.of(plain, translator), brokers, present=latest)
    else:
        rows = _ScannedStream(records, query, brokers, latest=latest)
    rows.__enter__()
    columns = tuple((one.name, sql_name(one.type)) for one in query.columns)
    return columns, rows


def _source(engine: Engine, select: exp.Select) -> SourceInfo | None:
    emit = select.args["emit"]
    table = select.args["from_"].this
    if emit.this != "CHANGES" or any(select.args.get(key) for key in _KEEPING):
        return None
    if not isinstance(table, exp.Table) or table.args.get("changes") is not None:
        return None
    if any(map(is_aggregate, select.find_all(exp.Anonymous))):
        return None
    source = engine.catalog.sources.get(table.name)
    if source is None or not source.is_of_one_topic:
        return None
    if engine.session.state.settings.strict and extension_column(select, source) is not None:
        return None
    return source


class _ScannedStream(ScannedRecords):
    """Evaluates the query over the records of a stream."""

    def __init__(
        self, records: SourceRows, query: Query, brokers: Brokers, *, latest: bool
    ) -> None:
        super().__init__(records, brokers)
        self._query = query
        self._latest = latest
        self._came: list[Row] = []

    def first_offsets(self, ends: Mapping[int, int]) -> dict[int, int]:
        return dict(ends) if self._latest else super().first_offsets(ends)

    def take(self, message: Message) -> None:
        try:
            row = self.records.row(message, self.records.key(message))
        except SerdeError:
            return
        self._came += [] if row is None else [row]

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        self.read_on(timeout_s)
        rows, self._came = self._came, []
        return self.over(rows, self._query)
