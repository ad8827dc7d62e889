"""A file without what extensions add to it (`format=ignore_extensions`).

Custom options go, except Confluent's own, and so do `extend` and the numbers for extensions.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar, cast

from duolog.schemas.protobuf.elements import (
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Message,
    OneOf,
    Option,
    Rpc,
    Service,
)

_KEPT_PREFIX = "confluent."
_Part = TypeVar("_Part")


def without_extensions(file: File) -> File:
    """Return the file without extensions and the options that are extensions."""
    return replace(file, members=_members(file.members))


def _members(members: Iterable[_Part]) -> tuple[_Part, ...]:
    kept = tuple(
        _member(member)
        for member in members
        if not isinstance(member, Extend | Extensions) and _is_kept(member)
    )
    return cast("tuple[_Part, ...]", kept)


def _member(member: object) -> object:
    """Return a member of the same class without extensions."""
    changed = member
    match member:
        case Message():
            changed = Message(member.name, _members(member.members))
        case Enum():
            changed = Enum(member.name, _members(member.members))
        case Service():
            changed = Service(member.name, _members(member.members))
        case OneOf():
            changed = OneOf(member.name, _members(member.members))
        case Group():
            options = _members(member.options)
            changed = replace(member, members=_members(member.members), options=options)
        case Field() | EnumValue():
            changed = replace(member, options=_members(member.options))
        case Rpc(options=tuple(options)):
            changed = replace(member, options=_members(options))
    return changed


def _is_kept(member: object) -> bool:
    if not isinstance(member, Option):
        return True
    return not member.extension or member.name.startswith(_KEPT_PREFIX)
