"""Push query on one source, evaluated over each batch of records as it arrives.

Without groups and joins there is no state between records, so DuckDB evaluates the query over the
new records. The first row is available in milliseconds; a JVM would take seconds. All queries over
a source share its reader, see `fanout`.
"""

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.compatibility.extensions import extension_column
from duolog.ksql.errors import SqlError
from duolog.ksql.syntax.types import sql_name
from duolog.runtime.sql.duck.aggregate_calls import is_aggregate
from duolog.runtime.sql.fanout.errors import TokenRefused
from duolog.runtime.sql.fanout.evaluators import Shape
from duolog.runtime.sql.fanout.tokens import Tokens
from duolog.runtime.sql.needs import Engine, Planning
from duolog.runtime.sql.reply.row_source import RowSource
from duolog.runtime.sql.tables.source_rows import SourceRows

if TYPE_CHECKING:
    from duolog.runtime.sql.fanout.shared_readers import Start

_KEEPING: Final = ("joins", "group", "having", "partition_by", "stream_window", "distinct", "with_")


def streaming_rows(
    engine: Engine, select: exp.Select
) -> tuple[tuple[tuple[str, str], ...], RowSource] | None:
    """Return columns and rows of a stateless query; None for other queries.

    Raises:
        BrokerUnavailable, KafkaError: the topic cannot be read.
        TokenRefused: the session's continuation token is not one of this query.
    """
    given = engine.session.state.settings
    token = given[settings.CONTINUATION_TOKEN]
    shape = _shape(engine, select)
    if shape is None:
        if token:
            raise TokenRefused(
                "this query cannot be continued with a token",
                detail="Only a SELECT from one stream or table, without groups and joins, can.",
                hint="Select from the result of a persistent query.",
            )
        return None
    tokens = Tokens.of(shape, given["ksql.service.id"] or "")
    start: Start = "earliest" if given[settings.OFFSET_RESET] == "earliest" else "latest"
    if token:
        start = tokens.start(token)
    rows = engine.shared_readers.subscribe(shape, start, tokens)
    return tuple((one.name, sql_name(one.type)) for one in shape.columns), rows


def is_streamed(engine: Planning, select: exp.Select) -> bool:
    """Return whether a push query runs without Spark."""
    return _shape(engine, select) is not None


def _shape(engine: Planning, select: exp.Select) -> Shape | None:
    source = _source(engine, select)
    if source is None:
        return None
    plain = select.copy()
    for key in ("emit", "limit"):
        plain.set(key, None)
    try:
        SourceRows(source)
        return Shape.of(plain, engine.catalog, source)
    except SqlError:
        # The planner reports errors with ksqlDB's messages, and Spark has the functions that DuckDB
        # lacks.
        return None


def _source(engine: Planning, select: exp.Select) -> SourceInfo | None:
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
