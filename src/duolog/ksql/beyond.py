"""What ksqlDB cannot read in a query that goes on, and Duolog can: refused where `ksql.compatibility` is strict.

CREATE TABLE … AS SELECT DISTINCT …        COUNT(DISTINCT x)
CREATE STREAM … AS SELECT … FROM (SELECT …) AS x        … AS WITH x AS (SELECT …) SELECT … FROM x
CREATE STREAM … AS SELECT … UNION ALL SELECT …          CREATE STREAM … AS CHANGES OF t
"""

from sqlglot import exp

from duolog.ksql.errors import syntax_error
from duolog.ksql.nodes import place_of
from duolog.ksql.settings import Settings


def ensure_readable_by_ksqldb(query: exp.Expression, settings: Settings, text: str) -> None:
    """Refuse in strict what ksqlDB's grammar does not have; `text` is the statement as it is written.

    Raises:
        SqlError: the query has some of it; the place is that of the first word that ksqlDB stumbles over.
    """
    if not settings.strict:
        return
    table = query.find(exp.Table)
    changes = table.args.get("changes") if table is not None else None
    if changes is not None and (at := place_of(changes)):
        raise syntax_error(at, "Expecting 'SELECT', found 'CHANGES'", text)
    named = query.args.get("with_")
    if named is not None and (at := place_of(named)):
        raise syntax_error(at, "Expecting 'SELECT', found 'WITH'", text)
    union, inner = query.find(exp.SetOperation), query.find(exp.Subquery)
    at = place_of(inner) if inner is not None else None
    # A query that is one of several streams reads from them as if they stood in parentheses.
    if union is not None and at is not None and place_of(union) == at:
        raise syntax_error(at, "Expecting the end of the statement, found 'UNION'", text)
    if at is not None:
        raise syntax_error(at, "Expecting a stream or table, found '('", text)
    distinct = query.find(exp.Distinct)
    if distinct is not None and (at := place_of(distinct)):
        raise syntax_error(at, "Expecting an expression, found 'DISTINCT'", text)
