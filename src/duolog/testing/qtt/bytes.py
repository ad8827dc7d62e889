"""Keys and values of cases as bytes of a format, and back."""

import base64
import json
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from duolog.ksql.catalog import SourceWindow, SqlColumn, SqlFormat
from duolog.plan.types import Type


def dumps(value: object) -> str:
    """Return JSON in which a Decimal keeps its digits."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            return "{" + ",".join(f"{json.dumps(k)}:{dumps(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(map(dumps, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def encode(of: SqlFormat, columns: Sequence[SqlColumn], value: object) -> bytes | None:
    """Return what a case gives as the bytes of a format."""
    if value is None or of.name == "NONE":
        return None
    match of.name:
        case "JSON":
            return dumps(value).encode()
        case "DELIMITED":
            return str(value).encode()
        case "KAFKA":
            return _kafka(columns[0].type, value)
        case _:
            raise NotImplementedError(of.name)


def _kafka(of: Type, value: object) -> bytes:
    match of.name:
        case "INT":
            return struct.pack(">i", int(str(value)))
        case "BIGINT":
            return struct.pack(">q", int(str(value)))
        case "DOUBLE":
            return struct.pack(">d", float(str(value)))
        case "BYTES":
            return base64.b64decode(str(value))
        case _:
            return str(value).encode()


def decode(of: SqlFormat, columns: Sequence[SqlColumn], data: bytes | None) -> object:
    """Return the bytes of a format as a case expects them."""
    if data is None or of.name == "NONE":
        return None
    match of.name:
        case "JSON":
            return json.loads(data, parse_float=Decimal)
        case "DELIMITED":
            return data.decode()
        case "KAFKA":
            return _of_kafka(columns[0].type, data)
        case _:
            raise NotImplementedError(of.name)


def _of_kafka(of: Type, data: bytes) -> object:
    match of.name:
        case "INT":
            return struct.unpack(">i", data)[0]
        case "BIGINT":
            return struct.unpack(">q", data)[0]
        case "DOUBLE":
            return Decimal(repr(struct.unpack(">d", data)[0]))
        case "BYTES":
            return base64.b64encode(data).decode()
        case _:
            return data.decode()


def windowed(key: bytes | None, window: dict[str, Any] | None) -> bytes | None:
    """Return a key with the bounds of its window behind it."""
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
    if window.kind == "SESSION":
        end, start = struct.unpack(">qq", data[-16:])
        return data[:-16], (start, end)
    (start,) = struct.unpack(">q", data[-8:])
    return data[:-8], (start, start + (window.size_ms or 0))


def same(found: object, wanted: object, of: Type | None = None) -> bool:
    """Tell if what was found is what is wanted: names of fields in any case, DOUBLE nearly."""
    match wanted:
        case dict() if isinstance(found, dict):
            return len(found) == len(wanted) and all(
                any(name in found and same(found[name], value) for name in (key, key.upper()))
                for key, value in wanted.items()
            )
        case list() if isinstance(found, list):
            return len(found) == len(wanted) and all(map(same, found, wanted))
        case bool() | None:
            return found is wanted
        case int() | Decimal() if isinstance(found, int | Decimal) and not isinstance(found, bool):
            if isinstance(found, Decimal) and isinstance(wanted, Decimal):
                return (
                    found == wanted
                    and (
                        found.as_tuple().exponent == wanted.as_tuple().exponent
                        or _is_double(found)
                        or _is_double(wanted)
                    )
                ) or abs(found - wanted) < Decimal("1e-6")
            return found == wanted
        case _:
            return found == wanted


def _is_double(value: Decimal) -> bool:
    return "E" in str(value)
