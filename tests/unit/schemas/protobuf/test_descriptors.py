"""Descriptors and message classes, and what protobuf refuses."""

import base64

import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass

from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf import parse
from duolog.schemas.protobuf.library import builtin_files

BUILTIN = sorted(builtin_files())


def test_a_message_class_writes_what_it_reads() -> None:
    references = {"../other.proto": 'syntax = "proto3"; package o; message M { sint64 n = 3; }'}
    text = """syntax = "proto3"; package p; import "../other.proto"; import "google/protobuf/timestamp.proto";
    message A { o.M m = 1; map<string, o.M> by_name = 2; google.protobuf.Timestamp at = 3; optional int32 x = 4; }"""
    message_class = parse(text, references).message_class("p.A")

    message = message_class(m={"n": -1}, by_name={"k": {"n": 2}}, x=0)
    message.at.FromMilliseconds(1500)
    read = message_class.FromString(message.SerializeToString())

    assert read == message
    assert read.HasField("x")
    assert message.SerializeToString().startswith(b"\x0a\x02\x18\x01")


@pytest.mark.parametrize("path", BUILTIN)
def test_each_built_in_file_can_be_imported(path: str) -> None:
    file = builtin_files()[path]
    schema = parse(f'syntax = "proto3"; import "{path}"; message A {{ .{file.package}.{file.messages[0].name if file.messages else "DayOfWeek"} f = 1; }}'
                   if file.messages else f'import "{path}"; message A {{}}', {})  # fmt: skip

    assert list(schema.descriptor.dependency) == [path]
    assert schema.message_class("A")


def test_a_built_in_message_is_the_librarys() -> None:
    schema = parse('import "google/protobuf/timestamp.proto"; message A {}', {})

    descriptor = schema.pool.FindFileByName("google/protobuf/timestamp.proto")

    ours = descriptor.message_types_by_name["Timestamp"]
    theirs = timestamp_pb2.Timestamp.DESCRIPTOR
    assert [(f.name, f.number, f.type) for f in ours.fields] == [
        (f.name, f.number, f.type) for f in theirs.fields
    ]


def test_a_reference_replaces_a_built_in_file() -> None:
    path = "google/type/date.proto"
    own = {path: 'syntax = "proto3"; package google.type; message Date { string iso = 1; }'}

    schema = parse(
        f'syntax = "proto3"; import "{path}"; message A {{ google.type.Date d = 1; }}', own
    )

    assert schema.message_class("A")(d={"iso": "2026-01-01"}).d.iso == "2026-01-01"


def test_an_import_that_nobody_gave_is_left_out_if_nothing_of_it_is_used() -> None:
    schema = parse(
        'import "gogoproto/gogo.proto"; message A { optional string a = 1 [(gogoproto.nullable) = false]; }',
        {},
    )

    assert list(schema.descriptor.dependency) == []
    [kept] = schema.descriptor.message_type[0].field[0].options.uninterpreted_option
    assert (kept.name[0].name_part, kept.identifier_value) == ("gogoproto.nullable", "false")


def test_a_type_of_a_file_that_is_not_imported_adds_the_import() -> None:
    schema = parse('syntax = "proto3"; message A { google.protobuf.Timestamp t = 1; }', {})

    assert list(schema.descriptor.dependency) == ["google/protobuf/timestamp.proto"]
    assert schema.message_class("A")


def test_the_imports_of_a_file_come_before_other_files() -> None:
    references = {
        "seen.proto": 'syntax = "proto3"; message M { int32 n = 1; }',
        "hidden.proto": 'syntax = "proto3"; package p; message M { string s = 1; }',
    }

    schema = parse(
        'syntax = "proto3"; package p; import "seen.proto"; message A { M m = 1; }', references
    )

    assert ".M m = 1;" in schema.normalized()
    assert list(schema.descriptor.dependency) == ["seen.proto"]


def test_custom_options_are_in_the_descriptor() -> None:
    text = """syntax = "proto3"; import "confluent/meta.proto";
    message A { string ssn = 1 [(confluent.field_meta) = { doc: "d" tags: ["PII"] }]; }"""
    schema = parse(text, {})

    kept = schema.pool.FindMessageTypeByName("A").fields_by_name["ssn"].GetOptions()

    option_type = schema.pool.FindMessageTypeByName("google.protobuf.FieldOptions")
    options = GetMessageClass(option_type).FromString(kept.SerializeToString())
    meta = options.Extensions[schema.pool.FindExtensionByName("confluent.field_meta")]
    assert (meta.doc, list(meta.tags)) == ("d", ["PII"])


def test_a_descriptor_with_custom_options_becomes_text() -> None:
    text = """syntax = "proto3"; package p; import "google/protobuf/descriptor.proto"; import "confluent/meta.proto";
    message O { string s = 1; repeated double d = 2; bytes b = 3; map<string, bool> m = 4; E e = 5; enum E { Z = 0; Y = 1; } }
    extend google.protobuf.FieldOptions { O opt = 50000; repeated int32 many = 50001; }
    message A { string a = 1 [(opt) = { s: "x" d: 1.5 d: inf b: "\\377" m: { key: "k" value: true } e: Y }, (many) = 1, (many) = 2];
      bytes c = 2 [(confluent.field_meta).params = { key: "precision" value: "4" }]; }"""
    schema = parse(text, {})

    read_back = parse(schema.formatted("serialized"), {})

    assert read_back.normalized() == schema.normalized().replace(
        'key: "precision",\n        value: "4"', 'value: "4",\n        key: "precision"'
    )
    assert 'value: "4",\n        key: "precision"' in read_back.canonical


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("string a = 1; string b = 1;", "number"),
        ("string a = 1; string a = 2;", "duplicate field name"),
        ("string a = 0;", "number"),
        ("string a = 536870912;", "number"),
        ("enum E {}", "at least one value"),
    ],
)
def test_what_protobuf_refuses_is_only_refused_when_a_descriptor_is_made(
    body: str, reason: str
) -> None:
    schema = parse(f'syntax = "proto3"; message A {{ {body} }}', {})

    with pytest.raises(InvalidSchemaError) as refused:
        schema.ensure_valid_fields()
    assert reason in f"{refused.value}".lower()


@pytest.mark.parametrize(
    "default",
    ['int32 a = 1 [default = "x"]', "string a = 1 [default = 5]", "bool a = 1 [default = 1]", "int32 a = 1 [default = 1.5]", "E a = 1 [default = {}]"],
)  # fmt: skip
def test_a_default_of_another_type_is_refused(default: str) -> None:
    schema = parse(f"message A {{ optional {default}; }} enum E {{ Z = 0; }}", {})

    with pytest.raises(
        InvalidSchemaError, match='the default of field "a" is not a value of its type'
    ):
        schema.ensure_valid_fields()


@pytest.mark.parametrize(
    "option", ["optimize_for = WRONG", "deprecated = 7", "java_package = { a: 1 }"]
)
def test_a_wrong_value_of_a_standard_option_is_refused(option: str) -> None:
    with pytest.raises(InvalidSchemaError, match="has a value that it cannot have"):
        parse(f"option {option};", {}).ensure_valid_fields()


def test_an_option_that_no_version_knows_is_kept_uninterpreted() -> None:
    text = "option a = 1; option b = -2; option c = 1.5; option d = 'x'; option e = F; option g = 0x99999999999999999999;"

    options = parse(text, {}).descriptor.options.uninterpreted_option

    assert [option.name[0].name_part for option in options] == list("abcdeg")
    assert (options[0].positive_int_value, options[1].negative_int_value) == (1, -2)
    assert (options[2].double_value, options[3].string_value, options[4].identifier_value) == (
        1.5,
        b"x",
        "F",
    )


def test_imports_that_form_a_cycle_are_refused() -> None:
    references = {
        "a": 'syntax = "proto3"; import "b"; message A { B b = 1; }',
        "b": 'syntax = "proto3"; import "a"; message B { A a = 1; }',
    }
    schema = parse('syntax = "proto3"; import "a"; message X { A a = 1; }', references)

    with pytest.raises(InvalidSchemaError, match='file "a" imports itself'):
        schema.ensure_valid_fields()


def test_a_descriptor_with_a_name_that_no_text_can_have_is_refused() -> None:
    hostile = FileDescriptorProto()
    hostile.message_type.add(name="A {} message B")
    hostile.message_type.add(name="x y")

    with pytest.raises(InvalidSchemaError):
        parse(base64.b64encode(hostile.SerializeToString()).decode(), {})


def test_a_wrong_reference_is_named() -> None:
    with pytest.raises(InvalidSchemaError, match=r'reference "x\.proto" is not a Protobuf schema'):
        parse("message A {}", {"x.proto": "nonsense"})


def test_equal_texts_are_equal_schemas() -> None:
    one, two = parse("message A {}", {}), parse("  message A { } // comment", {})

    assert one == two
    assert hash(one) == hash(two)
    assert one != parse("message B {}", {})
    assert repr(one) == "ProtobufSchema('A')"
