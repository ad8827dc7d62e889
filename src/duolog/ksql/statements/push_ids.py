"""Generate the ids of push queries, as ksqlDB names them.

    SCALABLE_PUSH_QUERY_<source>_<number>     a projection of a persistent query's new rows
    transient_<source>_<number>               all others, and all that start at the earliest record

Source: ksqlDB's documentation of scalable push queries.
"""

import random
from typing import Final

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.statements.state import SessionState

_NUMBERS: Final = 10**18
_PLAIN: Final = {"expressions", "from_", "where", "emit", "limit"}
"""Clauses that a scalable push query may have."""


def push_query_id(select: exp.Select, state: SessionState) -> str:
    """Return a new id for a push query."""
    source = select.args["from_"].this.name
    clauses = {key for key, given in select.args.items() if given}
    scalable = (
        clauses <= _PLAIN
        and bool(state.writers(source))
        and state.settings[settings.OFFSET_RESET] == "latest"
    )
    kind = "SCALABLE_PUSH_QUERY" if scalable else "transient"
    return f"{kind}_{source}_{random.randrange(_NUMBERS)}"  # noqa: S311 - not a secret
