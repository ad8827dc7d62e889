"""Put values in place of the question marks of a statement.

ksqlDB's protocol has no parameters, so the client writes them as literals. A question mark inside a
text, a quoted name or a comment is not a parameter. With parameters, the server does not replace
variables `${name}`: a value may contain that text.
"""

import datetime as dt
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from duolog.client.errors import DataError, ProgrammingError
from duolog.core.counts import counted

_PIECE: Final = re.compile(
    r"""'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|`(?:[^`]|``)*(?:`|\Z)"""
    r"""|--[^\n]*|/\*.*?(?:\*/|\Z)|\?""",
    re.DOTALL,
)
"""Texts, quoted names and comments, also without their end; and question marks."""
_JOINED: Final = re.compile(r"[\w'\"`-]")
"""A character that must not be next to a literal: two minus signs would start a comment."""


def bound(statement: str, values: Sequence[object]) -> str:
    """Return a statement with values in place of its question marks.

    Raises:
        ProgrammingError: there are more or fewer values than question marks.
        DataError: a value has no literal.

    Example:
        >>> bound("SELECT * FROM t WHERE name = ? AND note <> '?'", ["O'Neil"])
        "SELECT * FROM t WHERE name = 'O''Neil' AND note <> '?'"
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ProgrammingError(
            f"the values of the question marks are of type {type(values).__name__}",
            hint="Give a list or a tuple with a value for each question mark.",
            statement=statement,
        )
    left = list(values)
    places = 0

    def value(match: re.Match[str]) -> str:
        nonlocal places
        if match[0] != "?":
            return match[0]
        places += 1
        if places > len(left):
            return "?"
        before, after = statement[: match.start()][-1:], statement[match.end() :][:1]
        return _apart(before) + literal(left[places - 1]) + _apart(after)

    text = _PIECE.sub(value, statement)
    if places != len(left):
        raise ProgrammingError(
            f"the statement has {counted(places, 'question mark')}, but "
            f"{counted(len(left), 'value')} {'is' if len(left) == 1 else 'are'} given",
            statement=statement,
        )
    return text


def literal(value: object) -> str:  # noqa: PLR0911 - a table of cases
    """Return a value of Python as a literal of SQL.

    Raises:
        DataError: there is no literal for it.

    Example:
        >>> literal({"A": [1, None]}), literal(dt.date(2026, 1, 31))
        ("MAP('A' := ARRAY[1, NULL])", "'2026-01-31'")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        # Numbers of numpy are of these kinds, too, and are written differently by `repr`.
        case numbers.Integral():
            return str(int(value))
        case numbers.Real():
            return _double(float(value))
        case Decimal():
            return _decimal(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes() | bytearray() | memoryview():
            return f"TO_BYTES('{bytes(value).hex()}', 'hex')"
        case dt.datetime():
            return f"'{_utc(value).isoformat(timespec='milliseconds')}'"
        case dt.date() | dt.time():
            return f"'{value.isoformat()}'"
        case Mapping():
            items = (f"{literal(key)} := {literal(one)}" for key, one in value.items())
            return f"MAP({', '.join(items)})"
        case list() | tuple():
            return f"ARRAY[{', '.join(map(literal, value))}]"
        case _:
            raise DataError(
                f"a value of type {type(value).__name__} has no literal in SQL",
                hint="Use None, bool, int, float, Decimal, str, bytes, date, time, datetime, a "
                "list or a dict.",
            )


def _apart(neighbour: str) -> str:
    """Return what separates a literal from the character next to it."""
    return " " if _JOINED.match(neighbour) else ""


def _double(value: float) -> str:
    if not math.isfinite(value):
        raise DataError(f"the number {value} has no literal in SQL")
    text = repr(value)
    # Without an exponent, SQL reads digits with a point as DECIMAL.
    return text if "e" in text else f"{text}E0"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise DataError(f"the number {value} has no literal in SQL")
    text = f"{value:f}"
    return text if "." in text else f"CAST({text} AS DECIMAL({max(len(text.lstrip('-')), 1)}, 0))"


def _utc(value: dt.datetime) -> dt.datetime:
    """Return a time without a zone: the zone of TIMESTAMP is UTC."""
    return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
