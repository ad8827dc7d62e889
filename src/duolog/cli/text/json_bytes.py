"""Represent bytes of keys, values and headers in JSON: as text, null, or `{"base64": "…"}`."""

import base64
import binascii
import json

from duolog.cli.text.json_text import members_of
from duolog.serde.json_compact import compact

JsonText = str | dict[str, str] | None


def to_json_text(data: bytes | None) -> JsonText:
    """Return the JSON representation of bytes.

    Example:
        >>> to_json_text(b"bob"), to_json_text(b"\\xff"), to_json_text(None)
        ('bob', {'base64': '/w=='}, None)
    """
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return in_base64(data)


def in_base64(data: bytes) -> dict[str, str]:
    """Return the JSON object that represents binary data."""
    return {"base64": base64.b64encode(data).decode()}


def from_json_text(text: str) -> bytes | None:
    """Return the bytes for JSON written by `to_json_text`; any other JSON is kept as its text.

    Example:
        >>> texts = '"bob"', '{"base64": "/w=="}', '{"n": 1.10}'
        >>> tuple(from_json_text(text) for text in texts)
        (b'bob', b'\\xff', b'{"n":1.10}')
    """
    match text[:1]:
        case "n":
            return None
        case '"':
            value: str = json.loads(text)
            return value.encode()
        case "{":
            match members_of(text):
                case [("base64", encoded)] if encoded[0] == '"':
                    return _from_base64(json.loads(encoded))
    return compact(text).encode()


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f'"{text}" is not base64') from error
