"""Run a pull query: a SELECT that returns the current rows and ends.

    rows of a table by key       `lookup`, from the rows in memory
    all others                   DuckDB, over current rows of tables and retained stream records

The result includes all records that were in the topics when the query started, unless properties
ask for other records: see `tables.freshness`.
"""

from dataclasses import replace

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.compatibility.extensions import changes_of, extension_column
from duolog.ksql.compatibility.pull_rules import ensure_by_key, ensure_clauses, ensure_in_values
from duolog.ksql.errors import SqlError
from duolog.ksql.planning.written_headers import ensure_no_headers
from duolog.ksql.settings import ANSWER_MEMORY, ANSWER_ROWS, ANSWER_TIMEOUT
from duolog.ksql.statements.queries import ensure_continuous
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.script import TEXT, text_of
from duolog.ksql.syntax.types import sql_name
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.duck.clauses import ResultColumn
from duolog.runtime.sql.duck.interrupting import AnswerLimits
from duolog.runtime.sql.duck.queries import Translator
from duolog.runtime.sql.needs import Answering, Planning
from duolog.runtime.sql.reply.lookup import Lookup, lookup_of
from duolog.runtime.sql.tables.freshness import wanted_of
from duolog.runtime.sql.tables.materialized_tables import placeholder
from duolog.serde.row import Row


def select(engine: Answering, statement: exp.Query, text: str) -> Rows:
    """Return the rows of a query without EMIT.

    Raises:
        SqlError: the query is invalid.
        BrokerUnavailable, KafkaError: a topic cannot be read.
    """
    statement.meta[TEXT] = text
    try:
        return _answer(engine, statement)
    except SqlError as error:
        raise error.in_statement(text) from error.__cause__


def _answer(engine: Answering, statement: exp.Query) -> Rows:
    found = bound_lookup(engine, statement)
    if found is not None and (rows := looked_up(engine, found)) is not None:
        return rows
    limits, wanted = _limits(engine), wanted_of(engine.session.state.settings)
    strict = engine.session.state.settings.strict
    translator = Translator(engine.catalog, _table_of, by_partition=strict)
    query = translator.query(statement)
    sources = {name: _with_topics(engine, one) for name, one in translator.sources.items()}
    answer = engine.present.rows(query, sources, limits, wanted)
    return Rows(result_columns(query.columns), answer.value, freshness=answer.freshness)


def ensure_bound(engine: Planning, statement: exp.Query) -> None:
    """Ensure that a query is valid, without reading a row.

    Raises:
        SqlError: it is not.
    """
    if bound_lookup(engine, statement) is None:
        strict = engine.session.state.settings.strict
        Translator(engine.catalog, _table_of, by_partition=strict).query(statement)


def bound_lookup(engine: Planning, statement: exp.Query) -> Lookup | None:
    """Return a query as a look-up; None if it needs DuckDB.

    Raises:
        SqlError: the query is invalid, or not allowed in strict mode.
    """
    ensure_allowed(engine, statement)
    return lookup_of(statement, engine.catalog)


def looked_up(engine: Answering, lookup: Lookup) -> Rows | None:
    """Return the rows of a look-up; None if DuckDB is faster, for many rows.

    Raises:
        SqlError: there are more rows than the limit.
        BrokerUnavailable, KafkaError: the topic cannot be read.
    """
    wanted = wanted_of(engine.session.state.settings)
    answer = engine.present.read(lookup.source, lookup.rows, wanted)
    if answer.value is None:
        return None
    rows = _limited(answer.value, _limits(engine))
    return Rows(result_columns(lookup.columns), iter(rows), freshness=answer.freshness)


def _limited(rows: list[Row], limits: AnswerLimits) -> list[Row]:
    """Return the rows of a look-up if they are within the limit of rows."""
    if 0 < limits.rows_max < len(rows):
        raise limits.too_many_rows()
    return rows


def _limits(engine: Answering) -> AnswerLimits:
    settings = engine.session.state.settings
    return AnswerLimits(
        settings.number(ANSWER_TIMEOUT),
        settings.number(ANSWER_MEMORY),
        settings.number(ANSWER_ROWS),
    )


def _with_topics(engine: Answering, source: SourceInfo) -> SourceInfo:
    """Replace the topic pattern of a source by the topics that match it."""
    if not source.is_pattern:
        return source
    found = source.topics_among(engine.catalog.partitions)
    if not found:
        raise SqlError(f"No topic matches {source.topic}, which {source.name} reads.")
    return replace(source, topic=found[0], more_topics=found[1:], is_pattern=False)


def result_columns(columns: tuple[ResultColumn, ...]) -> tuple[tuple[str, str], ...]:
    """Return the columns of a result: names with type names."""
    return tuple((column.name, sql_name(column.type)) for column in columns)


def ensure_allowed(engine: Planning, statement: exp.Query) -> None:
    """Refuse clauses for topics and, in strict mode, what ksqlDB refuses.

    Raises:
        SqlError: the query has such a clause.
    """
    ensure_no_headers(statement)
    if (changes := changes_of(statement)) is not None:
        raise SqlError(
            "A pull query cannot read CHANGES OF a table.",
            at=place_of(changes),
            hint="Add EMIT CHANGES, or read the table itself.",
        )
    settings = engine.session.state.settings
    if not settings.strict:
        return
    if not isinstance(statement, exp.Select):
        raise SqlError("Pull queries don't support UNION, EXCEPT and INTERSECT.")
    ensure_clauses(statement, settings, text_of(statement))
    ensure_continuous(statement)
    ensure_in_values(statement, engine.catalog.sources)
    source = engine.catalog.sources.get(statement.args["from_"].this.name)
    if source is not None:
        ensure_by_key(statement, source, settings)
        if (column := extension_column(statement, source)) is not None:
            message = f"SELECT column '{column.name}' cannot be resolved."
            raise SqlError(message, at=place_of(column))


def _table_of(source: SourceInfo) -> str:
    return placeholder(source.name)
