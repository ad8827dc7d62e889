"""The files that a schema may refer to: its references and those that every registry knows.

    google/protobuf/*.proto                        from the protobuf library
    google/type/*.proto, confluent/*.proto         from `builtin_texts`

An import is the name of a file, never a path on a disk: `../x.proto` is a name like any other.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message as ProtoMessage
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf.builtin_texts import TEXTS
from duolog.schemas.protobuf.descriptor_parts import visible_files
from duolog.schemas.protobuf.descriptor_reader import DescriptorReader, decode_descriptor
from duolog.schemas.protobuf.descriptor_writer import DescriptorWriter
from duolog.schemas.protobuf.elements import File
from duolog.schemas.protobuf.option_reader import OptionReader
from duolog.schemas.protobuf.parser import parse_file
from duolog.schemas.protobuf.scope import Names, Scope, file_place, merged, names_of
from duolog.schemas.protobuf.text import file_text

_WELL_KNOWN = (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
_META = "confluent/meta.proto"
_TEXTS_KEPT = 256  # parsed references, which many versions of a subject share


class Library:
    """The files that one schema may refer to."""

    def __init__(self, references: Mapping[str, str]) -> None:
        """Parse the references.

        Args:
            references: the text of each file by its import path.

        Raises:
            InvalidSchemaError: a text is not a .proto file.
        """
        parsed: dict[str, File] = {}
        for path, text in references.items():
            try:
                parsed[path] = _reference(text)
            except InvalidSchemaError as error:
                raise InvalidSchemaError(
                    f'reference "{path}" is not a Protobuf schema', detail=error.message
                ) from error
        self.files: Mapping[str, File] = {**builtin_files(), **parsed}
        self._names = {**builtin_names(), **{path: names_of(parsed[path], path) for path in parsed}}
        self._all_names = merged(self._names.values())

    def scope(self, file: File) -> Scope:
        """Return the scope of the top level of a file that may refer to the library."""
        visible = visible_files((part.path for part in file.imports), self.files)
        imported = merged(self._names[path] for path in sorted(visible))
        return Scope((names_of(file, ""), imported), (self._all_names,), file_place(file))

    def parse(self, text: str) -> File:
        """Parse a text: the .proto language, or the base64 of a descriptor.

        Raises:
            InvalidSchemaError: the text is neither.
        """
        try:
            return parse_file(text)
        except InvalidSchemaError:
            descriptor = decode_descriptor(text)
            if descriptor is None:
                raise
            return read_descriptor(descriptor, lambda: self._option_pool(descriptor))

    def descriptor(
        self, file: File, path: str
    ) -> tuple[descriptor_pb2.FileDescriptorProto, DescriptorPool]:
        """Return the descriptor of a file, and a pool with it and all that it needs.

        Raises:
            InvalidSchemaError: protobuf refuses the file, or imports form a cycle.
        """
        writers = self._writers(file, path)
        pool = _pool(writers)
        if any(writer.custom.waiting for writer in writers):
            for writer in writers:
                writer.custom.interpret(pool)
            pool = _pool(writers)
        return writers[-1].descriptor, pool

    def _writers(self, file: File, path: str) -> list[DescriptorWriter]:
        """Return a writer for the file and each file that it needs, each after those it needs."""
        root = DescriptorWriter(file, self.scope(file), path, self.files)
        done: dict[str, DescriptorWriter] = {}
        open_paths: dict[str, None] = {path: None}
        stack = [(root, iter(root.descriptor.dependency))]
        while stack:
            writer, dependencies = stack[-1]
            needed = next((name for name in dependencies if name not in done), None)
            if needed is None:
                stack.pop()
                name = writer.descriptor.name
                done[name] = writer
                open_paths.pop(name, None)
                continue
            if needed in open_paths:
                raise InvalidSchemaError(
                    f'file "{needed}" imports itself', detail=f"Through {', '.join(open_paths)}."
                )
            open_paths[needed] = None
            other = self.files[needed]
            added = DescriptorWriter(other, self.scope(other), needed, self.files)
            stack.append((added, iter(added.descriptor.dependency)))
        return list(done.values())

    def _option_pool(self, descriptor: descriptor_pb2.FileDescriptorProto) -> DescriptorPool:
        """Return a pool with all extensions that the options of a descriptor may have."""
        known = [path for path in (*descriptor.dependency, _META) if path in self.files]
        pool = DescriptorPool()
        added: set[str] = set()
        for path in known:
            for writer in self._writers(self.files[path], path):
                if writer.descriptor.name not in added:
                    added.add(writer.descriptor.name)
                    _add(writer.descriptor, pool)
        own = descriptor_pb2.FileDescriptorProto()
        own.CopyFrom(descriptor)
        _add(own, pool)
        return pool


def read_descriptor(
    descriptor: descriptor_pb2.FileDescriptorProto, option_pool: Callable[[], DescriptorPool]
) -> File:
    """Return the file that a descriptor describes.

    Raises:
        InvalidSchemaError: the descriptor has names that no text can have.
    """
    pools: list[DescriptorPool] = []

    def with_extensions(options: ProtoMessage) -> ProtoMessage:
        if not len(UnknownFieldSet(options)):
            return options
        if not pools:
            pools.append(option_pool())
        message_type = pools[0].FindMessageTypeByName(options.DESCRIPTOR.full_name)
        return GetMessageClass(message_type).FromString(options.SerializeToString())

    file = DescriptorReader(descriptor, OptionReader(with_extensions)).file()
    return parse_file(file_text(file))


@cache
def builtin_files() -> Mapping[str, File]:
    """Return the files that every schema may import without a reference."""
    files = {path: parse_file(text) for path, text in TEXTS.items()}
    for module in _WELL_KNOWN:
        descriptor = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        files[descriptor.name] = read_descriptor(descriptor, DescriptorPool)
    return files


@cache
def builtin_names() -> Mapping[str, Names]:
    return {path: names_of(file, path) for path, file in builtin_files().items()}


@lru_cache(maxsize=_TEXTS_KEPT)
def _reference(text: str) -> File:
    return Library({}).parse(text)


def _pool(writers: Iterable[DescriptorWriter]) -> DescriptorPool:
    pool = DescriptorPool()
    for writer in writers:
        _add(writer.descriptor, pool)
    return pool


def _add(descriptor: descriptor_pb2.FileDescriptorProto, pool: DescriptorPool) -> None:
    try:
        pool.AddSerializedFile(descriptor.SerializeToString())
    except TypeError as error:
        reason = str(error).partition(": ")[2] or str(error)
        raise InvalidSchemaError(
            "protobuf refuses the schema", detail=f"{reason.strip().rstrip('.')}."
        ) from error
