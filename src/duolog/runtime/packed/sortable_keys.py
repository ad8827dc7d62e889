r"""Encode key columns as bytes that sort as the values do.

    BOOLEAN, INT, BIGINT, …   big-endian with the sign bit flipped
    DOUBLE                    IEEE 754 big-endian; sign bit flipped, or all bits if negative
    STRING, BYTES             the bytes; 00 as 00 FF; then 00 00
    null                      02; any other value starts with 01
    others                    a text of the value, as a STRING: equal for equal values only

The encoding of the first columns is a prefix of the whole, and no key is a prefix of another.
Source: FoundationDB's tuple layer.
"""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Final, cast

from duolog.plan.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INT, STRING, Type
from duolog.runtime.packed.hashable import hashable, identity
from duolog.serde.row import Row

_LONG: Final = struct.Struct(">Q")
_DOUBLE: Final = struct.Struct(">d")
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1
_NULL: Final = b"\2"
_GIVEN: Final = b"\1"
SORTED: Final = frozenset({BOOLEAN, INT, BIGINT, DOUBLE, STRING})
"""Types whose order is that of the encoding."""

Encode = Callable[[object], bytes]


class SortableKeys:
    r"""Encodes keys with columns of these types.

    Example:
        >>> keys = SortableKeys([STRING, BIGINT])
        >>> keys.encode(("a", -1)) < keys.encode(("a", 0)) < keys.encode(("a\0", -5))
        True
        >>> keys.encode(("a", 7)).startswith(keys.encode(("a",)))
        True
    """

    def __init__(self, types: Sequence[Type]) -> None:
        self._encoders = [_encoder(of) for of in types]

    def encode(self, key: Row) -> bytes:
        """Encode a key, or its first columns."""
        return b"".join(
            _NULL if value is None else _GIVEN + encode(value)
            for encode, value in zip(self._encoders, key, strict=False)
        )


def _encoder(of: Type) -> Encode:
    if of in {BOOLEAN, INT, BIGINT}:
        return _integer
    if of == DOUBLE:
        return _double
    if of == STRING:
        return lambda value: _text(cast("str", value).encode("utf-8", "surrogatepass"))
    if of == BYTES:
        return lambda value: _text(cast("bytes", value))
    return lambda value: _text(repr(identity(hashable(value))).encode("utf-8", "surrogatepass"))


def _integer(value: object) -> bytes:
    return _LONG.pack(cast("int", value) + _SIGN)


def _double(value: object) -> bytes:
    number = float(cast("float", value))
    if math.isnan(number):
        return _LONG.pack(_ALL)
    # -0.0 equals 0.0.
    (bits,) = _LONG.unpack(_DOUBLE.pack(number + 0.0))
    return _LONG.pack(bits ^ (_ALL if bits & _SIGN else _SIGN))


def _text(data: bytes) -> bytes:
    return data.replace(b"\0", b"\0\xff") + b"\0\0"
