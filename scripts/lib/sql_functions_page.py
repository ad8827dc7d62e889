"""Generate the page of SQL functions: signatures and descriptions, by family.

The source is the function table in `duolog.plan.sql`, which SHOW FUNCTIONS and DESCRIBE FUNCTION
print, too.
"""

from collections.abc import Sequence
from typing import Final

from duolog.ksql.expressions.function_errors import type_written, written
from duolog.ksql.statements.function_listing import FUNCTIONS
from duolog.plan.sql.signatures import SqlFunction

INTRO: Final = """\
All SQL functions, as listed by `SHOW FUNCTIONS` and `DESCRIBE FUNCTION name`. In a signature:

- Numbers are widened from INTEGER to BIGINT, DECIMAL and DOUBLE. Strings are parsed if a DATE, TIME
  or TIMESTAMP is expected.
- DECIMAL is a decimal of any precision and scale.
- `T`, `U`, `K` and `V` are arbitrary types. Each name has the same type throughout a signature.
- `...` repeats the argument any number of times.
- `(T) => U` is a lambda, such as `x => x + 1`.

If a call has no result, for example because a pattern is invalid, a string is not a date, or a
number is too large, it returns null and the record is processed further."""


def sql_functions_page() -> str:
    """Return the body of the page."""
    families: dict[str, list[SqlFunction]] = {}
    for function in FUNCTIONS.values():
        families.setdefault(function.family, []).append(function)
    parts = ["# SQL functions", INTRO]
    for family in sorted(families):
        parts += [f"## {_title(family)}", _table(families[family])]
    return "\n\n".join(parts)


def _title(family: str) -> str:
    return family if family in {"JSON", "URL"} else family.capitalize().replace(" / t", " and t")


def _table(functions: Sequence[SqlFunction]) -> str:
    rows = [f"| {_calls(function)} | {_escaped(function.description)} |" for function in functions]
    return "\n".join(("| call | result |", "|---|---|", *rows))


def _calls(function: SqlFunction) -> str:
    calls = (
        f"`{written(function.name, one)}` → `{type_written(one.result)}`"
        for one in function.signatures
    )
    return "<br>".join(calls)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
