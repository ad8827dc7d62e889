"""JSON text: read within limits and with exact numbers, written as Jackson writes it.

A number keeps its digits: an integer is an `int`, any other number a `Decimal`, never a float. The
reader refuses what a schema does not need and what would cost much to process:

| limit | reason |
|---|---|
| characters of a text | memory and time |
| nesting | the C parser and the writer recurse |
| digits and exponent of a number | arithmetic with it takes quadratic time |
| two equal keys in an object | one of the two values would be lost |
| surrogates without a partner | the text could not be stored as UTF-8 |

Written form: no spaces, keys in their order, Jackson's escapes, numbers as `BigDecimal.toString`
prints them (`1e5` becomes `1E+5`, `1.50` stays).
"""

import json
import re
from collections import Counter
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Final, NoReturn, TypeAlias

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.nesting import is_deeper

TEXT_CHARACTERS_MAX: Final = 1024 * 1024
DEPTH_MAX: Final = 256
NUMBER_CHARACTERS_MAX: Final = 1000
EXPONENT_MAX: Final = 10_000

JsonValue: TypeAlias = "bool | int | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"

_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_ESCAPES = {
    **{chr(code): f"\\u{code:04X}" for code in range(0x20)},
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
}  # fmt: skip


def read(text: str) -> JsonValue:
    """Return the value that a JSON text denotes.

    Raises:
        InvalidSchemaError: the text is not JSON, or exceeds a limit.
    """
    if len(text) > TEXT_CHARACTERS_MAX:
        raise InvalidSchemaError(
            "the schema is too long",
            detail=f"It has {len(text)} characters; at most {TEXT_CHARACTERS_MAX} are accepted.",
            hint="Move parts of it to schemas of their own and refer to them.",
        )
    _ensure_shallow(text)
    try:
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise InvalidSchemaError(
            "the schema is not valid JSON",
            detail=f"line {error.lineno}, column {error.colno}: {error.msg}",
        ) from error
    return value


def write(value: JsonValue, *, ordered: bool = False) -> str:
    """Return the compact text of a value; with sorted keys if `ordered`.

    Raises:
        InvalidSchemaError: a string contains a surrogate without a partner.
    """
    parts: list[str] = []
    _write(value, parts, ordered=ordered)
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidSchemaError(
            "the schema contains a surrogate without a partner",
            detail=f"U+{ord(text[error.start]):04X} is half of a character.",
        ) from error
    return text


def utf16_order(text: str) -> bytes:
    """Return a sort key in the order of Java's `String.compareTo`: by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def number_text(number: int | Decimal) -> str:
    """Return a number as Java prints an `Integer`, a `BigInteger` or a `BigDecimal`."""
    if isinstance(number, Decimal) and not number:
        number = abs(number)  # BigDecimal has no negative zero.
    return str(number)


def same(left: JsonValue, right: JsonValue) -> bool:
    """Compare two values as JSON Schema does: `1` equals `1.0`, and `true` does not equal `1`."""
    return comparable(left) == comparable(right)


def comparable(value: JsonValue) -> object:
    """Return a hashable form of a value that is equal for equal values."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", tuple(comparable(item) for item in value))
    if isinstance(value, dict):
        return ("dict", frozenset((key, comparable(item)) for key, item in value.items()))
    return value


def _ensure_shallow(text: str) -> None:
    if is_deeper(text, DEPTH_MAX):
        raise InvalidSchemaError(
            "the schema is nested too deep",
            detail=f"At most {DEPTH_MAX} nested objects and arrays are accepted.",
            hint="Give deep parts a name below definitions and refer to them.",
        )


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice, _ = counts.most_common(1)[0]
        raise InvalidSchemaError(f"the key {_shown(twice)} occurs twice in one object")
    return members


def _integer(text: str) -> int:
    _ensure_short(text)
    return int(text)


def _decimal(text: str) -> Decimal:
    _ensure_short(text)
    exponent = re.search(r"[eE]([+-]?\d+)", text)
    if exponent is not None and abs(int(exponent[1])) > EXPONENT_MAX:
        raise InvalidSchemaError(
            f"the exponent of the number {_shown(text)} is too large",
            detail=f"Exponents from -{EXPONENT_MAX} to {EXPONENT_MAX} are accepted.",
        )
    return Decimal(text)


def _ensure_short(number: str) -> None:
    if len(number) > NUMBER_CHARACTERS_MAX:
        raise InvalidSchemaError(
            f"the number {_shown(number)} is too long",
            detail=f"It has {len(number)} characters; {NUMBER_CHARACTERS_MAX} are accepted.",
        )


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidSchemaError(f"{name} is not a JSON number")


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= 40 else f"{text[:40]}…", ensure_ascii=True)


def _write(value: JsonValue, parts: list[str], *, ordered: bool) -> None:
    match value:
        case None:
            parts.append("null")
        case bool():
            parts.append("true" if value else "false")
        case str():
            parts.append(_quoted(value))
        case int() | Decimal():
            parts.append(number_text(value))
        case list():
            separator = "["
            for item in value:
                parts.append(separator)
                _write(item, parts, ordered=ordered)
                separator = ","
            parts.append("]" if value else "[]")
        case dict():
            separator = "{"
            for key in sorted(value, key=utf16_order) if ordered else value:
                parts += (separator, _quoted(key), ":")
                _write(value[key], parts, ordered=ordered)
                separator = ","
            parts.append("}" if value else "{}")


def _quoted(text: str) -> str:
    quoted: str = encode_basestring(text)
    if "\\u00" not in quoted:
        return quoted
    # Python writes the digits of a control character in lower case.
    return f'"{_ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)}"'
