"""The schemas of messages: kio's generated dataclasses, looked at from outside.

A message class has `__flexible__`, and a field for each field of the message. The metadata of a
field gives its form on the wire: `kafka_type`, and `tag` if it is a tagged field.

Source: kio's `dataclasses.Field.metadata`.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, get_args, get_origin

if TYPE_CHECKING:  # Loading kio takes time, and the produce and fetch requests do without it.
    from kio.static.protocol import Entity

Fields = Mapping[str, object]
"""The fields of a message by name, as plain values."""

Schema: TypeAlias = "type[Entity]"
"""kio's class for a message, or for a part of one."""


def is_message(type_: object) -> TypeGuard[Schema]:
    """Return whether the type of a field is a class with fields of its own."""
    return isinstance(type_, type) and is_dataclass(type_)


def without_none(type_: object) -> tuple[object, bool]:
    """Return the type of a field without None, and whether it is nullable."""
    args = get_args(type_)
    if get_origin(type_) is tuple or NoneType not in args:
        return type_, False
    (inner,) = (arg for arg in args if arg is not NoneType)
    return inner, True
