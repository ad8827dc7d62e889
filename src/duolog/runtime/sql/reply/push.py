"""A SELECT that goes on: EMIT CHANGES, EMIT FINAL.

    columns and conditions of one stream or table                     `passing`: DuckDB over what comes, no JVM
    all else                                                          `transient`: a query of its own on Spark, whose
                                                                      rows come by a topic that goes with it

It may say what a persistent query may: queries in FROM and behind WITH, UNION ALL, aggregates without GROUP BY. Rows come as fast as they are taken: what is not taken yet waits in the topic. They end by LIMIT, by `close` and by Ctrl-C.
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
        SqlError: it cannot run.
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
