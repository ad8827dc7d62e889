"""A file from a google.protobuf.FileDescriptorProto, which clients also register as a schema.

    "CgdhLnByb3RvIg…"  base64  →  descriptor  →  file  →  canonical text

Names of types are full and begin with a point. Entries of maps stay messages with the option
`map_entry`, because records count them when they name a message by its place.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.elements import (
    DEPTH_MAX,
    ENUM_NUMBER_MAX,
    FIELD_NUMBER_MAX,
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Import,
    Kind,
    Label,
    Member,
    Message,
    NamePart,
    OneOf,
    Option,
    Range,
    Reserved,
    Rpc,
    Scalar,
    Service,
)
from duolog.schemas.protobuf.option_reader import OptionReader
from duolog.schemas.protobuf.tokens import string_bytes

_Proto: TypeAlias = descriptor_pb2.FieldDescriptorProto
_LABELS = {
    _Proto.LABEL_OPTIONAL: Label.OPTIONAL,
    _Proto.LABEL_REQUIRED: Label.REQUIRED,
    _Proto.LABEL_REPEATED: Label.REPEATED,
}
_WORDS = frozenset({_Proto.TYPE_BOOL, _Proto.TYPE_ENUM})
_TEXTS = frozenset({_Proto.TYPE_STRING, _Proto.TYPE_BYTES})


def decode_descriptor(text: str) -> descriptor_pb2.FileDescriptorProto | None:
    """Return the descriptor whose base64 a text is; None if it is not one."""
    try:
        raw = base64.b64decode(text, validate=True)
        return descriptor_pb2.FileDescriptorProto.FromString(raw) if raw else None
    except (binascii.Error, ValueError, DecodeError):
        return None


class DescriptorReader:
    """Reads the parts of one descriptor."""

    def __init__(
        self, descriptor: descriptor_pb2.FileDescriptorProto, options: OptionReader
    ) -> None:
        self.descriptor = descriptor
        self.options = options
        self.is_proto3 = descriptor.syntax == "proto3"
        self.has_labels = descriptor.syntax in {"", "proto2"}

    def file(self) -> File:
        """Return the file.

        Raises:
            InvalidSchemaError: messages are nested too deep.
        """
        descriptor = self.descriptor
        edition = ""
        if descriptor.syntax == "editions":
            edition = descriptor_pb2.Edition.Name(descriptor.edition).removeprefix("EDITION_")
        extensions, groups = self.extends(descriptor.extension)
        return File(
            "" if edition else descriptor.syntax,
            edition,
            descriptor.package,
            self.imports(),
            (
                *self.options.read(descriptor.options),
                *self.messages(descriptor.message_type, groups, 1),
                *map(self.enum, descriptor.enum_type),
                *extensions,
                *map(self.service, descriptor.service),
            ),
        )

    def imports(self) -> tuple[Import, ...]:
        public = set(self.descriptor.public_dependency)
        weak = set(self.descriptor.weak_dependency)
        return tuple(
            Import(path, "public" if index in public else "weak" if index in weak else "")
            for index, path in enumerate(self.descriptor.dependency)
        )

    def messages(
        self, descriptors: Iterable[descriptor_pb2.DescriptorProto], groups: set[str], depth: int
    ) -> list[Message]:
        """Return the messages, without those that are part of a group."""
        if depth > DEPTH_MAX and list(descriptors):
            raise InvalidSchemaError(f"messages are nested more than {DEPTH_MAX} deep")
        return [
            Message(part.name, self.members(part, depth))
            for part in descriptors
            if part.name not in groups
        ]

    def members(self, message: descriptor_pb2.DescriptorProto, depth: int) -> tuple[Member, ...]:
        nested = {part.name: part for part in message.nested_type}
        fields: list[Field | Group] = []
        oneofs: dict[int, list[Field | Group]] = {}
        for field in message.field:
            in_oneof = field.HasField("oneof_index") and not field.proto3_optional
            place = oneofs.setdefault(field.oneof_index, []) if in_oneof else fields
            place.append(self.field_or_group(field, nested, depth, labelled=not in_oneof))
        extensions, groups = self.extends(message.extension, nested, depth)
        groups |= {part.name for part in _groups(fields, *oneofs.values())}
        return (
            *self.reserved(message.reserved_range, message.reserved_name, after_last=1),
            *self.options.read(message.options),
            *fields,
            *(
                OneOf(one.name, (*self.options.read(one.options), *oneofs[index]))
                for index, one in enumerate(message.oneof_decl)
                if index in oneofs
            ),
            *map(self.extension_range, message.extension_range),
            *extensions,
            *self.messages(message.nested_type, groups, depth + 1),
            *map(self.enum, message.enum_type),
        )

    def field_or_group(
        self,
        field: _Proto,
        nested: dict[str, descriptor_pb2.DescriptorProto],
        depth: int,
        *,
        labelled: bool,
    ) -> Field | Group:
        label = self.label(field) if labelled else None
        name = field.type_name.rpartition(".")[2]
        if field.type == _Proto.TYPE_GROUP and name in nested and depth < DEPTH_MAX:
            members = self.members(nested[name], depth + 1)
            options = tuple(self.options.read(field.options))
            return Group(label, name, field.number, members, options)
        return self.field(field, label)

    def field(self, field: _Proto, label: Label | None) -> Field:
        options = self.options.read(field.options)
        if field.HasField("default_value") and not self.is_proto3:
            options.append(Option((NamePart("default"),), _default(field)))
        if field.HasField("json_name"):
            json_name = Scalar(Kind.STRING, field.json_name)
            options.append(Option((NamePart("json_name"),), json_name))
        type_name = field.type_name or _Proto.Type.Name(field.type).removeprefix("TYPE_").lower()
        return Field(label, type_name, field.name, field.number, tuple(options))

    def label(self, field: _Proto) -> Label | None:
        if field.proto3_optional or field.label == _Proto.LABEL_REPEATED or self.has_labels:
            return Label.OPTIONAL if field.proto3_optional else _LABELS[field.label]
        return None

    def extends(
        self,
        fields: Iterable[_Proto],
        nested: dict[str, descriptor_pb2.DescriptorProto] | None = None,
        depth: int = 0,
    ) -> tuple[list[Extend], set[str]]:
        """Return the extensions by the message they extend, and the messages of their groups."""
        if nested is None:
            nested = {part.name: part for part in self.descriptor.message_type}
        extended: dict[str, list[Field | Group]] = {}
        for field in fields:
            part = self.field_or_group(field, nested, depth, labelled=True)
            extended.setdefault(field.extendee, []).append(part)
        extends = [Extend(name, tuple(parts)) for name, parts in extended.items()]
        return extends, {group.name for group in _groups(*extended.values())}

    def extension_range(self, part: descriptor_pb2.DescriptorProto.ExtensionRange) -> Extensions:
        last = FIELD_NUMBER_MAX if part.end == ENUM_NUMBER_MAX else part.end - 1
        numbers = _range(part.start, last)
        return Extensions((numbers,), tuple(self.options.read(part.options)))

    def enum(self, enum: descriptor_pb2.EnumDescriptorProto) -> Enum:
        return Enum(
            enum.name,
            (
                *self.reserved(enum.reserved_range, enum.reserved_name, after_last=0),
                *self.options.read(enum.options),
                *(
                    EnumValue(value.name, value.number, tuple(self.options.read(value.options)))
                    for value in enum.value
                ),
            ),
        )

    def service(self, service: descriptor_pb2.ServiceDescriptorProto) -> Service:
        rpcs = (
            Rpc(
                method.name,
                method.input_type,
                method.output_type,
                method.client_streaming,
                method.server_streaming,
                tuple(self.options.read(method.options)),
            )
            for method in service.method
        )
        return Service(service.name, (*self.options.read(service.options), *rpcs))

    def reserved(
        self,
        ranges: Iterable[
            descriptor_pb2.DescriptorProto.ReservedRange
            | descriptor_pb2.EnumDescriptorProto.EnumReservedRange
        ],
        names: Iterable[str],
        *,
        after_last: int,
    ) -> list[Reserved]:
        numbers = [Reserved((_range(part.start, part.end - after_last),)) for part in ranges]
        bare = self.descriptor.syntax == "editions"
        return [*numbers, *(Reserved((name,), bare) for name in names)]


def _groups(*places: Sequence[Field | Group]) -> list[Group]:
    return [part for place in places for part in place if isinstance(part, Group)]


def _range(first: int, last: int) -> Range:
    return Range(first, last, single=first == last)


def _default(field: _Proto) -> Scalar:
    text = field.default_value
    if field.type in _TEXTS:
        if field.type == _Proto.TYPE_BYTES:
            text = string_bytes(f'"{text}"').decode(errors="surrogateescape")
        return Scalar(Kind.STRING, text)
    word = field.type in _WORDS or text in {"inf", "nan"}
    return Scalar(Kind.WORD if word else Kind.NUMBER, text)
