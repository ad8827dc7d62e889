"""One record as text: the JSON object of `consume -o jsonl` and `produce -i jsonl`, and formats.

    {"topic", "partition", "offset", "timestamp" ms, "headers" [[name, value]…], "key", "value"}

Key, value and header values are text, null, or `{"base64": "…"}` where the bytes are not UTF-8,
so that what `consume` wrote, `produce` writes back byte for byte.
"""

import base64
import binascii
import json
import re
from typing import Any, Final, NamedTuple

from duolog.core.errors import SerdeError

JsonText = str | dict[str, str] | None
Headers = list[tuple[str, bytes | None]]

_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "%": "%"}
_TOKEN: Final = re.compile(r"%(.)|\\(.)", re.DOTALL)


class TextRecord(NamedTuple):
    """A record as a command reads or writes it."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None = None
    topic: str = ""
    partition: int | None = None
    offset: int | None = None


def record_object(record: TextRecord) -> dict[str, object]:
    """Return the JSON object of a record."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "headers": [[name, to_json_text(value)] for name, value in record.headers],
        "key": to_json_text(record.key),
        "value": to_json_text(record.value),
    }


def read_record_object(line: str) -> TextRecord:
    """Read the JSON object of a record; only `key`, `value`, `headers` and `timestamp` count.

    A value that is itself an object, an array or a number is taken as JSON text.

    Raises:
        SerdeError: the line is not such an object.
    """
    try:
        tree = json.loads(line)
        headers = tree.get("headers") or []
        pairs = list(headers.items()) if isinstance(headers, dict) else headers
        timestamp = tree.get("timestamp")
        return TextRecord(
            key=from_json_text(tree.get("key")),
            value=from_json_text(tree.get("value")),
            headers=[(str(name), from_json_text(value)) for name, value in pairs],
            timestamp_ms=None if timestamp is None else int(timestamp),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise SerdeError(
            "a line is not a record",
            detail=f"{line.strip()[:200]}: {error}",
            hint='Write lines like {"key": "bob", "value": "42"}.',
        ) from error


def to_json_text(data: bytes | None) -> JsonText:
    """Return bytes as JSON holds them.

    Example:
        >>> to_json_text(b"bob"), to_json_text(b"\\xff"), to_json_text(None)
        ('bob', {'base64': '/w=='}, None)
    """
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def from_json_text(value: Any) -> bytes | None:
    """Return the bytes that `to_json_text` was given; other JSON values become JSON text."""
    match value:
        case None:
            return None
        case str():
            return value.encode()
        case {"base64": str(text), **rest} if not rest:
            return _from_base64(text)
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def render(pattern: str, record: TextRecord) -> bytes:
    r"""Return a record in kcat's format language.

    `%t` topic, `%p` partition, `%o` offset, `%T` timestamp in ms, `%k` key, `%v` or `%s` value,
    `%K` and `%S` their lengths (-1 for null), `%h` headers, `%%` a percent sign; `\n`, `\t`, `\r`.
    A null key or value is written as nothing.

    Example:
        >>> render("%k=%v\\n", TextRecord(b"bob", b"42", []))
        b'bob=42\n'
    """
    parts: list[bytes] = []
    end = 0
    for token in _TOKEN.finditer(pattern):
        parts += [pattern[end : token.start()].encode(), _field(token, record)]
        end = token.end()
    return b"".join([*parts, pattern[end:].encode()])


def _field(token: re.Match[str], record: TextRecord) -> bytes:
    if token[2]:
        return _ESCAPES.get(token[2], token[0]).encode()
    match token[1]:
        case "k":
            return record.key or b""
        case "v" | "s":
            return record.value or b""
        case "h":
            return b",".join(
                name.encode() + b"=" + (value or b"") for name, value in record.headers
            )
        case _:
            return _number_or_name(token, record).encode()


def _number_or_name(token: re.Match[str], record: TextRecord) -> str:
    fields: dict[str, object] = {
        "t": record.topic,
        "p": record.partition,
        "o": record.offset,
        "T": record.timestamp_ms,
        "K": -1 if record.key is None else len(record.key),
        "S": -1 if record.value is None else len(record.value),
        "%": "%",
    }
    return str(fields.get(token[1], token[0]))


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f'"{text}" is not base64') from error
