"""How a function is lowered to DuckDB."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from duolog.plan.sql.time_patterns import Unsupported
from duolog.plan.types import Type
from duolog.runtime.sql.functions.registry import called

ELSEWHERE: Final = (
    "Compute it in a persistent query, and select its result; or ask with EMIT CHANGES."
)
"""What to do where a function is not to be had in a query that answers rows."""

Read = Callable[[str], object]
"""Reads a pattern."""

Lowering = Callable[[Sequence[str], Sequence[Type], Type], str | None]
"""Takes the arguments as SQL of DuckDB, their types and that of the result; gives SQL, None where there is none."""


def plain(template: str) -> Lowering:
    """Return the lowering of a function that DuckDB has too: `{0}` is the first argument, `{all}` all of them."""
    return lambda args, _types, _result: template.format(*args, all=", ".join(args))


def python(name: str, pattern: int | None = None, read: Read | None = None) -> Lowering:
    """Return the lowering of a function of `sql.functions`.

    A literal that is the argument `pattern` is read ahead: one that has no meaning there is refused before the query runs.
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
        # What is broken gives null.
        return False
    return False


def literal_text(sql: str) -> str | None:
    """Return the text that a literal of DuckDB says, None of anything else.

    Example:
        >>> literal_text("'it''s'"), literal_text("lower('a')")
        ("it's", None)
    """
    if len(sql) < 2 or sql[0] != "'" or sql[-1] != "'":
        return None
    inside = sql[1:-1].replace("''", "")
    return None if "'" in inside else sql[1:-1].replace("''", "'")
