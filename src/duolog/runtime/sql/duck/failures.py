"""Translate DuckDB's errors: without its SQL and its settings.

Errors that can be detected when a query is translated have a position; the errors here depend on
the rows.
"""

import re
from typing import Final

from duolog.ksql.errors import SqlError
from duolog.plan.sql.time_patterns import Unsupported
from duolog.runtime.sql.duck.lambda_sizes import TOO_LARGE
from duolog.runtime.sql.duck.lists import TOO_LONG
from duolog.runtime.sql.duck.lowering import ELSEWHERE

_UNSUPPORTED: Final = re.compile(rf"\b{Unsupported.__name__}: (.*)")
"""DuckDB's message for an exception of a Python function."""
_NAMED: Final = re.compile(r"^(?:[A-Z]\w*(?: [A-Z]\w*)*) Error: ")
_WORDS: Final = (
    (
        re.compile("More than one row returned by a subquery"),
        "a subquery returned several rows where one value is expected",
        "Return one row: LIMIT 1, or an aggregate such as MAX(x).",
    ),
    (
        re.compile("must be greater than zero|must be > 0|argument must be"),
        "an argument must be at least 1",
        "Pass at least 1 to NTILE, NTH_VALUE and TOPK.",
    ),
    (
        re.compile(
            r"(?:Overflow|overflow|out of range|Out of Range|can't be cast "
            r"because|Could not cast value)"
        ),
        "a value is too large for its type",
        "CAST an argument to a larger type: CAST(x AS BIGINT), CAST(x AS DOUBLE).",
    ),
    (
        re.compile(r"Out of Memory|could not allocate|failed to allocate"),
        "the rows do not fit into memory",
        (
            "Select fewer rows or columns, use a persistent query, or SET "
            "'ksql.query.pull.memory.bytes.max'."
        ),
    ),
    (
        re.compile(TOO_LONG),
        "GENERATE_SERIES makes more elements of a row than fit into memory",
        "Make shorter series, use a persistent query, or EMIT CHANGES.",
    ),
    (
        re.compile(TOO_LARGE),
        "TRANSFORM, FILTER or REDUCE of a row needs more memory than there is",
        "Use shorter lists or fewer columns in the lambda, a persistent query, or EMIT CHANGES.",
    ),
    (
        re.compile(r"[Ii]nterrupt"),
        "it was interrupted",
        "",
    ),
)


def sql_error(error: Exception) -> SqlError:
    """Return an error of DuckDB as a SqlError."""
    first = str(error).partition("\n")[0]
    if (found := _UNSUPPORTED.search(first)) is not None:
        return SqlError(f"{found[1]} is not supported in pull queries", hint=ELSEWHERE)
    for pattern, words, hint in _WORDS:
        if pattern.search(first):
            return SqlError(f"the query failed: {words}", hint=hint)
    reason = _NAMED.sub("", first).strip().rstrip(".!")
    return SqlError("the query failed", detail=f"DuckDB reports: {reason}.", hint=ELSEWHERE)
