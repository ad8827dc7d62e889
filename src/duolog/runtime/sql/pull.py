"""A SELECT that answers what is there now and ends.

    rows of a table by key           `lookup`, from the rows that are kept
    all else, streams too            DuckDB, over present rows, and over what a stream's topic has from its first offset on

The rows are those of everything that stood in the topics when the query began.
"""

from sqlglot import exp

from duolog.ksql.catalog import SourceInfo
from duolog.ksql.errors import SqlError
from duolog.ksql.pull_rules import ensure_by_key, ensure_clauses
from duolog.ksql.queries import ensure_goes_on
from duolog.ksql.script import text_of
from duolog.ksql.types import sql_name
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.duck.queries import Translator
from duolog.runtime.sql.duck.selects import ResultColumn
from duolog.runtime.sql.lookup import lookup_of
from duolog.runtime.sql.needs import Answering
from duolog.runtime.sql.present import placeholder


def select(engine: Answering, statement: exp.Query, text: str) -> Rows:
    """Return the rows of a query without EMIT.

    Raises:
        SqlError: it cannot run.
        BrokerUnavailable, KafkaError: a topic cannot be read.
    """
    try:
        return _answer(engine, statement)
    except SqlError as error:
        raise error.in_statement(text) from error.__cause__


def _answer(engine: Answering, statement: exp.Query) -> Rows:
    _ensure_allowed(engine, statement)
    found = lookup_of(statement, engine.catalog)
    if found is not None:
        return Rows(told(found.columns), found.rows(engine.present.table(found.source)))
    translator = Translator(engine.catalog, _table_of)
    query = translator.query(statement)
    return Rows(told(query.columns), engine.present.rows(query, translator.sources))


def told(columns: tuple[ResultColumn, ...]) -> tuple[tuple[str, str], ...]:
    """Return columns as an answer has them: names with the texts of their types."""
    return tuple((column.name, sql_name(column.type)) for column in columns)


def _ensure_allowed(engine: Answering, statement: exp.Query) -> None:
    """Refuse what ksqlDB refuses, where that is asked for."""
    settings = engine.session.state.settings
    if not settings.strict:
        return
    if not isinstance(statement, exp.Select):
        raise SqlError("Pull queries don't support UNION, EXCEPT and INTERSECT.")
    ensure_clauses(statement, settings, text_of(statement))
    ensure_goes_on(statement)
    source = engine.catalog.sources.get(statement.args["from_"].this.name)
    if source is not None:
        ensure_by_key(statement, source, settings)


def _table_of(source: SourceInfo) -> str:
    return placeholder(source.name)
