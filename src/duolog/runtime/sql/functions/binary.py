"""Convert bytes to strings and numbers, and back; unmappable characters become ? or U+FFFD."""

import base64
import re
import struct
import uuid
from typing import Final

_HEX: Final = re.compile("([0-9a-fA-F]{2})*")
_BASE64: Final = re.compile("[A-Za-z0-9+/]*={0,2}")
_QUOTED: Final = re.compile("[xX]'(.*)'")
_UUID_LENGTH: Final = 16
_ORDERS: Final = {"BIG_ENDIAN": ">", "LITTLE_ENDIAN": "<"}


def encode(text: str, given: str, wanted: str) -> str:
    """Convert a string between encodings; hexadecimal is lower case."""
    return _text(_bytes(_digits(text) if given.lower() == "hex" else text, given), wanted)


def to_bytes(text: str, encoding: str) -> bytes:
    return _bytes(text, encoding)


def from_bytes(data: bytes, encoding: str) -> str:
    """Encode bytes as a string; hexadecimal is upper case."""
    text = _text(data, encoding)
    return text.upper() if encoding.lower() == "hex" else text


def _digits(text: str) -> str:
    """Return the digits in 0x… and X'…', or the whole string."""
    if text.startswith("0x"):
        return ("" if len(text) % 2 == 0 else "0") + text[2:]
    quoted = _QUOTED.fullmatch(text)
    return quoted[1] if quoted else text


def _bytes(text: str, encoding: str) -> bytes:
    match encoding.lower():
        case "hex" if _HEX.fullmatch(text):
            return bytes.fromhex(text)
        case "utf8":
            return text.encode()
        case "ascii":
            return text.encode("ascii", "replace")
        case "base64" if _BASE64.fullmatch(text):
            # Java accepts missing padding, but not incomplete padding.
            padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
            return base64.b64decode(padded, validate=True)
        case _:
            raise ValueError(encoding)


def _text(data: bytes, encoding: str) -> str:
    match encoding.lower():
        case "hex":
            return data.hex()
        case "utf8":
            return data.decode("utf-8", "replace")
        case "ascii":
            return data.decode("ascii", "replace")
        case "base64":
            return base64.b64encode(data).decode()
        case _:
            raise ValueError(encoding)


def to_int(data: bytes, order: str = "BIG_ENDIAN") -> int:
    return int(struct.unpack(_ORDERS[order] + "i", data)[0])


def to_bigint(data: bytes, order: str = "BIG_ENDIAN") -> int:
    return int(struct.unpack(_ORDERS[order] + "q", data)[0])


def to_double(data: bytes, order: str = "BIG_ENDIAN") -> float:
    return float(struct.unpack(_ORDERS[order] + "d", data)[0])


def to_uuid(data: bytes) -> str | None:
    return str(uuid.UUID(bytes=data)) if len(data) == _UUID_LENGTH else None
