"""Read keys and values from text, and write them as text or JSON.

Bytes that do not have the form are written as they are, or in JSON as base64.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Final

from duolog.cli.records.field_forms import PLAIN, FieldForm, TextForm, UnreadForm, is_base64
from duolog.cli.text.json_bytes import from_json_text, in_base64
from duolog.core.counts import counted
from duolog.core.errors import SerdeError
from duolog.core.printable import printable
from duolog.core.windowed_key import BOUND_BYTES

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TYPE_OF_SIZE: Final = {4: "INT", 8: "BIGINT"}


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
    if data is None or isinstance(form, TextForm):
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
    if is_base64(text):
        return from_json_text(text)
    try:
        return form.encode_json(text)
    except SerdeError as error:
        raise SerdeError(error.message, detail=f"{name} {error.detail}", hint=error.hint) from error


def problem_of(form: FieldForm, data: bytes, name: str) -> str:
    """Describe why a key or value cannot be decoded, with a hint; empty if it can.

    Example:
        >>> problem_of(PLAIN, b"bob", "key")
        ''
        >>> problem_of(PLAIN, bytes(8), "key")
        "the key is not text but 8 bytes; if it is a BIGINT, add --key 'id BIGINT'"
    """
    if form is not PLAIN:
        reason = _reason(form, data)
        return f"the {name} is shown unchanged: {reason}" if reason else ""
    if name != "key" or _is_text(data):
        return ""
    told = f"the key is not text but {counted(len(data), 'byte')}"
    if (type_name := _TYPE_OF_SIZE.get(len(data))) is not None:
        return (
            f"{told}; if it is {'an' if type_name == 'INT' else 'a'} {type_name}, add --key "
            f"'id {type_name}'"
        )
    if len(data) > BOUND_BYTES:
        return (
            f"{told}; if it ends with a window of 1 h, add --key 'name STRING' --key-window 1h, or "
            "read it as a topology does with --like FILE"
        )
    return f"{told}; specify its form with --key or --like"


def _reason(form: FieldForm, data: bytes) -> str:
    """Return why bytes are not of a form; empty if they are."""
    if isinstance(form, UnreadForm):
        return form.reason
    try:
        form.decode(data)
    except ValueError as error:
        return str(error)
    return ""


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


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return printable(text) == text
