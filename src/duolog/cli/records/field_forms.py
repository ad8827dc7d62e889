"""Byte forms of a record's key or value, and how a command reads and writes them as text.

    string   text; bytes that are not UTF-8 are {"base64": "…"} in JSON
    int      4 bytes, big-endian                    1001
    bigint   8 bytes, big-endian                    1001
    double   8 bytes, big-endian IEEE 754           1.5
    boolean  1 byte, 0 or 1                         true
    json     the JSON itself                        {"id":1001}
    q, >ihs  kcat's pack strings                    1001 7 rest
    window   another form, then the bounds          [1001, 1357034400000, 1357038000000]

Bytes that do not have the form are written as they are, or in JSON as base64.

Source: `org.apache.kafka.common.serialization`; kcat's `-s`; `core.windowed_key`.
"""

import json
import math
import re
import struct
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.cli.text.json_bytes import from_json_text, in_base64, to_json_text
from duolog.cli.text.json_text import JsonText, compact, items_of, members_of
from duolog.core.errors import SerdeError
from duolog.core.printable import printable
from duolog.core.types import Column
from duolog.core.windowed_key import BOUND_BYTES, NO_END

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN_MAX: Final = 60
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_PACKED: Final = {"int": ">i", "bigint": ">q", "double": ">d", "boolean": ">?"}
_PACK_TOKENS: Final = "<>bBhHiIqQcs$"
_BOUNDS: Final = 2

_TYPE_OF_SIZE: Final = {4: "INT", 8: "BIGINT"}

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


class JsonForm:
    """JSON text, with digits, names and order preserved and white space between tokens removed."""

    def decode(self, data: bytes) -> object:
        try:
            text = compact_checked(data.decode())
        except RecursionError:
            raise ValueError("its parts are nested too deeply") from None
        except ValueError:
            raise ValueError("it is not JSON") from None
        if text == "null" or _is_base64(text):
            # `produce` would read it as null or as base64.
            raise ValueError(f"produce would read {text[:_SHOWN_MAX]} as null or base64")
        return JsonText(text)

    def encode(self, text: str) -> bytes:
        try:
            return compact_checked(text).encode()
        except (ValueError, RecursionError) as error:
            raise _not_of("JSON", text) from error

    def encode_json(self, text: str) -> bytes:
        return compact(text).encode()


class PackedForm:
    """A number or a boolean in the encoding of Kafka's serializers."""

    def __init__(self, type_name: str) -> None:
        self._name = type_name
        self._struct = struct.Struct(_PACKED[type_name])
        self._read: Callable[[str], object] = {"double": _double, "boolean": _boolean}.get(
            type_name, _integer
        )

    def decode(self, data: bytes) -> object:
        try:
            (value,) = self._struct.unpack(data)
        except struct.error:
            size = self._struct.size
            raise ValueError(
                f"{len(data)} bytes are not a {self._name.upper()}, which has {size}"
            ) from None
        if self._name == "boolean" and data > b"\1":
            raise ValueError("a BOOLEAN must be the byte 0 or 1")
        return _finite(value)

    def encode(self, text: str) -> bytes:
        try:
            return self._struct.pack(self._read(text))
        except (ValueError, struct.error) as error:
            raise _not_of(self._name.upper(), text) from error

    def encode_json(self, text: str) -> bytes:
        return self.encode(json.loads(text) if text.startswith('"') else text)


class PackForm:
    """kcat's pack strings, such as `q`, `<i`, `>hs`; in text, values are separated by spaces."""

    def __init__(self, pack: str) -> None:
        self._pack = pack
        self._parts: list[str] = []
        order, self._ends, self._has_rest = ">", False, False
        for letter in pack:
            if letter in "<>":
                order = letter
            elif letter == "$":
                self._ends = True
            elif letter == "s":
                self._has_rest = True
            else:
                self._parts.append(order + letter)

    def decode(self, data: bytes) -> object:
        values: list[object] = []
        at = 0
        for part in self._parts:
            try:
                (value,) = struct.unpack_from(part, data, at)
            except struct.error:
                raise ValueError(
                    f'{len(data)} bytes are too short for the pack string "{self._pack}"'
                ) from None
            values.append(value.decode("latin-1") if isinstance(value, bytes) else value)
            at += struct.calcsize(part)
        if self._has_rest:
            try:
                values.append(data[at:].decode())
            except UnicodeDecodeError:
                raise ValueError("its last field (s) is not UTF-8") from None
        elif self._ends and at < len(data):
            raise ValueError(f'{len(data)} bytes are too long for the pack string "{self._pack}"')
        return values[0] if len(values) == 1 else " ".join(map(str, values))

    def encode(self, text: str) -> bytes:
        data = b""
        try:
            texts = self._texts(text)
            for part, one in zip(self._parts, texts, strict=False):
                value = one.encode("latin-1") if part[1] == "c" else _integer(one)
                data += struct.pack(part, value)
        except (ValueError, struct.error) as error:
            raise _not_of(f'the pack string "{self._pack}"', text) from error
        return data + (texts[-1].encode() if self._has_rest else b"")

    def _texts(self, text: str) -> list[str]:
        """Split a text into one part for each letter, and the rest; a character may be a space."""
        found, left, count = [], text, len(self._parts) + self._has_rest
        for number, part in enumerate(self._parts, 1):
            at = len(left) if number == count else 1 if part[1] == "c" else left.find(" ")
            if number < count and left[at : at + 1] != " ":
                raise ValueError("it has fewer values than the pack string has letters")
            found.append(left[:at])
            left = left[at + 1 :]
        return [*found, left] if self._has_rest else found

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
            raise ValueError(f"{len(data)} bytes are too short for a windowed key")
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
            bounds = (_integer(start), _integer(end))
            stored = bounds[:1] if self._size_ms is not None else bounds[::-1]
            tail = b"".join(bound.to_bytes(BOUND_BYTES, "big", signed=True) for bound in stored)
        except (ValueError, OverflowError) as error:
            raise _not_of("a windowed key [key, start, end]", text) from error
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


def form_of_pack(pack: str) -> FieldForm:
    """Return the form of one of kcat's pack strings.

    Example:
        >>> form_of_pack("q").encode("1"), form_of_pack(">hs").decode(b"\\x00\\x07rest")
        (b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01', '7 rest')

    Raises:
        ValueError: it is not a pack string.
    """
    unknown = [token for token in pack if token not in _PACK_TOKENS]
    if unknown or not set(pack) - set("<>$"):
        raise ValueError(
            f'"{pack}" is not a pack string; use letters from bBhHiIqQcs after an optional < or >, '
            "such as q or >is"
        )
    if "s" in pack.rstrip("$")[:-1] or "$" in pack[:-1]:
        raise ValueError(f'"{pack}" is not a pack string: s must come last, $ at the end')
    return PackForm(pack)


def as_json(form: FieldForm, data: bytes | None) -> object:
    """Return a key or value as JSON; undecodable bytes as base64, which `produce` can read."""
    if data is None:
        return None
    try:
        return form.decode(data)
    except ValueError:
        return in_base64(data)


def as_bytes(form: FieldForm, data: bytes | None) -> bytes:
    """Return a key or value as text; empty for null, and undecodable bytes unchanged."""
    if data is None or form is PLAIN:
        return data or b""
    try:
        return as_text(form.decode(data)).encode()
    except ValueError:
        return data


def read_field(form: FieldForm, name: str, data: bytes) -> bytes:
    """Return the bytes of a key or value given as text; `name` is for the error.

    Raises:
        SerdeError: the text is not in this form.
    """
    if form is PLAIN:
        return data
    try:
        return form.encode(data.decode())
    except UnicodeDecodeError as error:
        raise SerdeError("a line is not a record", detail=f"{name} is not UTF-8") from error
    except SerdeError as error:
        raise SerdeError(error.message, detail=f"{name} {error.detail}", hint=error.hint) from error


def read_json_field(form: FieldForm, name: str, text: str) -> bytes | None:
    """Return the bytes of a key or value in a JSON line; accepts null and base64 in any form.

    Raises:
        SerdeError: the value is not in this form.
    """
    if text == "null":
        return None
    if _is_base64(text):
        return from_json_text(text)
    try:
        return form.encode_json(text)
    except SerdeError as error:
        raise SerdeError(error.message, detail=f"{name} {error.detail}", hint=error.hint) from error


def _is_base64(text: str) -> bool:
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


def problem_of(form: FieldForm, data: bytes, name: str) -> str:
    """Describe why a key or value cannot be decoded, with a hint; empty if it can.

    Example:
        >>> problem_of(PLAIN, b"bob", "key")
        ''
        >>> problem_of(PLAIN, bytes(8), "key")
        "the key is not text but 8 bytes; if it is a BIGINT, add --key 'id BIGINT'"
    """
    if form is not PLAIN:
        try:
            form.decode(data)
        except ValueError as error:
            return f"the {name} is shown unchanged: {error}"
        return ""
    if name != "key" or _is_text(data):
        return ""
    told = f"the key is not text but {len(data)} bytes"
    if (type_name := _TYPE_OF_SIZE.get(len(data))) is not None:
        return (
            f"{told}; if it is {'an' if type_name == 'INT' else 'a'} {type_name}, add --key "
            f"'id {type_name}'"
        )
    if len(data) > BOUND_BYTES:
        return (
            f"{told}; if it ends with a window of 1 h, add --key 'name STRING' "
            "--key-window 1h, "
            "or read it as a topology does with --like FILE"
        )
    return f"{told}; specify its form with --key or --like"


def as_text(value: object) -> str:
    """Return the text of a value returned by `decode`.

    Example:
        >>> as_text(7), as_text(["SFO", 0, 3_600_000])
        ('7', '(SFO, 1970-01-01T00:00:00.000Z, 1970-01-01T01:00:00.000Z)')
    """
    match value:
        case str():
            return value
        case [key, int(start), int(end)]:
            return f"({as_text(key)}, {_moment(start)}, {_moment(end)})"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _moment(at_ms: int) -> str:
    try:
        at = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return str(at_ms)
    return f"{at.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _at(bound: bytes) -> int:
    return int.from_bytes(bound, "big", signed=True)


def _finite(value: object) -> object:
    # JSON has no NaN or infinity; `encode` accepts their names.
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _integer(text: str) -> int:
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


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return printable(text) == text


def _not_of(form: str, text: str) -> SerdeError:
    return SerdeError("a line is not a record", detail=f'"{_shortened(text)}" is not {form}')


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
