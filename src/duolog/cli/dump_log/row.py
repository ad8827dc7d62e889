"""A row of a dump: ordered fields, with `error` describing damage."""

import dataclasses
from collections.abc import Mapping
from enum import Enum

from duolog.cli.text.json_bytes import to_json_text

Row = dict[str, object]


def damaged(position: int | None, problem: str) -> Row:
    """Return the row for a damaged position."""
    place: Row = {} if position is None else {"position": position}
    return {**place, "error": problem}


def plain(value: object) -> object:
    """Convert the content of a decoded record to strings, numbers, lists and mappings."""
    fields = _fields(value)
    if fields is not None:
        return {name: plain(item) for name, item in fields.items()}
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value, key=str)]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return to_json_text(bytes(value))
    number_or_text = value is None or isinstance(value, bool | int | float | str)
    return value if number_or_text and not isinstance(value, Enum) else _name(value)


def _fields(value: object) -> Mapping[str, object] | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        named: dict[str, object] = value._asdict()
        return named
    if isinstance(value, Mapping):
        return {str(plain(key)): item for key, item in value.items()}
    return None


def _name(value: object) -> str:
    return value.name if isinstance(value, Enum) else str(value)
