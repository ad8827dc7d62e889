"""Split JSON text into members and items without changing digits, names or order.

`json.loads` would turn 12345678901234567.89 into 1.2345678901234568e+16 and 1.10 into 1.1, and
would drop one of two members with the same name.
"""

import json
import re
from typing import Final, NoReturn

_SPACE: Final = re.compile(r"[ \t\n\r]*")


class JsonText(str):
    """JSON text to be embedded in other JSON unchanged."""

    __slots__ = ()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER: Final = json.JSONDecoder(
    # Only the end positions matter: avoid converting a number of 5,000 digits.
    parse_float=str,
    parse_int=str,
    parse_constant=_refuse_constant,
)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def members_of(text: str) -> list[tuple[str, str]]:
    """Return the name and the value text of each member of a JSON object.

    Example:
        >>> members_of('{"a": 1.10, "b": {"x": 1,  "x": 2}}')
        [('a', '1.10'), ('b', '{"x": 1,  "x": 2}')]

    Raises:
        ValueError: the text is not JSON, or not an object.
    """
    _ensure_json(text)
    at = _after_space(text, 0)
    if text[at] != "{":
        raise ValueError("it is not a JSON object")
    found = []
    at = _after_space(text, at + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        value, at = _value(text, _after_space(text, at) + 1)
        found.append((name, value))
        at = _after_comma(text, at)
    return found


def items_of(text: str) -> list[str]:
    """Return the text of each item of a JSON array.

    Example:
        >>> items_of("[1.0, [2]]")
        ['1.0', '[2]']

    Raises:
        ValueError: the text is not JSON, or not an array.
    """
    _ensure_json(text)
    at = _after_space(text, 0)
    if text[at] != "[":
        raise ValueError("it is not a JSON array")
    found = []
    at = _after_space(text, at + 1)
    while text[at] != "]":
        value, at = _value(text, at)
        found.append(value)
        at = _after_comma(text, at)
    return found


def dumped(value: object) -> str:
    """Return the JSON of a value, in which each `JsonText` is embedded unchanged.

    Example:
        >>> dumped({"key": [JsonText('{"n": 1.10}'), 5], "value": None})
        '{"key":[{"n": 1.10},5],"value":null}'
    """
    if not _holds_json_text(value):
        return _ENCODER.encode(value)
    match value:
        case list():
            return f"[{','.join(map(dumped, value))}]"
        case dict():
            members = (f"{_ENCODER.encode(name)}:{dumped(one)}" for name, one in value.items())
            return f"{{{','.join(members)}}}"
        case _:
            return str(value)


def _holds_json_text(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_holds_json_text, value))
    if isinstance(value, dict):
        return any(map(_holds_json_text, value.values()))
    return isinstance(value, JsonText)


def _ensure_json(text: str) -> None:
    _DECODER.decode(text)


def _value(text: str, at: int) -> tuple[str, int]:
    begin = _after_space(text, at)
    _, end = _DECODER.raw_decode(text, begin)
    return text[begin:end], end


def _after_comma(text: str, at: int) -> int:
    at = _after_space(text, at)
    return _after_space(text, at + 1) if text[at] == "," else at


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
