"""Byte forms of a record's key or value.

    string   text; bytes that are not UTF-8 are {"base64": "…"} in JSON
    int      4 bytes, big-endian                    1001
    bigint   8 bytes, big-endian                    1001
    double   8 bytes, big-endian IEEE 754           1.5
    boolean  1 byte, 0 or 1                         true
    json     the JSON itself                        {"id":1001}
    window   another form, then the bounds          [1001, 1357034400000, 1357038000000]

`pack_form` has kcat's pack strings, and `field_text` reads and writes fields as text.

Source: `org.apache.kafka.common.serialization`; `core.windowed_key`.
"""

import json
import math
import re
import struct
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.cli.text.json_bytes import from_json_text, to_json_text
from duolog.cli.text.json_text import JsonText, items_of, members_of
from duolog.core.counts import counted_are
from duolog.core.errors import SerdeError
from duolog.core.types import Column
from duolog.core.windowed_key import BOUND_BYTES, NO_END
from duolog.serde.json_compact import compact

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN_MAX: Final = 60
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_PACKED: Final = {"int": ">i", "bigint": ">q", "double": ">d", "boolean": ">?"}
_BOUNDS: Final = 2


TYPES: Final = ("string", *_PACKED, "json")


class FieldForm(Protocol):
    """Encoding of a key or value."""

    def decode(self, data: bytes) -> object:
        """Return the JSON value for these bytes.

        Raises:
            ValueError: the bytes are not in this form.
        """

    def encode(self, text: str) -> bytes:
        """Return the bytes for a text.

        Raises:
            SerdeError: the text is not in this form.
        """

    def encode_json(self, text: str) -> bytes:
        """Return the bytes for the text of a JSON value; raises as `encode`."""


class TextForm:
    """Text, or arbitrary bytes."""

    def decode(self, data: bytes) -> object:
        return to_json_text(data)

    def encode(self, text: str) -> bytes:
        return text.encode()

    def encode_json(self, text: str) -> bytes:
        data = from_json_text(text)
        assert data is not None
        return data


class UnreadForm(TextForm):
    """Bytes that look like those of a schema, and are shown as text or base64.

    Args:
        reason: why they cannot be decoded.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason


class JsonForm:
    """JSON text, with digits, names and order preserved and white space between tokens removed."""

    def decode(self, data: bytes) -> object:
        try:
            text = compact_checked(data.decode())
        except RecursionError:
            raise ValueError("its parts are nested too deeply") from None
        except ValueError:
            raise ValueError("it is not JSON") from None
        if text == "null" or is_base64(text):
            # `produce` would read it as null or as base64.
            raise ValueError(f"produce would read {text[:_SHOWN_MAX]} as null or base64")
        return JsonText(text)

    def encode(self, text: str) -> bytes:
        try:
            return compact_checked(text).encode()
        except (ValueError, RecursionError) as error:
            raise not_of("JSON", text) from error

    def encode_json(self, text: str) -> bytes:
        return compact(text).encode()


class PackedForm:
    """A number or a boolean in the encoding of Kafka's serializers."""

    def __init__(self, type_name: str) -> None:
        self._name = type_name
        self._struct = struct.Struct(_PACKED[type_name])
        self._read: Callable[[str], object] = {"double": _double, "boolean": _boolean}.get(
            type_name, integer
        )

    def decode(self, data: bytes) -> object:
        try:
            (value,) = self._struct.unpack(data)
        except struct.error:
            size = self._struct.size
            raise ValueError(
                f"{counted_are(len(data), 'byte')} not a {self._name.upper()}, which has {size}"
            ) from None
        if self._name == "boolean" and data > b"\1":
            raise ValueError("a BOOLEAN must be the byte 0 or 1")
        return _finite(value)

    def encode(self, text: str) -> bytes:
        try:
            return self._struct.pack(self._read(text))
        except (ValueError, struct.error) as error:
            raise not_of(self._name.upper(), text) from error

    def encode_json(self, text: str) -> bytes:
        return self.encode(json.loads(text) if text.startswith('"') else text)


class WindowForm:
    """A key of another form, followed by the bounds of its window.

    Args:
        inner: the form of the key without its window.
        size_ms: the size of all windows; None if keys also contain the end of the window
            (sessions).
    """

    def __init__(self, inner: FieldForm, size_ms: int | None) -> None:
        self._inner = inner
        self._size_ms = size_ms
        self._bytes = BOUND_BYTES if size_ms is not None else _BOUNDS * BOUND_BYTES

    def decode(self, data: bytes) -> object:
        if len(data) < self._bytes:
            raise ValueError(f"{counted_are(len(data), 'byte')} too short for a windowed key")
        key, start = self._inner.decode(data[: -self._bytes]), _at(data[-BOUND_BYTES:])
        if self._size_ms is not None:
            return [key, start, min(NO_END, start + self._size_ms)]
        return [key, start, _at(data[-self._bytes : -BOUND_BYTES])]

    def encode(self, text: str) -> bytes:
        raise SerdeError(
            "a line is not a record",
            detail=f'"{_shortened(text)}" is not a windowed key',
            hint="Use -i jsonl and write windowed keys as [key, start, end], with times in ms.",
        )

    def encode_json(self, text: str) -> bytes:
        try:
            key, start, end = items_of(text)
            bounds = (integer(start), integer(end))
            stored = bounds[:1] if self._size_ms is not None else bounds[::-1]
            tail = b"".join(bound.to_bytes(BOUND_BYTES, "big", signed=True) for bound in stored)
        except (ValueError, OverflowError) as error:
            raise not_of("a windowed key [key, start, end]", text) from error
        return self._inner.encode_json(key) + tail


PLAIN: Final = TextForm()


class Forms(NamedTuple):
    """The forms of a topic's keys and values."""

    key: FieldForm = PLAIN
    value: FieldForm = PLAIN


def form_of_type(type_name: str) -> FieldForm:
    """Return the form of one of `TYPES`.

    Example:
        >>> form_of_type("bigint").encode("1001"), form_of_type("int").decode(bytes(3) + b"*")
        (b'\\x00\\x00\\x00\\x00\\x00\\x00\\x03\\xe9', 42)
    """
    match type_name:
        case "string":
            return PLAIN
        case "json":
            return JsonForm()
        case _:
            return PackedForm(type_name)


def form_of_columns(columns: tuple[Column, ...]) -> FieldForm:
    """Return the form of a key: KAFKA for a single primitive column, else JSON."""
    name = str(columns[0].type).lower()
    return form_of_type(name) if len(columns) == 1 and name in TYPES else PLAIN


def is_base64(text: str) -> bool:
    """Return whether JSON text is a base64 object."""
    return text.startswith("{") and [(name, value[:1]) for name, value in members_of(text)] == [
        ("base64", '"')
    ]


def compact_checked(text: str) -> str:
    """Return JSON text without insignificant white space.

    Raises:
        ValueError: the text is not JSON.
    """
    if len(items_of(f"[{text}]")) != 1:
        raise ValueError("it is not one value")
    return compact(text)


def _at(bound: bytes) -> int:
    return int.from_bytes(bound, "big", signed=True)


def _finite(value: object) -> object:
    # JSON has no NaN or infinity; `encode` accepts their names.
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f'"{text}" is not an integer')
    return int(text)


def _double(text: str) -> float:
    if "_" in text or text != text.strip():
        raise ValueError(f'"{text}" is not a number')
    return float(text)


def _boolean(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError(f'"{text}" is neither true nor false')
    return text == "true"


def not_of(form: str, text: str) -> SerdeError:
    return SerdeError("a line is not a record", detail=f'"{_shortened(text)}" is not {form}')


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
