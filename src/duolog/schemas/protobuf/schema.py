"""A parsed Protobuf schema.

    text or base64 ──parse──→ File ──file_text──→ canonical text
                               │──normal_file──→ normalized text
                               └──DescriptorWriter──→ descriptor, message classes

Parsing does what Confluent's registry does when a schema is registered: it reads the text and finds
each type that the text names. Whether numbers and names are allowed and free is only checked when
a descriptor is made (`ensure_valid_fields`), as there with `validateFields`.
"""

import base64
from collections.abc import Mapping, Sequence
from functools import cached_property

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message as ProtoMessage
from google.protobuf.message_factory import GetMessageClass

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.differences import differences
from duolog.schemas.protobuf.elements import Enum, Extend, File, Message, Service, of
from duolog.schemas.protobuf.indexes import indexes_of, message_at
from duolog.schemas.protobuf.library import Library
from duolog.schemas.protobuf.normal import normal_file
from duolog.schemas.protobuf.tags import tags_of, with_other_tags
from duolog.schemas.protobuf.text import file_text
from duolog.schemas.protobuf.without_extensions import without_extensions
from duolog.schemas.schema import Incompatibility, Language, Policy

_OWN_PATH = "default"  # the name of a schema's own descriptor, as in Confluent's registry


def parse(text: str, references: Mapping[str, str], *, strict: bool = True) -> "ProtobufSchema":
    """Parse a Protobuf schema: a .proto text, or the base64 of a FileDescriptorProto.

    Args:
        text: the schema as a client sent it.
        references: the text of each imported file by its import path.
        strict: also find every type that the text names.

    Raises:
        InvalidSchemaError: the text is neither of the two, is nested too deep, or names a type
            that no given file defines.
    """
    for part in (text, *references.values()):
        if not part.isascii():
            _ensure_unicode(part)
    library = Library(references)
    schema = ProtobufSchema(library.parse(text), library)
    if strict:
        schema.normalized()
    return schema


class ProtobufSchema:
    """A Protobuf schema; equal to another if the canonical texts are."""

    language = Language.PROTOBUF

    def __init__(self, file: File, library: Library) -> None:
        self.file = file
        self.library = library

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProtobufSchema) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __repr__(self) -> str:
        return f"ProtobufSchema({self.name!r})"

    @cached_property
    def canonical(self) -> str:
        return file_text(self.file)

    @property
    def name(self) -> str | None:
        file = self._file_of_messages
        names = [
            *(message.name for message in file.messages),
            *(enum.name for enum in of(Enum, file.members)),
        ]
        return _full_name(file, names[0]) if names else None

    def normalized(self) -> str:
        return self._normalized

    @cached_property
    def _normalized(self) -> str:
        return file_text(normal_file(self.file, self.library.scope(self.file)))

    def formatted(self, form: str) -> str:
        match form.strip().lower():
            case "serialized":
                return base64.b64encode(self.descriptor.SerializeToString()).decode()
            case "ignore_extensions":
                return file_text(without_extensions(self.file))
            case _:
                return self.canonical

    def incompatibilities(
        self,
        writer: "ProtobufSchema",
        policy: Policy = Policy.STRICT,
    ) -> tuple[Incompatibility, ...]:
        del policy  # only JSON Schema differs between the policies
        return differences(
            writer.file,
            self.file,
            writer.library.scope(writer.file),
            self.library.scope(self.file),
        )

    def ensure_valid_fields(self) -> None:
        """Check what protobuf requires of numbers and names (the registry's `validateFields`).

        Raises:
            InvalidSchemaError: protobuf refuses the schema.
        """
        _ = self._descriptor_and_pool

    @property
    def descriptor(self) -> descriptor_pb2.FileDescriptorProto:
        """Return the schema's descriptor.

        Raises:
            InvalidSchemaError: protobuf refuses the schema.
        """
        return self._descriptor_and_pool[0]

    @property
    def pool(self) -> DescriptorPool:
        """Return a pool with the schema's descriptor and those of all files that it needs.

        Raises:
            InvalidSchemaError: protobuf refuses the schema.
        """
        return self._descriptor_and_pool[1]

    def message_class(self, full_name: str) -> type[ProtoMessage]:
        """Return the class of a message, for example `acme.Order.Item`.

        Raises:
            InvalidSchemaError: protobuf refuses the schema, or it has no such message.
        """
        try:
            found: type[ProtoMessage] = GetMessageClass(self.pool.FindMessageTypeByName(full_name))
        except KeyError:
            raise InvalidSchemaError(f'the schema has no message "{full_name}"') from None
        except RecursionError:  # the library makes the classes of all messages that it holds
            raise InvalidSchemaError(
                f'message "{full_name}" holds too long a chain of messages'
            ) from None
        return found

    def message_indexes(self, full_name: str) -> tuple[int, ...]:
        """Return the place of a message, as records name it.

        Raises:
            InvalidSchemaError: the schema has no such message.
        """
        file = self._file_of_messages
        prefix = f"{file.package}." if file.package else ""
        indexes = None
        if full_name.startswith(prefix):
            indexes = indexes_of(file, full_name.removeprefix(prefix))
        if indexes is None:
            raise InvalidSchemaError(f'the schema has no message "{full_name}"')
        return indexes

    def message_name(self, indexes: Sequence[int]) -> str:
        """Return the full name of the message at a place.

        Raises:
            InvalidSchemaError: the schema has no message at this place.
        """
        file = self._file_of_messages
        name = message_at(file, indexes)
        if name is None:
            raise InvalidSchemaError(f"the schema has no message at {list(indexes)}")
        return _full_name(file, name)

    def field_names(self) -> frozenset[str]:
        """Return the names of all fields of the messages of the top level."""
        return frozenset(
            field.name
            for message in self._file_of_messages.messages
            for field in message.all_fields
        )

    def tags(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        return tags_of(self.file)

    def with_tags(
        self,
        add: Mapping[tuple[str, str], tuple[str, ...]],
        remove: Mapping[tuple[str, str], tuple[str, ...]],
    ) -> str:
        return file_text(with_other_tags(self.file, add, remove))

    @cached_property
    def _descriptor_and_pool(self) -> tuple[descriptor_pb2.FileDescriptorProto, DescriptorPool]:
        return self.library.descriptor(self.file, _OWN_PATH)

    @cached_property
    def _file_of_messages(self) -> File:
        """Return the file, or the one that it does nothing but import publicly."""
        defines = (Message, Enum, Service, Extend)
        imports = self.file.imports
        if any(isinstance(part, defines) for part in self.file.members):
            return self.file
        if [part.kind for part in imports] != ["public"]:
            return self.file
        other = self.library.files.get(imports[0].path)
        has_types = other is not None and any(
            isinstance(part, Message | Enum) for part in other.members
        )
        return other if other is not None and has_types else self.file


def _full_name(file: File, name: str) -> str:
    return f"{file.package}.{name}" if file.package else name


def _ensure_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidSchemaError(
            f"character {error.start} of the schema is half of a surrogate pair"
        ) from error
