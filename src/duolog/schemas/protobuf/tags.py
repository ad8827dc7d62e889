"""Tags of messages and fields, which Confluent's options `confluent.*_meta` hold.

    string ssn = 1 [(confluent.field_meta) = { tags: ["PII"] }];     ("sr_field", "Person.ssn"): PII

An entity is its kind (`sr_record`, `sr_field`) and its path without the package.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.elements import (
    Block,
    Field,
    File,
    Items,
    Kind,
    Message,
    NamePart,
    OneOf,
    Option,
    Scalar,
    Value,
    special_options_last,
)

RECORD = "sr_record"
FIELD = "sr_field"
_META = {RECORD: "confluent.message_meta", FIELD: "confluent.field_meta"}
_TAGS = "tags"

_Part = TypeVar("_Part")
Tags: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]


def tags_of(file: File) -> Tags:
    """Return the tags of each message and field that has some, in order of appearance."""
    return dict(_tagged(file.messages, ""))


def with_other_tags(file: File, add: Tags, remove: Tags) -> File:
    """Return the file with tags added, then others removed.

    Raises:
        InvalidSchemaError: a path leads to no message or field.
    """
    members = file.members
    for entity in {**add, **remove}:
        kind, path = entity
        names = path.removeprefix(".").split(".")
        change = _Change(kind, path, add.get(entity, ()), remove.get(entity, ()))
        members = change.below(members, names)
    return replace(file, members=members)


def _tagged(
    messages: Iterable[Message], prefix: str
) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    for message in messages:
        path = f"{prefix}{message.name}"
        tags = _tags(_meta(message.options, RECORD))
        if tags:
            yield (RECORD, path), tags
        for field in message.all_fields:
            tags = _tags(_meta(field.options, FIELD))
            if tags:
                yield (FIELD, f"{path}.{field.name}"), tags
        yield from _tagged(message.messages, f"{path}.")


class _Change:
    """Adds and removes the tags of one entity."""

    def __init__(self, kind: str, path: str, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
        self.kind = kind
        self.path = path
        self.add = add
        self.remove = remove

    def below(self, members: tuple[_Part, ...], names: list[str]) -> tuple[_Part, ...]:
        """Return the members, with the entity that the names lead to changed.

        Raises:
            InvalidSchemaError: the names lead nowhere.
        """
        for index, member in enumerate(members):
            changed = self._changed(member, names)
            if changed is not None:
                return (*members[:index], cast("_Part", changed), *members[index + 1 :])
        what = "message" if self.kind == RECORD else "field"
        raise InvalidSchemaError(f'the schema has no {what} "{self.path}"')

    def _changed(self, member: object, names: list[str]) -> object | None:
        """Return the changed member, or None if the names do not lead through it."""
        first, *rest = names
        if isinstance(member, Message) and member.name == first:
            return self._changed_message(member, rest)
        if self.kind == RECORD:
            return None
        if isinstance(member, Field) and names == [member.name]:
            return replace(member, options=special_options_last(self._options(member.options)))
        if isinstance(member, OneOf):
            inner = rest if rest and member.name == first else names
            if any(inner == [field.name] for field in member.fields):
                return replace(member, members=self.below(member.members, inner))
        return None

    def _changed_message(self, message: Message, names: list[str]) -> Message | None:
        if names:
            return replace(message, members=self.below(message.members, names))
        if self.kind != RECORD:
            return None
        others = [part for part in message.members if not isinstance(part, Option)]
        return replace(message, members=(*self._options(message.options), *others))

    def _options(self, options: Sequence[Option]) -> tuple[Option, ...]:
        meta = _meta(options, self.kind)
        tags = tuple(dict.fromkeys((*_tags(meta), *self.add)))
        kept = tuple(tag for tag in tags if tag not in self.remove)
        fields = {name: value for name, value in meta.items() if name != _TAGS}
        if kept:
            fields[_TAGS] = Items(tuple(Scalar(Kind.STRING, tag) for tag in kept))
        others = [option for option in options if not _is_meta(option, self.kind)]
        if not fields:
            return tuple(others)
        path = (NamePart(_META[self.kind], extension=True),)
        return (*others, Option(path, Block(tuple(fields.items()))))


def _is_meta(option: Option, kind: str) -> bool:
    return option.extension and option.name.removeprefix(".") == _META[kind]


def _meta(options: Iterable[Option], kind: str) -> dict[str, Value]:
    """Return the fields of Confluent's option, which may be written as several options."""
    fields: dict[str, Value] = {}
    for option in options:
        if not _is_meta(option, kind):
            continue
        value = option.value
        for part in reversed(option.path[1:]):
            value = Block(((part.name, value),))
        if not isinstance(value, Block):
            continue
        for name, part_value in value.fields:
            before = _listed(fields[name]) if name in fields else ()
            fields[name] = (
                Items(tuple(dict.fromkeys((*before, *_listed(part_value)))))
                if before
                else part_value
            )
    return fields


def _listed(value: Value) -> tuple[Value, ...]:
    return value.values if isinstance(value, Items) else (value,)


def _tags(meta: Mapping[str, Value]) -> tuple[str, ...]:
    values = _listed(meta[_TAGS]) if _TAGS in meta else ()
    return tuple(value.text for value in values if isinstance(value, Scalar))
