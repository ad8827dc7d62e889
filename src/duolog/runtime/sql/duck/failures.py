"""Translate DuckDB's errors: without its SQL and its settings.

Errors that can be detected when a query is translated have a position; the errors here depend on
the rows.
"""

import re
from typing import Final

from duolog.ksql.errors import SqlError
from duolog.plan.sql.time_patterns import Unsupported
from duolog.runtime.sql.duck.lowering import ELSEWHERE

_UNSUPPORTED: Final = re.compile(rf"\b{Unsupported.__name__}: (.*)")
"""DuckDB's message for an exception of a Python function."""
_NAMED: Final = re.compile(r"^(?:[A-Z]\w*(?: [A-Z]\w*)*) Error: ")
_WORDS: Final = (
    (
        re.compile("More than one row returned by a subquery"),
        "a query in an expression gives several rows, and its place takes one value",
        "Ask for one: LIMIT 1, or an aggregate as MAX(x).",
    ),
    (
        re.compile("must be greater than zero|must be > 0|argument must be"),
        "a function takes no number below 1 here",
        "NTILE, NTH_VALUE and TOPK count from 1.",
    ),
    (
        re.compile(
            r"(?:Overflow|overflow|out of range|Out of Range|can't be cast because|Could not cast value)"
        ),
        "a value is too large for its type",
        "CAST an argument to a type that has room: CAST(x AS BIGINT), CAST(x AS DOUBLE).",
    ),
    (
        re.compile(r"Out of Memory|could not allocate|failed to allocate"),
        "the rows do not fit into memory",
        "Ask for fewer rows or columns, let a persistent query compute them, or SET 'ksql.query.pull.memory.bytes.max'.",
    ),
    (
        re.compile(r"[Ii]nterrupt"),
        "the query was ended",
        "",
    ),
)


def told(error: Exception) -> SqlError:
    """Return an error of DuckDB as a SqlError."""
    first = str(error).partition("\n")[0]
    if (found := _UNSUPPORTED.search(first)) is not None:
        return SqlError(f"{found[1]} is not supported in queries that answer rows", hint=ELSEWHERE)
    for pattern, words, hint in _WORDS:
        if pattern.search(first):
            return SqlError(f"the query cannot be answered: {words}", hint=hint)
    reason = _NAMED.sub("", first).strip().rstrip(".!")
    return SqlError(
        "the query cannot be answered", detail=f"What computes it says: {reason}.", hint=ELSEWHERE
    )
