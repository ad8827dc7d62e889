"""A google.protobuf.FileDescriptorProto of a file, from which protobuf makes message classes.

It equals what protoc makes of the same text, except for four things:

- `json_name` is only set if the text sets it, and there is no source info.
- Messages that no text names (entries of maps, groups) come after all others, because a record
  names its message by the place among the messages of the text.
- An import that is not among the given files is left out, and a file that is used without an
  import is added, as Confluent's registry accepts both.
- Options of extensions that no given file defines stay uninterpreted.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias

from google.protobuf import descriptor_pb2
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.message import Message as ProtoMessage

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.descriptor_parts import (
    add_synthetic_oneofs,
    default_text,
    map_entry_name,
    reserve,
    visible_files,
    widen_message_set,
)
from duolog.schemas.protobuf.elements import (
    SCALAR_TYPES,
    SPECIAL_OPTIONS,
    Enum,
    EnumValue,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Label,
    Message,
    OneOf,
    Option,
    Reserved,
    Rpc,
    Scalar,
    Service,
    of,
)
from duolog.schemas.protobuf.option_writer import CustomOptions
from duolog.schemas.protobuf.scope import Scope

_Proto: TypeAlias = descriptor_pb2.FieldDescriptorProto
_TYPES = {name: _Proto.Type.Value(f"TYPE_{name.upper()}") for name in SCALAR_TYPES}
_LABELS = {
    None: _Proto.LABEL_OPTIONAL,
    Label.OPTIONAL: _Proto.LABEL_OPTIONAL,
    Label.REQUIRED: _Proto.LABEL_REQUIRED,
    Label.REPEATED: _Proto.LABEL_REPEATED,
}


_Fields: TypeAlias = RepeatedCompositeFieldContainer[_Proto]


class _HasOptions(Protocol):
    @property
    def options(self) -> ProtoMessage: ...


class DescriptorWriter:
    """Writes the descriptor of one file.

    Attributes:
        descriptor: the descriptor, complete except for custom options.
        custom: its custom options, which can only be interpreted by a pool with the descriptor.
    """

    def __init__(self, file: File, scope: Scope, path: str, known: Mapping[str, File]) -> None:
        """Write the descriptor.

        Args:
            file: the file.
            scope: the scope of its top level.
            path: the name of the descriptor, by which other files import it.
            known: the files that it may import, by path.

        Raises:
            InvalidSchemaError: a type is not defined, or a value is not of the type of its option.
        """
        self.file = file
        self.custom = CustomOptions()
        self.used_files: dict[str, None] = {}
        self.descriptor = descriptor_pb2.FileDescriptorProto(name=path, package=file.package)
        if not file.package:
            self.descriptor.ClearField("package")
        if file.edition:
            self.descriptor.syntax = "editions"
            self.descriptor.edition = descriptor_pb2.Edition.Value(f"EDITION_{file.edition}")
        elif file.is_proto3:
            self.descriptor.syntax = "proto3"
        self._write_members(scope)
        self._write_imports(known)

    def _write_members(self, scope: Scope) -> None:
        target = self.descriptor
        synthetic: list[Group] = []
        for member in self.file.members:
            if isinstance(member, Message):
                self._message(member.name, member.members, target.message_type.add(), scope)
            elif isinstance(member, Enum):
                self._enum(member, target.enum_type.add(), scope)
            elif isinstance(member, Service):
                self._service(member, target.service.add(), scope)
            elif isinstance(member, Extend):
                synthetic.extend(self._extend(member, target.extension, scope))
        for group in synthetic:
            self._message(group.name, group.members, target.message_type.add(), scope)
        self._options(of(Option, self.file.members), target, scope)

    def _write_imports(self, known: Mapping[str, File]) -> None:
        for part in self.file.imports:
            if part.path not in known or part.path in self.descriptor.dependency:
                continue
            if part.kind == "public":
                self.descriptor.public_dependency.append(len(self.descriptor.dependency))
            elif part.kind == "weak":
                self.descriptor.weak_dependency.append(len(self.descriptor.dependency))
            self.descriptor.dependency.append(part.path)
        visible = visible_files(self.descriptor.dependency, known)
        self.descriptor.dependency.extend(path for path in self.used_files if path not in visible)

    def _options(
        self,
        options: Iterable[Option],
        target: _HasOptions,
        scope: Scope,
    ) -> None:
        options = tuple(options)
        if options:
            self.custom.write(options, target.options, scope)

    def _type_name(self, name: str, scope: Scope) -> tuple[str, bool]:
        """Return the full name of a type with a leading point, and whether it is an enum."""
        full_name = scope.type_name(name)
        found = scope.type_at(full_name) if full_name else None
        if found is None:
            raise InvalidSchemaError(f'type "{name}" is not defined')
        if found.file:
            self.used_files[found.file] = None
        return f".{full_name}", isinstance(found.element, Enum)

    def _message(
        self,
        name: str,
        members: Iterable[object],
        target: descriptor_pb2.DescriptorProto,
        outer: Scope,
    ) -> None:
        scope = outer.inside(name)
        target.name = name
        synthetic: list[Group | Field] = []
        members = tuple(members)
        for member in members:
            if isinstance(member, Field):
                synthetic.extend(self._field(member, target.field.add(), scope))
            elif isinstance(member, Group):
                synthetic.append(self._group(member, target.field.add(), scope))
            elif isinstance(member, OneOf):
                synthetic.extend(self._oneof(member, target, scope))
            elif isinstance(member, Message):
                self._message(member.name, member.members, target.nested_type.add(), scope)
            elif isinstance(member, Enum):
                self._enum(member, target.enum_type.add(), scope)
            elif isinstance(member, Extend):
                synthetic.extend(self._extend(member, target.extension, scope))
            elif isinstance(member, Extensions):
                self._extensions(member, target, scope)
            elif isinstance(member, Reserved):
                reserve(member, target)
        for part in synthetic:
            if isinstance(part, Group):
                self._message(part.name, part.members, target.nested_type.add(), scope)
            else:
                self._map_entry(part, target.nested_type.add(), scope)
        self._options(of(Option, members), target, scope)
        add_synthetic_oneofs(target)
        widen_message_set(target)

    def _field(self, field: Field, target: _Proto, scope: Scope) -> list[Field]:
        """Write a field, and return it if it is a map, whose entry is another message."""
        target.name = field.name
        target.number = field.number
        target.label = _LABELS[field.label]
        if field.key_type is not None:
            target.label = _Proto.LABEL_REPEATED
            target.type = _Proto.TYPE_MESSAGE
            target.type_name = "." + ".".join((*scope.place, map_entry_name(field.name)))
        else:
            self._set_type(field.type, target, scope)
        if self.file.is_proto3 and field.label is Label.OPTIONAL:
            target.proto3_optional = True
        for option in field.options:
            if option.name == "default":
                target.default_value = default_text(option, target)
            elif option.name == "json_name" and isinstance(option.value, Scalar):
                target.json_name = option.value.text
        usual = [option for option in field.options if option.name not in SPECIAL_OPTIONS]
        self._options(usual, target, scope)
        return [field] if field.key_type is not None else []

    def _set_type(self, name: str, target: _Proto, scope: Scope) -> None:
        if name in _TYPES:
            target.type = _TYPES[name]
            return
        target.type_name, is_enum = self._type_name(name, scope)
        target.type = _Proto.TYPE_ENUM if is_enum else _Proto.TYPE_MESSAGE

    def _map_entry(
        self, field: Field, target: descriptor_pb2.DescriptorProto, scope: Scope
    ) -> None:
        target.name = map_entry_name(field.name)
        target.options.map_entry = True
        key = target.field.add(name="key", number=1, label=_Proto.LABEL_OPTIONAL)
        self._set_type(field.key_type or "", key, scope)
        value = target.field.add(name="value", number=2, label=_Proto.LABEL_OPTIONAL)
        self._set_type(field.type, value, scope)

    def _group(self, group: Group, target: _Proto, scope: Scope) -> Group:
        target.name = group.name.lower()
        target.number = group.number
        target.label = _LABELS[group.label]
        target.type = _Proto.TYPE_GROUP
        target.type_name = "." + ".".join((*scope.place, group.name))
        self._options(group.options, target, scope)
        return group

    def _oneof(
        self, oneof: OneOf, target: descriptor_pb2.DescriptorProto, scope: Scope
    ) -> list[Group]:
        index = len(target.oneof_decl)
        declared = target.oneof_decl.add(name=oneof.name)
        groups: list[Group] = []
        for member in oneof.members:
            if isinstance(member, Field):
                field = target.field.add(oneof_index=index)
                self._field(member, field, scope)
            elif isinstance(member, Group):
                groups.append(self._group(member, target.field.add(oneof_index=index), scope))
        self._options(of(Option, oneof.members), declared, scope)
        return groups

    def _extend(self, extend: Extend, target: _Fields, scope: Scope) -> list[Group]:
        extendee, _ = self._type_name(extend.name, scope)
        groups: list[Group] = []
        for member in extend.members:
            field = target.add(extendee=extendee)
            if isinstance(member, Group):
                groups.append(self._group(member, field, scope))
            else:
                self._field(member, field, scope)
        return groups

    def _extensions(
        self, extensions: Extensions, target: descriptor_pb2.DescriptorProto, scope: Scope
    ) -> None:
        for numbers in extensions.ranges:
            added = target.extension_range.add(start=numbers.first, end=numbers.last + 1)
            self._options(extensions.options, added, scope)

    def _enum(self, enum: Enum, target: descriptor_pb2.EnumDescriptorProto, outer: Scope) -> None:
        scope = outer.inside(enum.name)
        target.name = enum.name
        for member in enum.members:
            if isinstance(member, EnumValue):
                value = target.value.add(name=member.name, number=member.number)
                self._options(member.options, value, scope)
            elif isinstance(member, Reserved):
                reserve(member, target)
        self._options(of(Option, enum.members), target, scope)

    def _service(
        self, service: Service, target: descriptor_pb2.ServiceDescriptorProto, scope: Scope
    ) -> None:
        target.name = service.name
        for rpc in of(Rpc, service.members):
            method = target.method.add(name=rpc.name)
            method.input_type, _ = self._type_name(rpc.request, scope)
            method.output_type, _ = self._type_name(rpc.response, scope)
            if rpc.request_streaming:
                method.client_streaming = True
            if rpc.response_streaming:
                method.server_streaming = True
            if rpc.options is not None:
                method.options.SetInParent()
                self._options(rpc.options, method, scope)
        self._options(of(Option, service.members), target, scope)
