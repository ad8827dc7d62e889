"""A file in the form in which two files that mean the same are equal (`normalize=true`).

- Imports, options, fields, oneofs, reserved and extension ranges, and values of enums are sorted.
- Types have their full names with a leading point; entries of maps become map fields.
- `syntax = "proto2"`, which is also the meaning of no syntax, is left out.

Messages, enums, services and methods keep their order, because records name a message by its place.
Numbers in options keep all digits, while Confluent's registry keeps three after the point.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.elements import (
    SCALAR_TYPES,
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Import,
    Member,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
    Rpc,
    Service,
    of,
)
from duolog.schemas.protobuf.normal_options import normal_options
from duolog.schemas.protobuf.scope import Scope

_NAMES_LAST = 1 << 31  # reserved names come after reserved numbers
_Numbered = TypeVar("_Numbered", Field, Group)


def normal_file(file: File, scope: Scope) -> File:
    """Return the normal form of a file.

    Args:
        file: the file.
        scope: the scope of its top level.

    Raises:
        InvalidSchemaError: the file refers to a type that is not in the scope.
    """
    messages = of(Message, file.members)
    return File(
        file.syntax if file.syntax == "proto3" else "",
        file.edition,
        file.package,
        tuple(sorted(set(file.imports), key=_import_order)),
        (
            *normal_options(of(Option, file.members), scope),
            *(_message(part, scope) for part in messages if not part.is_map_entry),
            *(_enum(part, scope.inside(part.name)) for part in of(Enum, file.members)),
            *_extends(of(Extend, file.members), scope),
            *(_service(part, scope) for part in of(Service, file.members)),
        ),
    )


def full_type(name: str, scope: Scope) -> str:
    """Return the full name of a type, with a leading point.

    Raises:
        InvalidSchemaError: the scope has no such type.
    """
    found = scope.type_name(name)
    if found is None:
        place = ".".join(scope.place)
        raise InvalidSchemaError(
            f'type "{name}" is not defined',
            detail=f'It is used in "{place}".' if place else "",
            hint="Import the file that defines it, and register the file as a reference.",
        )
    return f".{found}"


def _import_order(part: Import) -> tuple[str, str]:
    return part.kind, part.path


def _message(message: Message, outer: Scope) -> Message:
    return Message(message.name, _members(message.members, outer.inside(message.name)))


def _members(members: Sequence[Member], scope: Scope) -> tuple[Member, ...]:
    messages = of(Message, members)
    return (
        *_reserved(of(Reserved, members)),
        *normal_options(of(Option, members), scope),
        *_by_number(of(Field, members), lambda field: _field(field, scope)),
        *_oneofs(of(OneOf, members), scope),
        *_by_number(of(Group, members), lambda group: _group(group, scope)),
        *_extension_ranges(of(Extensions, members), scope),
        *_extends(of(Extend, members), scope),
        *(_message(part, scope) for part in messages if not part.is_map_entry),
        *(_enum(part, scope.inside(part.name)) for part in of(Enum, members)),
    )


def _by_number(
    parts: Iterable[_Numbered], normal: Callable[[_Numbered], _Numbered]
) -> list[_Numbered]:
    return sorted(map(normal, parts), key=lambda part: part.number)


def _field(field: Field, scope: Scope) -> Field:
    options = tuple(normal_options(field.options, scope))
    if field.key_type is None and field.type not in SCALAR_TYPES:
        found = scope.type(field.type)
        entry = found.element if found else None
        if isinstance(entry, Message) and entry.is_map_entry:
            types = {part.name: part.type for part in of(Field, entry.members)}
            field = replace(
                field, label=None, key_type=types.get("key", ""), type=types.get("value", "")
            )
    type_name = field.type if field.type in SCALAR_TYPES else full_type(field.type, scope)
    return replace(field, type=type_name, options=options)


def _group(group: Group, scope: Scope) -> Group:
    return replace(
        group,
        members=_members(group.members, scope.inside(group.name)),
        options=tuple(normal_options(group.options, scope)),
    )


def _oneofs(oneofs: Iterable[OneOf], scope: Scope) -> list[OneOf]:
    normal = [
        OneOf(
            oneof.name,
            (
                *normal_options(of(Option, oneof.members), scope),
                *_by_number(oneof.fields, lambda field: _field(field, scope)),
                *_by_number(_groups(oneof), lambda group: _group(group, scope)),
            ),
        )
        for oneof in oneofs
        if oneof.fields or _groups(oneof)
    ]
    return sorted(normal, key=_first_number)


def _groups(oneof: OneOf) -> list[Group]:
    return of(Group, oneof.members)


def _first_number(oneof: OneOf) -> int:
    return next(part.number for part in oneof.members if not isinstance(part, Option))


def _extends(extends: Iterable[Extend], scope: Scope) -> list[Extend]:
    members: dict[str, list[Field | Group]] = {}
    for extend in extends:
        if extend.members:
            members.setdefault(full_type(extend.name, scope), []).extend(extend.members)
    return [
        Extend(
            name,
            (
                *_by_number(of(Field, parts), lambda field: _field(field, scope)),
                *_by_number(of(Group, parts), lambda group: _group(group, scope)),
            ),
        )
        for name, parts in members.items()
    ]


def _reserved(reserved: Iterable[Reserved]) -> list[Reserved]:
    parts = [Reserved((_short(value),), part.bare) for part in reserved for value in part.values]
    return sorted(parts, key=lambda part: _reserved_order(part.values[0]))


def _reserved_order(value: str | Range) -> tuple[int, str]:
    if isinstance(value, str):
        return _NAMES_LAST, value
    return value.first, str(value.first) if value.single else f"{value.first}..{value.last}"


def _extension_ranges(extensions: Iterable[Extensions], scope: Scope) -> list[Extensions]:
    parts = [
        Extensions((_short(numbers),), tuple(normal_options(part.options, scope)))
        for part in extensions
        for numbers in part.ranges
    ]
    return sorted(parts, key=lambda part: part.ranges[0].first)


_Value = TypeVar("_Value", str, Range, str | Range)


def _short(value: _Value) -> _Value:
    """Return a range of one number as this number."""
    if isinstance(value, Range) and value.first == value.last:
        return replace(value, single=True)
    return value


def _enum(enum: Enum, scope: Scope) -> Enum:
    values = (
        EnumValue(value.name, value.number, tuple(normal_options(value.options, scope)))
        for value in enum.values
    )
    return Enum(
        enum.name,
        (
            *_reserved(of(Reserved, enum.members)),
            *normal_options(of(Option, enum.members), scope),
            *sorted(values, key=lambda value: (value.number, value.name)),
        ),
    )


def _service(service: Service, scope: Scope) -> Service:
    rpcs = (
        replace(
            rpc,
            request=full_type(rpc.request, scope),
            response=full_type(rpc.response, scope),
            options=tuple(normal_options(rpc.options or (), scope)),
        )
        for rpc in of(Rpc, service.members)
    )
    return Service(service.name, (*normal_options(of(Option, service.members), scope), *rpcs))
