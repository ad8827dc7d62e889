"""Converts the keys and values of cases to the bytes of a format, and back.

JSON        as written, numbers with all digits
DELIMITED   the text
KAFKA       the value, converted to the column's type
NONE        nothing
"""

import base64
import json
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from duolog.ksql.catalog.catalog import SourceWindow, SqlColumn, SqlFormat
from duolog.testing.qtt.cases import JsonObject
from duolog.testing.qtt.json_values import dumps
from duolog.testing.qtt.topic_schemas import plain_decode, plain_encode

_PACKED: Final = {"INT": ">i", "BIGINT": ">q", "DOUBLE": ">d"}


def encode(of: SqlFormat, columns: Sequence[SqlColumn], value: object) -> bytes | None:
    """Return the bytes of a case's value in a format.

    Raises:
        NotImplementedError: the format requires a schema registry, which is not configured.
    """
    if of.name == "PROTOBUF_NOSR" and value is not None:
        return plain_encode(of, columns, value)
    return None if value is None else _codec(of)[0](columns, value)


def decode(of: SqlFormat, columns: Sequence[SqlColumn], data: bytes | None) -> object:
    """Return the value of bytes in a format as cases have it: numbers are int, Decimal, float.

    Raises:
        NotImplementedError: the format requires a schema registry, which is not configured.
    """
    if of.name == "PROTOBUF_NOSR" and data is not None:
        return plain_decode(of, columns, data)
    return None if data is None else _codec(of)[1](columns, data)


_Encode = Callable[[Sequence[SqlColumn], object], bytes | None]
_Decode = Callable[[Sequence[SqlColumn], bytes], object]


def _codec(of: SqlFormat) -> tuple[_Encode, _Decode]:
    if of.name not in _CODECS:
        raise NotImplementedError(f"no schema registry is configured, which format {of.name} needs")
    return _CODECS[of.name]


def _text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


def _to_kafka(columns: Sequence[SqlColumn], value: object) -> bytes | None:
    of = columns[0].type.name if columns else "STRING"
    match of:
        case "INT" | "BIGINT":
            return struct.pack(_PACKED[of], int(_text(value)))
        case "DOUBLE":
            return struct.pack(_PACKED[of], float(_text(value)))
        case "BYTES":
            return base64.b64decode(_text(value))
        case _:
            return _text(value).encode()


def _from_kafka(columns: Sequence[SqlColumn], data: bytes) -> object:
    of = columns[0].type.name if columns else "STRING"
    if of in _PACKED:
        return struct.unpack(_PACKED[of], data)[0]
    return base64.b64encode(data).decode() if of == "BYTES" else data.decode()


_CODECS: Final[dict[str, tuple[_Encode, _Decode]]] = {
    "NONE": (lambda _columns, _value: None, lambda _columns, _data: None),
    "JSON": (
        lambda _columns, value: dumps(value).encode(),
        lambda _columns, data: json.loads(data, parse_float=Decimal),
    ),
    "DELIMITED": (
        lambda _columns, value: _text(value).encode(),
        lambda _columns, data: data.decode(),
    ),
    "KAFKA": (_to_kafka, _from_kafka),
}


def windowed(key: bytes | None, window: JsonObject | None) -> bytes | None:
    """Append the bounds of a window to a key."""
    if key is None or window is None:
        return key
    start = struct.pack(">q", int(window["start"]))
    if str(window.get("type", "time")).lower() == "session":
        return key + struct.pack(">q", int(window["end"])) + start
    return key + start


def unwindowed(
    data: bytes | None, window: SourceWindow | None
) -> tuple[bytes | None, tuple[int, int] | None]:
    """Return a key without its window, and the bounds."""
    if data is None or window is None:
        return data, None
    if window.size_ms is None:  # a session, or a window of the calendar
        end, start = struct.unpack(">qq", data[-16:])
        return data[:-16], (start, end)
    (start,) = struct.unpack(">q", data[-8:])
    return data[:-8], (start, start + window.size_ms)
