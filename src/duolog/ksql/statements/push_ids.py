"""The ids of queries that go on for whoever asked: what ksqlDB calls them.

    SCALABLE_PUSH_QUERY_<source>_<number>     columns and conditions of one result of a persistent query, from now on
    transient_<source>_<number>               all others, and all that begin with the first record

Source: ksqlDB's documentation of scalable push queries.
"""

import random
from typing import Final

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.statements.state import SessionState

_NUMBERS: Final = 10**18
_PLAIN: Final = {"expressions", "from_", "where", "emit", "limit"}
"""What a query may have that only passes on what a persistent one writes."""


def push_query_id(select: exp.Select, state: SessionState) -> str:
    """Return an id for a query that goes on, another one at each call."""
    source = select.args["from_"].this.name
    clauses = {key for key, given in select.args.items() if given}
    scalable = (
        clauses <= _PLAIN
        and bool(state.writers(source))
        and state.settings[settings.OFFSET_RESET] == "latest"
    )
    kind = "SCALABLE_PUSH_QUERY" if scalable else "transient"
    return f"{kind}_{source}_{random.randrange(_NUMBERS)}"  # noqa: S311 - no secret
