"""The corpus of .proto texts: what we read of each is what Square Wire and protoc read."""

import re

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from conformance.protobuf.corpus import CORPUS, FOR_PROTOC, FOR_WIRE, Section, descriptors, sections
from duolog.schemas.protobuf import ProtobufSchema, parse
from duolog.schemas.protobuf.parser import parse_file
from duolog.schemas.protobuf.text import file_text

WIRE = sections("wire.txt")
PROTOC = descriptors()
# A descriptor does not keep the digits of a number, the case of a group in an option, or whether
# features were written as one block.
SPELLED_OTHERWISE = {
    "default_double.proto",
    "default_float.proto",
    "option_aggregates_extras.proto",
    "edition_2023.proto",
    "edition_features.proto",
}


def test_the_corpus_is_complete() -> None:
    assert len(CORPUS) > 150
    assert set(WIRE) == {section.name for section in FOR_WIRE}
    assert set(PROTOC) == {section.name for section in FOR_PROTOC}


@pytest.mark.parametrize("section", FOR_WIRE, ids=lambda section: section.name)
def test_each_declaration_is_read_as_wire_reads_it(section: Section) -> None:
    """Wire orders declarations differently: compare the lines, and what Wire's text means."""
    ours = file_text(parse_file(section.text))
    wire = WIRE[section.name].text

    assert _lines(ours) == _lines(wire)
    assert file_text(parse_file(wire)) == ours


@pytest.mark.parametrize("section", CORPUS.values(), ids=lambda section: section.name)
def test_the_canonical_text_stands_for_itself(section: Section) -> None:
    canonical = file_text(parse_file(section.text))

    assert file_text(parse_file(canonical)) == canonical


@pytest.mark.parametrize("section", FOR_PROTOC, ids=lambda section: section.name)
def test_the_descriptor_is_the_one_that_protoc_makes(section: Section) -> None:
    schema = _parsed(section)

    ours = _comparable(schema.descriptor, schema)

    assert ours == _comparable(PROTOC[section.name], schema)


@pytest.mark.parametrize("section", FOR_PROTOC, ids=lambda section: section.name)
def test_a_descriptor_in_base64_is_the_same_schema(section: Section) -> None:
    schema = _parsed(section)

    read_back = parse(schema.formatted("serialized"), _imported(section))

    assert (read_back.normalized() == schema.normalized()) is (
        section.name not in SPELLED_OTHERWISE
    )
    assert _lines_of_numbers(read_back) == _lines_of_numbers(schema)


@pytest.mark.parametrize("section", FOR_PROTOC, ids=lambda section: section.name)
def test_the_normalized_text_is_its_own_normal_form(section: Section) -> None:
    normalized = _parsed(section).normalized()

    assert parse(normalized, _imported(section)).normalized() == normalized
    assert _parsed(section).incompatibilities(parse(normalized, _imported(section))) == ()


def _lines(text: str) -> list[str]:
    return sorted(line.strip() for line in text.split("\n") if line.strip())


def _lines_of_numbers(schema: ProtobufSchema) -> list[str]:
    """Return the declarations of the normalized text, without options."""
    return re.findall(r"^ *[^ (].*? = -?[0-9]+", schema.normalized(), re.MULTILINE)


def _parsed(section: Section) -> ProtobufSchema:
    return parse(section.text, _imported(section))


def _imported(section: Section) -> dict[str, str]:
    """Return the texts of the corpus that a section imports, directly or through others."""
    found: dict[str, str] = {}
    waiting = [part.path for part in parse_file(section.text).imports]
    while waiting:
        path = waiting.pop()
        if path in CORPUS and path not in found:
            found[path] = CORPUS[path].text
            waiting.extend(part.path for part in parse_file(CORPUS[path].text).imports)
    return found


def _comparable(descriptor: FileDescriptorProto, schema: ProtobufSchema) -> Message:
    """Return a descriptor without what is documented to differ, with its custom options decoded."""
    copy = FileDescriptorProto()
    copy.CopyFrom(descriptor)
    copy.ClearField("name")
    _without_json_names(copy.extension)
    for message in copy.message_type:
        _simplify(message)
    _synthetic_last(copy.message_type, _groups(copy.extension))
    try:
        message_type = schema.pool.FindMessageTypeByName("google.protobuf.FileDescriptorProto")
    except KeyError:
        return copy
    return GetMessageClass(message_type).FromString(copy.SerializeToString())


def _simplify(message: DescriptorProto) -> None:
    _without_json_names(message.field)
    _without_json_names(message.extension)
    for nested in message.nested_type:
        _simplify(nested)
    groups = _groups(message.field) | _groups(message.extension)
    groups |= {nested.name for nested in message.nested_type if nested.options.map_entry}
    _synthetic_last(message.nested_type, groups)


def _without_json_names(fields: list[FieldDescriptorProto]) -> None:
    for field in fields:
        field.ClearField("json_name")


def _groups(fields: list[FieldDescriptorProto]) -> set[str]:
    kind = FieldDescriptorProto.TYPE_GROUP
    return {field.type_name.rpartition(".")[2] for field in fields if field.type == kind}


def _synthetic_last(messages: list[DescriptorProto], synthetic: set[str]) -> None:
    raw = [message.SerializeToString() for message in messages if message.name not in synthetic]
    raw += [message.SerializeToString() for message in messages if message.name in synthetic]
    del messages[:]
    messages.extend(DescriptorProto.FromString(part) for part in raw)
