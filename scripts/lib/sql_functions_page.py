"""The page of SQL's functions: by family, the ways to call each, and what it is for.

Written from the rows of `duolog.plan.sql`, which SHOW FUNCTIONS and DESCRIBE FUNCTION tell, too.
"""

from collections.abc import Sequence
from typing import Final

from duolog.ksql.expressions.function_errors import type_written, written
from duolog.ksql.statements.function_listing import FUNCTIONS
from duolog.plan.sql.signatures import SqlFunction

INTRO: Final = """\
What SQL calls; `SHOW FUNCTIONS` and `DESCRIBE FUNCTION name` say the same. Numbers widen from INTEGER over BIGINT and DECIMAL to DOUBLE, a
text is read as a DATE, TIME or TIMESTAMP where one is wanted, and DECIMAL stands for one of any size. `T`, `U`, `K`, `V` are any types, the same
everywhere in a line; `...` as often as one likes; `(T) => U` a lambda, `x => x + 1`.

A call that has no result is null, and its record goes on: a pattern that is wrong, a text that is no date, a number too large."""


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
    return "\n".join(("| call | what it gives |", "|---|---|", *rows))


def _calls(function: SqlFunction) -> str:
    calls = (
        f"`{written(function.name, one)}` → `{type_written(one.result)}`"
        for one in function.signatures
    )
    return "<br>".join(calls)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
