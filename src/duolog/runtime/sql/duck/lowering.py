"""How a function is lowered to DuckDB."""

from collections.abc import Callable, Sequence

from duolog.plan.types import Type

Lowering = Callable[[Sequence[str], Sequence[Type], Type], str | None]
"""Takes the arguments as SQL of DuckDB, their types and that of the result; gives SQL, None where there is none."""


def plain(template: str) -> Lowering:
    """Return the lowering of a function that DuckDB has too: `{0}` is the first argument, `{all}` all of them."""
    return lambda args, _types, _result: template.format(*args, all=", ".join(args))


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
