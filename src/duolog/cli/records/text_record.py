"""Convert records to and from text: JSON objects (`-o jsonl`, `-i jsonl`) and kcat formats.

    {"topic", "partition", "offset", "timestamp" ms, "headers" [[name, value]…], "key", "value"}

Key, value and header values are text, null, or `{"base64": "…"}` if the bytes are not UTF-8.
`produce` therefore reproduces the output of `consume` byte for byte. `field_forms` defines the
other encodings of keys and values, such as numbers. Values with a schema are JSON, see
`registry_forms`; --value-format raw leaves them as they are.
"""

import json
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from duolog.cli.records.field_forms import Forms
from duolog.cli.records.field_text import as_bytes, as_json, read_json_field
from duolog.cli.text.json_bytes import from_json_text, to_json_text
from duolog.cli.text.json_text import items_of, members_of
from duolog.cli.text.times import TIME_MS_MAX, read_moment
from duolog.core.errors import SerdeError

Headers = list[tuple[str, bytes | None]]

TEXT: Final = Forms()

WRITTEN: Final = ("key", "value", "headers", "timestamp")
"""Fields of the JSON object that `produce` uses; it ignores the others that `consume` writes."""
PASSED_OVER: Final = ("topic", "partition", "offset")
FIELDS: Final = "tpoTkvsKSh"
"""Letters of the format language."""

_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "%": "%"}
_TOKEN: Final = re.compile(r"%(.|$)|\\x([0-9a-fA-F]{2})|\\(.|$)", re.DOTALL)


class TextRecord(NamedTuple):
    """A record as a command reads or writes it."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None = None
    topic: str = ""
    partition: int | None = None
    offset: int | None = None


class Field(NamedTuple):
    """A field of a record in a format."""

    letter: str


Format = tuple[bytes | Field, ...]


def record_object(record: TextRecord, forms: Forms = TEXT) -> dict[str, object]:
    """Return the JSON object of a record."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "headers": [[name, to_json_text(value)] for name, value in record.headers],
        "key": as_json(forms.key, record.key),
        "value": as_json(forms.value, record.value),
    }


def read_record_object(line: str, forms: Forms = TEXT) -> TextRecord:
    """Read the JSON object of a record; only the fields in `WRITTEN` matter.

    A key or value that is an object, an array, a number, true or false is stored as JSON text with
    its digits, names and order unchanged. A timestamp is a number of ms or an RFC 3339 string.

    Raises:
        SerdeError: the line is not such an object, or has unknown fields.
    """
    try:
        members = members_of(line)
        fields = dict(members)
        _check_fields(members)
        return TextRecord(
            key=read_json_field(forms.key, "key", fields.get("key", "null")),
            value=read_json_field(forms.value, "value", fields.get("value", "null")),
            headers=_headers(fields.get("headers", "null")),
            timestamp_ms=_timestamp(json.loads(fields.get("timestamp", "null"))),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise SerdeError(
            "a line is not a record",
            detail=f"{line.strip()[:200]}: {error}",
            hint='Write lines like {"key": "bob", "value": "42"}, or use -i text to read each '
            "line as a value.",
        ) from error


def _check_fields(members: list[tuple[str, str]]) -> None:
    names = [name for name, _ in members]
    if unknown := [name for name in names if name not in (*WRITTEN, *PASSED_OVER)]:
        raise ValueError(f'unknown field "{unknown[0]}"; the fields are {", ".join(WRITTEN)}')
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f'duplicate field "{twice[0]}"')
    if not {"key", "value"} & set(names):
        raise ValueError("it has neither key nor value")


def _headers(text: str) -> Headers:
    match text[0]:
        case "n":
            return []
        case "{":
            pairs = members_of(text)
        case "[":
            pairs = [_header(item) for item in items_of(text)]
        case _:
            raise TypeError("headers must be pairs of name and value, or an object")
    for name, _ in pairs:
        name.encode()  # A lone surrogate would crash the client with a segmentation fault.
    return [(name, from_json_text(value)) for name, value in pairs]


def _header(text: str) -> tuple[str, str]:
    items = items_of(text)
    name = json.loads(items[0]) if len(items) == 2 else None
    if not isinstance(name, str):
        raise TypeError(f"a header is not a pair of name and value: {text}")
    return name, items[1]


def _timestamp(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError("timestamp is neither ms since 1970 nor a time like 2013-01-01T10:15:00Z")
    try:
        time_ms = read_moment(value) if isinstance(value, str) else int(value)
    except OverflowError as error:
        raise ValueError(str(error)) from error
    if not 0 <= time_ms <= TIME_MS_MAX:
        raise ValueError(f"timestamp {value} is not between 0 and {TIME_MS_MAX}")
    return time_ms


def render(
    pattern: Format,
    record: TextRecord,
    forms: Forms = TEXT,
    clean: Callable[[bytes], bytes] = bytes,
) -> bytes:
    r"""Return a record in the format, with `clean` applied to each field.

    Example:
        >>> render(parse_format("%k=%v\\n"), TextRecord(b"bob", b"42", []))
        b'bob=42\n'
    """
    return b"".join(
        part if isinstance(part, bytes) else clean(_field(part.letter, record, forms))
        for part in pattern
    )


def parse_format(pattern: str) -> Format:
    r"""Read kcat's format language.

    `%t` topic, `%p` partition, `%o` offset, `%T` timestamp in ms, `%k` key, `%v` or `%s` value,
    `%K` and `%S` their lengths (-1 for null), `%h` headers, `%%` a percent sign; `\n`, `\t`, `\r`,
    `\0`, `\x0a`. A null key or value is written as the empty string.

    Raises:
        ValueError: a letter is unknown; the message lists the known ones.
    """
    parts: list[bytes | Field] = []
    end = 0
    for token in _TOKEN.finditer(pattern):
        parts += [pattern[end : token.start()].encode(), _part(token)]
        end = token.end()
    return (*parts, pattern[end:].encode())


def _part(token: re.Match[str]) -> bytes | Field:
    letter, code, escaped = token.groups()
    if code:
        return bytes([int(code, 16)])
    if escaped and escaped in _ESCAPES:
        return _ESCAPES[escaped].encode()
    if letter == "%":
        return b"%"
    if letter and letter in FIELDS:
        return Field(letter)
    known = " ".join(f"%{known}" for known in FIELDS)
    raise ValueError(f'unknown "{token[0]}"; use {known} %% \\n \\t \\r \\0 \\xHH')


def _field(letter: str, record: TextRecord, forms: Forms) -> bytes:
    match letter:
        case "k":
            return as_bytes(forms.key, record.key)
        case "v" | "s":
            return as_bytes(forms.value, record.value)
        case "h":
            return b",".join(
                name.encode() + b"=" + (value or b"") for name, value in record.headers
            )
        case _:
            return str(_number_or_name(letter, record)).encode()


def _number_or_name(letter: str, record: TextRecord) -> object:
    match letter:
        case "t":
            return record.topic
        case "p":
            return record.partition
        case "o":
            return record.offset
        case "T":
            return -1 if record.timestamp_ms is None else record.timestamp_ms
        case "K":
            return -1 if record.key is None else len(record.key)
        case _:
            return -1 if record.value is None else len(record.value)
