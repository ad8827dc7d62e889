"""Typed reading of the fields of a JSON object, in requests and in stored values.

Unknown fields are ignored and null is the same as absent, as everywhere in the registry. Where a
text is expected, a number or truth value is taken as its text; where a number is expected, a text
of digits is taken as the number: Jackson does both, and clients rely on it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

from duolog.registry.json_text import Json, dump

Fields = Mapping[str, Json]
T = TypeVar("T")
E = TypeVar("E", bound=Enum)

_SURROGATE = re.compile("[\ud800-\udfff]")
INT_MAX = 2**31 - 1


class FieldError(ValueError):
    """A field does not have the type that it must have."""


def text(fields: Fields, name: str) -> str | None:
    """Return a text, or None if it is absent."""
    value = fields.get(name)
    return None if value is None else as_text(value, name)


def boolean(fields: Fields, name: str) -> bool | None:
    """Return a truth value, or None if it is absent."""
    match fields.get(name):
        case None | bool() as value:
            return value
        case "true" | "false" as value:
            return value == "true"
        case value:
            raise FieldError(f"{name}: cannot read a boolean from {_shown(value)}")


def integer(fields: Fields, name: str) -> int | None:
    """Return a number of 32 bits, or None if it is absent."""
    value = fields.get(name)
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,10}", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not -INT_MAX - 1 <= value <= INT_MAX
    ):
        raise FieldError(f"{name}: cannot read a number of 32 bits from {_shown(value)}")
    return value


def long(fields: Fields, name: str) -> int | None:
    """Return a number of milliseconds, or None if it is absent."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        raise FieldError(f"{name}: cannot read a number of 64 bits from {_shown(value)}")
    return value


def texts(fields: Fields, name: str) -> tuple[str, ...]:
    """Return a list of texts; empty if it is absent."""
    return tuple(as_text(part, name) for part in _list(fields, name))


def texts_by_name(fields: Fields, name: str) -> dict[str, str]:
    """Return an object whose values are texts; empty if it is absent."""
    found = mapping(fields, name) or {}
    return {as_text(key, name): as_text(value, name) for key, value in found.items()}


def mapping(fields: Fields, name: str) -> Fields | None:
    """Return an object, or None if it is absent."""
    value = fields.get(name)
    if value is None:
        return None
    return as_fields(value, name)


def nested(fields: Fields, name: str, read: Callable[[Fields], T]) -> T | None:
    """Return an object read by `read`, or None if it is absent."""
    value = mapping(fields, name)
    return None if value is None else read(value)


def nested_list(fields: Fields, name: str, read: Callable[[Fields], T]) -> tuple[T, ...]:
    """Return a list of objects, each read by `read`; empty if it is absent."""
    return tuple(read(as_fields(part, name)) for part in _list(fields, name))


def choice(fields: Fields, name: str, kinds: type[E]) -> E | None:
    """Return a member of an enumeration by its name, or None if it is absent."""
    value = text(fields, name)
    if value is None:
        return None
    if value not in kinds.__members__:
        raise FieldError(f"{name}: {_shown(value)} is not one of {', '.join(kinds.__members__)}")
    return kinds[value]


def as_fields(value: Json, name: str) -> Fields:
    """Return `value` if it is an object."""
    if not isinstance(value, Mapping):
        raise FieldError(f"{name}: cannot read an object from {_shown(value)}")
    return value


def as_text(value: Json, name: str) -> str:
    """Return `value` as a text that UTF-8 can hold."""
    if isinstance(value, bool | int | float):
        return dump(value)
    if not isinstance(value, str):
        raise FieldError(f"{name}: cannot read a text from {_shown(value)}")
    if _SURROGATE.search(value):
        raise FieldError(f"{name}: the text holds half of a character")
    return value


def _list(fields: Fields, name: str) -> Sequence[Json]:
    value = fields.get(name)
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise FieldError(f"{name}: cannot read a list from {_shown(value)}")
    return value


def _shown(value: Json) -> str:
    match value:
        case Mapping():
            return "an object"
        case str() as found if len(found) > 40:
            return "a long text"
        case str() as found:
            return f"'{found.encode('utf-8', 'replace').decode()}'"
        case Sequence():
            return "a list"
        case bool():
            return dump(value)
        case _:
            return "a number"
