"""A SELECT that goes on: EMIT CHANGES, EMIT FINAL."""

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.needs import Engine


def select(engine: Engine, statement: exp.Select, text: str) -> Rows:
    """Return the rows of a SELECT with EMIT.

    Raises:
        SqlError: it cannot run.
    """
    raise SqlError("a SELECT with EMIT is not answered yet", statement=text)
