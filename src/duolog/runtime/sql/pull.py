"""A SELECT that answers what is there now and ends."""

from typing import TYPE_CHECKING

from sqlglot import exp

from duolog.ksql.errors import SqlError
from duolog.runtime.sql.answers import Rows

if TYPE_CHECKING:
    from duolog.runtime.sql.engine import SqlEngine


def select(engine: "SqlEngine", statement: exp.Select, text: str) -> Rows:
    """Return the rows of a SELECT without EMIT.

    Raises:
        SqlError: it cannot run.
    """
    raise SqlError("a SELECT without EMIT is not answered yet", statement=text)
