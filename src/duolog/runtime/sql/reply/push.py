"""Run a push query: a SELECT with EMIT CHANGES or EMIT FINAL, which continues until stopped.

    columns and conditions of one source     `streaming_scan`: DuckDB over new records, no JVM
    all others                               `transient`: a Spark query that writes to a
                                             temporary topic

It may have the clauses of a persistent query: subqueries in FROM and WITH, UNION ALL, aggregates
without GROUP BY. Rows that the client has not read yet wait in the topic. The query ends by LIMIT,
`close` or Ctrl-C.
"""

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.ksql.statements.push_ids import push_query_id
from duolog.ksql.statements.queries import pushed_select
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.needs import Engine
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.runtime.sql.reply.streaming_scan import streaming_rows
from duolog.runtime.sql.reply.transient import transient_rows


def select(engine: Engine, statement: exp.Query, text: str) -> Rows:
    """Return the rows of a SELECT with EMIT.

    Raises:
        SqlError: the query is invalid.
        BrokerUnavailable, KafkaError: a topic cannot be read.
    """
    try:
        select = pushed_select(engine.session.state, statement, text)
        columns, source = streaming_rows(engine, select) or transient_rows(engine, select)
    except SqlError as error:
        raise error.in_statement(text) from error.__cause__
    limit = statement.args.get("limit")
    most = None if limit is None else int(limit.expression.name)
    query_id = push_query_id(select, engine.session.state)
    return Rows(columns, PushedRows(source, most), unbounded=True, query_id=query_id)
