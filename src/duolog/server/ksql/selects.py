"""Start the query of a request to /query or /query-stream: a SELECT or PRINT.

Source: ksqlDB's documentation of these endpoints.
"""

from sqlglot import exp

from duolog.core.errors import DuologError
from duolog.ksql.errors import too_deep
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.amounts import Amount
from duolog.runtime.sql.answers import Rows
from duolog.server.failures import Failure, bad_request, failure_of
from duolog.server.ksql.requests import StatementRequest
from duolog.server.ksql.statements import StatementSession
from duolog.server.queries.started import StartedQuery, started


def start_query(request: StatementRequest, session: StatementSession) -> StartedQuery | Rows:
    """Return a running query, or the records of a topic for PRINT.

    Raises:
        Failure: the request is not one query, or the query is invalid.
    """
    try:
        node, text = _only_statement(request, session)
        match node:
            case exp.Query():
                rows = session.select(node, text)
                return started(node, rows, session.session.catalog.sources)
            case nodes.PrintTopic():
                return session.printed(node)
            case _:
                kind = type(node).__name__
                raise bad_request(f"Statement type `{kind}' not supported for this resource")
    except DuologError as error:
        raise failure_of(error, request.sql.strip()) from error
    except RecursionError as error:
        text = request.sql.strip()
        raise failure_of(too_deep(text), text) from error


def _only_statement(
    request: StatementRequest, session: StatementSession
) -> tuple[exp.Expression, str]:
    found = list(session.session.read(request.sql, Amount()))
    if len(found) != 1:
        raise Failure(
            f"Expected exactly one KSQL statement; found {len(found)} instead",
            40000,
        )
    return found[0]
