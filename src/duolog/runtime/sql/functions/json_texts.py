"""JSON functions, parsing as Jackson does: numbers keep their digits.

Text after a value is ignored.
"""

import base64
import datetime as dt
import json
import re
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Never

from duolog.ksql.syntax.script import type_written
from duolog.plan.types import DOUBLE, TIME, TIMESTAMP, Array, Map, Struct, Type
from duolog.runtime.sql.functions.numbers import double_text
from duolog.serde.json_writing import key_text
from duolog.serde.times import time_text

_MISSING: Final = object()
"""Value of an empty string."""
_SPACE: Final = " \t\n\r"
_STEP: Final = re.compile(
    r"\.(?P<name>[^.\[]+)|\[(?P<place>[^\]\[\"']+)\]"
    r"|\[\"(?P<quoted>(?:[^\"\\]|\\.)*)\"\]|\['(?P<single>(?:[^'\\]|\\.)*)'\]"
)
_PLACE: Final = re.compile(r"\+?\d{1,9}")
_ESCAPES: Final = {code: f"\\u{code:04X}" for code in range(32)} | {
    ord(sign): f"\\{pairs}"
    for sign, pairs in {
        '"': '"',
        "\\": "\\",
        "\b": "b",
        "\f": "f",
        "\n": "n",
        "\r": "r",
        "\t": "t",
    }.items()
}


def _refused(word: str) -> Never:
    raise ValueError(word)


_DECODER: Final = json.JSONDecoder(parse_float=Decimal, parse_constant=_refused)


def _parsed(text: str) -> object:
    """Parse a value; `_MISSING` for an empty string.

    Raises:
        ValueError: the string is not JSON.
    """
    begun = text.lstrip(_SPACE)
    if not begun:
        return _MISSING
    try:
        found, end = _DECODER.raw_decode(begun)
    except RecursionError as error:
        raise ValueError("values in values in values") from error
    # Any text may follow a string, array or object; only white space may follow a number.
    joined = begun[end : end + 1]
    if isinstance(found, int | Decimal | None) and joined and _is_joined(found, joined):
        raise ValueError(text)
    return found


def _is_joined(found: int | Decimal | None, sign: str) -> bool:
    if found is None or isinstance(found, bool):
        return sign.isalnum() or sign in "_$"
    return sign not in _SPACE


def _parsed_or_missing(text: str) -> object:
    try:
        return _parsed(text)
    except ValueError:
        return _MISSING


def _written(value: object) -> str:
    match value:
        case str():
            return f'"{value.translate(_ESCAPES)}"'
        case dict():
            fields = (f"{_written(name)}:{_written(inner)}" for name, inner in value.items())
            return "{" + ",".join(fields) + "}"
        case list():
            return "[" + ",".join(map(_written, value)) + "]"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case _:
            return str(value)


@lru_cache(1000)
def _steps(path: str) -> tuple[str, ...]:
    if not path.startswith("$"):
        raise ValueError(path)
    steps: list[str] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise ValueError(path)
        plain = found["name"] or found["place"]
        quoted = found["quoted"] if found["quoted"] is not None else found["single"] or ""
        steps.append(plain or re.sub(r"\\(.)", r"\1", quoted))
        at = found.end()
    return tuple(steps)


def extract(text: str, path: str) -> str | None:
    """Return the value at a path: strings as their characters, others as JSON."""
    found = _parsed(text)
    for step in _steps(path):
        if isinstance(found, list):
            at = int(step) if _PLACE.fullmatch(step) else -1
            found = found[at] if 0 <= at < len(found) else _MISSING
        else:
            found = found.get(step, _MISSING) if isinstance(found, dict) else _MISSING
    if found is _MISSING:
        return None
    return found if isinstance(found, str) else _written(found)


def is_json(text: str | None) -> bool:
    """Accepts null, which is not JSON."""
    return text is not None and _parsed_or_missing(text) is not _MISSING


def array_length(text: str) -> int | None:
    found = _parsed(text)
    return len(found) if isinstance(found, list) else None


def array_contains(text: str, value: str) -> bool:
    """Return true if an array contains a value, given as JSON; 1 and 1.0 are different."""
    found, wanted = _parsed(text), _parsed(value)
    if not isinstance(found, list) or isinstance(wanted, list | dict):
        return False
    return any(type(one) is type(wanted) and one == wanted for one in found)


def concat(*texts: str | None) -> str | None:
    """Accepts nulls; the result is null for them, and for strings that are not JSON."""
    values = [_MISSING if text is None else _parsed_or_missing(text) for text in texts]
    if not values or any(value is _MISSING for value in values):
        return None
    objects = [value for value in values if isinstance(value, dict)]
    if len(objects) == len(values):
        merged: dict[str, object] = {}
        for one in objects:
            merged |= one
        return _written(merged)
    chained: list[object] = []
    for value in values:
        chained += value if isinstance(value, list) else [value]
    return _written(chained)


def items(text: str) -> list[str] | None:
    found = _parsed(text)
    if found is _MISSING:
        return None
    if not isinstance(found, list):
        raise ValueError(text)  # noqa: TRY004 - the string is invalid, not the argument's type
    return list(map(_written, found))


def keys(text: str) -> list[str] | None:
    found = _parsed_or_missing(text)
    return list(found) if isinstance(found, dict) else None


def records(text: str) -> dict[str, str] | None:
    found = _parsed_or_missing(text)
    if not isinstance(found, dict):
        return None
    return {
        name: value if isinstance(value, str) else _written(value) for name, value in found.items()
    }


def to_json(value: object, of: str) -> str:
    """Encode a value as JSON; accepts null. Fields of a STRUCT are by position."""
    return _json(value, type_written(of))


def _json(value: Any, of: Type) -> str:  # noqa: PLR0911 - a table of cases
    if value is None:
        return "null"
    match of:
        case Array(element=element):
            return "[" + ",".join(_json(one, element) for one in value) + "]"
        case Map(value=inner):
            entries = (
                f"{_written(key_text(key))}:{_json(one, inner)}" for key, one in value.items()
            )
            return "{" + ",".join(entries) + "}"
        case Struct(fields=fields):
            pairs = zip(fields, value.values(), strict=True)
            inside = (f"{_written(one.name)}:{_json(part, one.type)}" for one, part in pairs)
            return "{" + ",".join(inside) + "}"
        case _ if of == DOUBLE:
            text = double_text(value)
            return text if text[-1].isdigit() else f'"{text}"'
        case _ if of == TIME:
            return f'"{time_text(value)}"'
        case _ if of == TIMESTAMP:
            return f'"{value.isoformat(timespec="milliseconds")}"'
        case _ if isinstance(value, bytes):
            return f'"{base64.b64encode(value).decode()}"'
        case _ if isinstance(value, dt.date):
            return f'"{value.isoformat()}"'
        case _:
            return _written(value)
