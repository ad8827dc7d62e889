"""Read MessagePack as JSON text: strict, bounded in depth, with all digits of integers.

Bytes are base64, extension types are `{"ext": type, "data": base64}`, keys of maps are texts.

Source: the specification of MessagePack.
"""

import base64
import json
import math
import struct
from typing import Any, Final

_DEPTH_MAX: Final = 64
_FIXED: Final = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS: Final = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_LENGTHS: Final = {
    0xC4: ("bin", 1),
    0xC5: ("bin", 2),
    0xC6: ("bin", 4),
    0xC7: ("ext", 1),
    0xC8: ("ext", 2),
    0xC9: ("ext", 4),
    0xD9: ("str", 1),
    0xDA: ("str", 2),
    0xDB: ("str", 4),
    0xDC: ("array", 2),
    0xDD: ("array", 4),
    0xDE: ("map", 2),
    0xDF: ("map", 4),
}
_FIXED_EXTENSIONS: Final = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


def text_of(data: bytes, *, containers: bool = False) -> str | None:
    r"""Return bytes as JSON; None if they are not one whole value of MessagePack.

    With `containers`, maps and arrays only: most short bytes are a number, too.

    Example:
        >>> text_of(b"\x82\xa1a\x01\xa1b\x93\xc0\xc3\xcb\x3f\xf8\0\0\0\0\0\0")
        '{"a":1,"b":[null,true,1.5]}'
        >>> text_of(b"\x82\xa1a\x01")
    """
    try:
        value, at = _value(data, 0, 0)
    except (ValueError, IndexError, struct.error):
        return None
    if at != len(data) or (containers and not isinstance(value, dict | list)):
        return None
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:  # noqa: PLR0911 - by first byte
    if depth > _DEPTH_MAX:
        raise ValueError("nested too deep")
    first = data[at]
    at += 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first < 0x90:
        return _map(data, at, first & 0x0F, depth)
    if first < 0xA0:
        return _array(data, at, first & 0x0F, depth)
    if first < 0xC0:
        return _text(data, at, first & 0x1F)
    if first in _FIXED:
        return _FIXED[first], at
    if first in _NUMBERS:
        return _number(data, at, _NUMBERS[first])
    if first in _FIXED_EXTENSIONS:
        return _extension(data, at, _FIXED_EXTENSIONS[first])
    return _with_length(data, at, first, depth)


def _with_length(data: bytes, at: int, first: int, depth: int) -> tuple[Any, int]:
    if first not in _LENGTHS:
        raise ValueError("not a type")
    kind, width = _LENGTHS[first]
    length = int.from_bytes(_bytes(data, at, width))
    at += width
    match kind:
        case "bin":
            return base64.b64encode(_bytes(data, at, length)).decode(), at + length
        case "str":
            return _text(data, at, length)
        case "ext":
            return _extension(data, at, length)
        case "array":
            return _array(data, at, length, depth)
        case _:
            return _map(data, at, length, depth)


def _bytes(data: bytes, at: int, length: int) -> bytes:
    found = data[at : at + length]
    if len(found) < length:
        raise ValueError("the end is missing")
    return found


def _text(data: bytes, at: int, length: int) -> tuple[str, int]:
    return _bytes(data, at, length).decode(), at + length


def _number(data: bytes, at: int, packing: str) -> tuple[float | str, int]:
    (value,) = struct.unpack_from(packing, data, at)
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)  # JSON has no such numbers.
    return value, at + struct.calcsize(packing)


def _extension(data: bytes, at: int, length: int) -> tuple[dict[str, object], int]:
    kind = int.from_bytes(_bytes(data, at, 1), signed=True)
    inner = _bytes(data, at + 1, length)
    return {"ext": kind, "data": base64.b64encode(inner).decode()}, at + 1 + length


def _array(data: bytes, at: int, length: int, depth: int) -> tuple[list[object], int]:
    found = []
    for _ in range(length):
        one, at = _value(data, at, depth + 1)
        found.append(one)
    return found, at


def _map(data: bytes, at: int, length: int, depth: int) -> tuple[dict[str, object], int]:
    found = {}
    for _ in range(length):
        name, at = _value(data, at, depth + 1)
        if isinstance(name, dict | list):
            raise ValueError("a key that is not a scalar")  # noqa: TRY004 - as for other bytes
        value, at = _value(data, at, depth + 1)
        found[name if isinstance(name, str) else json.dumps(name)] = value
    return found, at
