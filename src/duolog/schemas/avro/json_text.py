"""JSON as Avro's Java library reads and writes it, with limits on what it accepts.

- Comments are allowed, and of two equal keys the last one counts.
- Numbers keep their kind: 1 is not 1.0. Numbers are written as Java writes them: 1.0E7.
- Lone surrogates are refused: they have no bytes in UTF-8.

Python's parser and its writers call themselves for each level of nesting, so the depth is checked
before.
"""

import json
import math
import re
import struct
from typing import Final, cast

from duolog.schemas.avro.types import Json
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.nesting import is_deeper

DEPTH_MAX: Final = 400
_SIZE_MAX: Final = 10 * 1024 * 1024
_DIGITS_MAX: Final = 1000

# A string, a comment or a bracket. The first two match without their ends, too: a search that
# fails and starts again at the next character takes quadratic time.
_TOKEN: Final = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?|//[^\n\r]*|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?|[][{}]', re.DOTALL
)
_SPECIAL: Final = re.compile(r'[\x00-\x1f"\\]')
_SHORT_ESCAPES: Final = {
    "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_JAVA_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?", re.ASCII)
_JAVA_HEX: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+[fFdD]?", re.ASCII
)


def read_json(text: str) -> Json:
    """Return the value of a JSON text.

    Raises:
        InvalidSchemaError: the text is not JSON, or exceeds a limit.
    """
    if len(text) > _SIZE_MAX:
        raise InvalidSchemaError(
            f"schema has {len(text)} characters",
            detail=f"The limit is {_SIZE_MAX}.",
            hint="Move types into schemas of their own and refer to them.",
        )
    check_depth(text)
    try:
        value = _loads(text)
    except json.JSONDecodeError as problem:
        if "/" not in text:
            raise _not_json(problem) from None
        try:
            value = _loads(_TOKEN.sub(_without_comment, text))
        except json.JSONDecodeError as second:
            raise _not_json(second) from None
    if _SURROGATE.search(text) is not None:
        _refuse_lone_surrogates(value)
    return value


def check_depth(text: str) -> None:
    """Refuse a text that is nested too deep for the readers and writers of its JSON.

    Raises:
        InvalidSchemaError: it is.
    """
    if is_deeper(text, DEPTH_MAX, _TOKEN):
        raise InvalidSchemaError(
            f"schema is nested deeper than {DEPTH_MAX} levels",
            detail="Objects and arrays of the JSON text count, with all types written out.",
            hint="Define types that contain each other with fewer levels.",
        )


def json_text(value: Json, *, sort: bool = False) -> str:  # noqa: PLR0911 - a table of cases
    """Return a value as Java writes it; `sort` orders the keys of objects."""
    match value:
        case None:
            return "null"
        case True:
            return "true"
        case False:
            return "false"
        case str():
            return quoted(value)
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case list():
            texts = []
            for each in value:
                texts.append(json_text(each, sort=sort))  # noqa: PERF401 - one frame for each level
            return f"[{','.join(texts)}]"
        case _:
            texts = []
            for key in in_java_order(value) if sort else value:
                texts.append(f"{quoted(key)}:{json_text(value[key], sort=sort)}")
            return f"{{{','.join(texts)}}}"


def quoted(text: str) -> str:
    """Return a text as a JSON string, with Java's escapes."""
    if _SPECIAL.search(text) is None:
        return f'"{text}"'
    return f'"{_SPECIAL.sub(_escape, text)}"'


def in_java_order(texts: "dict[str, Json] | tuple[str, ...] | set[str]") -> list[str]:
    """Return texts in the order of Java's strings, which is that of their UTF-16 code units."""
    return sorted(texts, key=lambda text: text.encode("utf-16-be", "surrogatepass"))


def same_json(left: Json, right: Json) -> bool:
    """Tell whether two values are the same, their kinds included; the order of keys is not."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            waiting += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            waiting += zip(one, other, strict=True)
        elif one != other and not (one != one and other != other):  # noqa: PLR0124 - NaN
            return False
    return True


def parse_double(text: str) -> float | None:
    """Return the number of a text by the rules of Java's `Double.parseDouble`; None if it is none.

    Example:
        >>> parse_double(" 1e3f "), parse_double("-Infinity"), parse_double("0x1p-1")
        (1000.0, -inf, 0.5)
        >>> parse_double("inf") is None
        True
    """
    text = text.strip("".join(map(chr, range(33))))
    if len(text) > _DIGITS_MAX:
        return None
    if re.fullmatch(r"[+-]?(?:NaN|Infinity)", text) is not None:
        return float(text)
    if _JAVA_DECIMAL.fullmatch(text):
        return float(text.rstrip("fFdD"))
    if _JAVA_HEX.fullmatch(text):
        try:
            return float.fromhex(re.sub(r"[fFdD]$", "", text))
        except OverflowError:
            return -math.inf if text.startswith("-") else math.inf
    return None


def shortest_float(value: float) -> float:
    """Return the double with the shortest text that is nearest to a 32-bit float.

    Example:
        >>> shortest_float(0.1), shortest_float(16777217)
        (0.1, 16777216.0)
    """
    try:
        narrow: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    if not math.isfinite(narrow):
        return narrow
    for digits in range(1, 10):
        candidate = float(f"{narrow:.{digits}g}")
        if abs(candidate) < 3.5e38 and struct.pack("<f", candidate) == struct.pack("<f", narrow):
            return candidate
    return narrow


def _loads(text: str) -> Json:
    try:
        return cast("Json", _DECODER.decode(text))
    except RecursionError:
        raise InvalidSchemaError("schema is nested too deep for the stack of its caller") from None


def _integer(digits: str) -> int:
    _check_digits(digits)
    return int(digits)


def _decimal(digits: str) -> float:
    _check_digits(digits)
    return float(digits)


def _check_digits(digits: str) -> None:
    if len(digits) > _DIGITS_MAX:
        raise InvalidSchemaError(
            f"schema contains a number of {len(digits)} characters",
            detail=f"The limit is {_DIGITS_MAX}.",
        )


def _refuse_constant(name: str) -> float:
    raise InvalidSchemaError(
        f"schema is not JSON: it contains {name}", hint=f'Write "{name}" as a string.'
    )


def _not_json(problem: json.JSONDecodeError) -> InvalidSchemaError:
    return InvalidSchemaError(
        f"schema is not JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}"
    )


def _refuse_lone_surrogates(value: Json) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidSchemaError(
            "schema contains half of a surrogate pair",
            detail="Such a text has no bytes in UTF-8.",
            hint="Remove the escape \\uD800 to \\uDFFF, or write both of its halves.",
        ) from None


def _without_comment(token: re.Match[str]) -> str:
    text = token[0]
    if text.startswith("//") or (text.startswith("/*") and text.endswith("*/") and len(text) > 3):
        return " "
    return text


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04X}"


def _float_text(value: float) -> str:
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    sign = "-" if math.copysign(1, value) < 0 else ""
    value = abs(value)
    if value == 0:
        return f"{sign}0.0"
    mantissa, _, exponent_text = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = len(whole) + int(exponent_text or 0)
    exponent -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0") or "0"
    if 1e-3 <= value < 1e7:
        padded = digits.ljust(exponent, "0") if exponent > 0 else "0" * (1 - exponent) + digits
        point = max(exponent, 1)
        return f"{sign}{padded[:point]}.{padded[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent - 1}"


_DECODER: Final = json.JSONDecoder(
    parse_int=_integer, parse_float=_decimal, parse_constant=_refuse_constant
)
