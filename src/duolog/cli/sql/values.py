"""Format values of rows as text, JSON and CSV.

text     as ksqlDB's shell does: null, {A=1, B=x}, [1, 2], 2024-05-01T10:00:00.000
JSON     numbers with all digits, bytes in base64, times in ISO 8601
"""

import base64
import json
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final

NULL: Final = "null"
_NUMBERS: Final = ("INT", "BIGINT", "DOUBLE", "DECIMAL")


def is_number(of: str) -> bool:
    """Return whether a type, given by name, is numeric."""
    return of.startswith(_NUMBERS)


def text_of(value: object) -> str:  # noqa: PLR0911 - a table of cases
    r"""Return a value as readable text, with control characters escaped.

    Example:
        >>> [text_of(value) for value in (None, True, 1.5, {"A": [1, None]}, "a\tb", b"ab")]
        ['null', 'true', '1.5', '{A=[1, null]}', 'a\\tb', 'YWI=']
    """
    match value:
        case None:
            return NULL
        case str():
            return value if value.isprintable() else _escaped(value)
        case bool():
            return "true" if value else "false"
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return f"{value:f}"
        case datetime():
            # SQL times have no zone; all are UTC.
            return value.replace(tzinfo=None).isoformat(timespec="milliseconds")
        case date() | time():
            return value.isoformat()
        case Mapping():
            inner = (f"{text_of(key)}={text_of(one)}" for key, one in value.items())
            return "{" + ", ".join(inner) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(text_of, value)) + "]"
        case _:
            return str(value)


def json_of(value: object) -> str:
    """Return a value as JSON on one line.

    Example:
        >>> json_of({"A": Decimal("1.10"), "B": [None, b"ab"]})
        '{"A":1.10,"B":[null,"YWI="]}'
    """
    match value:
        case None | bool() | int() | str():
            return json.dumps(value, ensure_ascii=False)
        case float():
            # JSON has no NaN or infinity.
            return json.dumps(value) if value - value == 0 else json.dumps(str(value))
        case Decimal():
            return f"{value:f}"
        case Mapping():
            inner = (
                f"{json.dumps(text_of(key), ensure_ascii=False)}:{json_of(one)}"
                for key, one in value.items()
            )
            return "{" + ",".join(inner) + "}"
        case list() | tuple():
            return "[" + ",".join(map(json_of, value)) + "]"
        case _:
            return json.dumps(text_of(value), ensure_ascii=False)


def csv_of(value: object) -> str | None:
    """Return a value as a CSV cell: None for null, JSON for arrays, maps and structs."""
    match value:
        case None:
            return None
        case Mapping() | list() | tuple():
            return json_of(value)
        case str():
            return value
        case _:
            return text_of(value)


def _escaped(text: str) -> str:
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
