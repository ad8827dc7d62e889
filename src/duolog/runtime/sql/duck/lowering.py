"""Helpers to lower functions to DuckDB."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from duolog.plan.sql.time_patterns import Unsupported
from duolog.plan.types import Type
from duolog.runtime.sql.functions.registry import called

ELSEWHERE: Final = "Compute it in a persistent query and select its result, or use EMIT CHANGES."
"""Hint for functions that are not supported in DuckDB."""

Read = Callable[[str], object]
"""Parses a pattern."""

Lowering = Callable[[Sequence[str], Sequence[Type], Type], str | None]
"""From arguments in DuckDB's SQL, their types, and the result type: SQL, or None if unsupported."""


def plain(template: str) -> Lowering:
    """Lower a function that DuckDB supports: `{0}` is the first argument, `{all}` all of them."""
    return lambda args, _types, _result: template.format(*args, all=", ".join(args))


def python(name: str, pattern: int | None = None, read: Read | None = None) -> Lowering:
    """Lower to a function of `sql.functions`.

    A literal in argument `pattern` is parsed at once, so that unsupported patterns are refused
    before the query runs.
    """

    def lower(args: Sequence[str], _types: Sequence[Type], _result: Type) -> str | None:
        said = None if pattern is None else literal_text(args[pattern])
        return (
            None if said is not None and read and _unsupported(said, read) else called(name, args)
        )

    return lower


def _unsupported(text: str, read: Read) -> bool:
    try:
        read(text)
    except Unsupported:
        return True
    except (ValueError, re.error):
        # Invalid patterns return null.
        return False
    return False


def literal_text(sql: str) -> str | None:
    """Return the text of a string literal of DuckDB, or None for other expressions.

    Example:
        >>> literal_text("'it''s'"), literal_text("lower('a')")
        ("it's", None)
    """
    if len(sql) < 2 or sql[0] != "'" or sql[-1] != "'":
        return None
    inside = sql[1:-1].replace("''", "")
    return None if "'" in inside else sql[1:-1].replace("''", "'")
