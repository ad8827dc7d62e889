"""Formats with schemas as calls of the kernel's functions."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from duolog.core.types import INT, TIME, Array, Column, Map, Struct, parse_columns, render_columns
from duolog.engine.lowering.formats.formats import decode, encode
from duolog.engine.lowering.lower import lower
from duolog.ksql.session import SqlSession
from duolog.plan.cutting.levels import find_levels
from duolog.plan.formats import Format
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.source import provide, withdraw
from duolog.serde.wire_format import KEY_HEADER, VALUE_HEADER

REGISTRY = ("registry", "http://127.0.0.1:8081")
ONE = parse_columns("A INT")
TWO = parse_columns("A INT, B MAP<INT, STRING>")
ADDRESS = "mock://test-lowering"


@pytest.fixture
def registry() -> Iterator[InProcessRegistry]:
    made = InProcessRegistry()
    provide(ADDRESS, made)
    yield made
    withdraw(ADDRESS)


def options_of(call: str) -> dict[str, Any]:
    """Return the options in a call, its last argument."""
    text = call[call.rindex(", '{") + 3 : -2]
    found = json.loads(re.sub(r"\\(.)", r"\1", text))
    assert isinstance(found, dict)
    return found


def file_of(options: dict[str, Any]) -> FileDescriptorProto:
    return FileDescriptorProto.FromString(base64.b64decode(options["descriptor"]))


def test_a_record_is_read_with_the_schema_of_its_id_alone() -> None:
    of = Format("AVRO", (("id", "7"), REGISTRY, ("schema", '"int"')))

    decoded = decode(of, TWO, "value", first=3)

    assert decoded.columns == ["p3.`A`", "p3.`B`"]
    assert decoded.is_null == "p3 IS NULL"
    assert decoded.corrupt == "false"  # the kernel's function fails
    ddl = "`A` INT, `B` MAP<INT, STRING>"
    problem = "its value is not AVRO of (A INT, B MAP<INT, STRING>)"
    options = f'{{"registry": "http://127.0.0.1:8081", "problem": "{problem}"}}'
    header = "duolog_header(headers, '__value_schema_id')"
    source = f"coalesce(concat({header}, value), value)"
    assert decoded.parsed == [f"duolog_avro_read({source}, '{ddl}', '{options}')"]


def test_a_record_is_written_with_the_schema_of_its_format() -> None:
    of = Format("AVRO", (("id", "7"), REGISTRY, ("schema", '"int"')))

    written = encode(of, ONE, ["v0"], "value")

    assert written.startswith("duolog_avro_write(struct(v0), '`A` INT', ")
    assert '"id": "7"' in written
    assert '"single"' not in written


@pytest.mark.parametrize(
    ("part", "single", "columns", "bare"),
    [
        ("key", (), ONE, True),
        ("key", (), TWO, False),
        ("value", (), ONE, False),
        ("value", (("single", "bare"),), ONE, True),
        ("value", (("single", "bare"),), TWO, False),
    ],
)
@pytest.mark.parametrize("name", ["AVRO", "JSON_SR"])
def test_a_single_column_stands_alone_in_a_key_or_if_the_format_says_so(
    name: str, part: str, single: tuple[tuple[str, str], ...], columns: object, *, bare: bool
) -> None:
    decoded = decode(Format(name, (REGISTRY, *single)), columns, part, first=0)  # type: ignore[arg-type]

    assert ('"single": "bare"' in decoded.parsed[0]) is bare


@pytest.mark.parametrize(
    ("schema", "maps"),
    [
        ('{"type":"object","additionalProperties":{"type":"string"}}', "objects"),
        ('{"type":"array","items":{"type":"object"}}', "entries"),
    ],
)
def test_maps_are_written_as_the_json_schema_describes_them(schema: str, maps: str) -> None:
    of = Format("JSON_SR", (("id", "1"), REGISTRY, ("schema", schema)))

    written = encode(of, TWO, ["v0", "v1"], "value")

    assert f'"maps": "{maps}"' in written
    assert '"schema"' not in written


def test_a_time_differs_from_an_int() -> None:
    columns = (Column("T", TIME), Column("S", Struct((Column("L", Array(TIME)),))))

    decoded = decode(Format("AVRO", (REGISTRY,)), columns, "value", first=0)

    assert "'`T` SMALLINT, `S` STRUCT<`L`: ARRAY<SMALLINT>>'" in decoded.parsed[0]


def test_a_key_without_columns_is_not_read() -> None:
    decoded = decode(Format("AVRO", (REGISTRY,)), (), "key", first=0)

    assert (decoded.parsed, decoded.is_null) == ([], "key IS NULL")


def test_the_error_of_a_record_names_its_part_and_columns() -> None:
    key, value = (
        decode(Format("PROTOBUF", (REGISTRY,)), ONE, part, first=0).parsed[0]
        for part in ("key", "value")
    )

    assert options_of(key) == {
        "registry": REGISTRY[1],
        "problem": "its key is not PROTOBUF of (A INT)",
    }
    assert options_of(value)["problem"] == "its value is not PROTOBUF of (A INT)"
    assert "'__key_schema_id'" in key


def test_bytes_without_a_frame_have_no_header() -> None:
    decoded = decode(Format("PROTOBUF_NOSR", ()), ONE, "value", first=0)

    assert decoded.parsed[0].startswith("duolog_protobuf_nosr_read(value, ")


@pytest.mark.parametrize("name", ["AVRO", "JSON_SR"])
def test_several_columns_are_written_as_a_record_whatever_the_format_says(name: str) -> None:
    of = Format(name, (("id", "1"), REGISTRY, ("schema", "{}"), ("single", "bare")))

    assert "single" not in options_of(encode(of, TWO, ["v0", "v1"], "value"))
    assert options_of(encode(of, ONE, ["v0"], "value"))["single"] == "bare"


@pytest.mark.parametrize(
    ("nullable", "optional", "imports"),
    [(None, False, []), ("optional", True, []), ("wrapper", False, ["google/protobuf/wrappers.proto"])],
)  # fmt: skip
def test_columns_are_described_for_messages_without_a_registry(
    nullable: str | None, imports: list[str], *, optional: bool
) -> None:
    given = (("nullable", nullable),) if nullable else ()

    options = options_of(encode(Format("PROTOBUF_NOSR", given), ONE, ["v0"], "value"))

    file = file_of(options)
    assert options.keys() == {"descriptor"}
    assert file.message_type[0].field[0].proto3_optional is optional
    assert list(file.dependency) == imports


def test_a_registered_message_is_described_in_the_plan() -> None:
    """A key of one column is inside a message, too."""
    text = 'syntax = "proto3"; import "google/type/date.proto"; message M { int32 a = 1; }'
    of = Format("PROTOBUF", (("id", "1"), REGISTRY, ("schema", text)))

    options = options_of(encode(of, ONE, ["v0"], "key"))

    assert options.keys() == {"descriptor", "id", "registry"}
    assert file_of(options).message_type[0].name == "M"


def test_a_schema_that_imports_others_is_left_to_the_registry() -> None:
    text = 'syntax = "proto3"; import "other.proto"; message M { Other a = 1; }'
    of = Format("PROTOBUF", (("id", "1"), REGISTRY, ("schema", text)))

    assert options_of(encode(of, ONE, ["v0"], "value")) == {"id": "1", "registry": REGISTRY[1]}


def test_a_json_schema_with_a_reference_is_not_followed() -> None:
    schema = '{"type":"object","properties":{"A":{"$ref":"other.json"}}}'
    of = Format("JSON_SR", (("id", "1"), REGISTRY, ("schema", schema)))

    assert options_of(encode(of, ONE, ["v0"], "value"))["maps"] == "entries"


def test_a_time_in_a_map_differs_from_an_int() -> None:
    columns = (Column("M", Map(TIME, INT)), Column("N", Map(INT, TIME)))

    decoded = decode(Format("AVRO", (REGISTRY,)), columns, "value", first=0)

    assert "'`M` MAP<SMALLINT, INT>, `N` MAP<INT, SMALLINT>'" in decoded.parsed[0]


def test_names_are_quoted_in_calls() -> None:
    columns = (Column("it's", Struct((Column("é`\\", INT),))),)

    read = decode(Format("AVRO", (REGISTRY,)), columns, "value", first=0)

    assert "'`it\\'s` STRUCT<`é``\\\\`: INT>'" in read.parsed[0]
    problem = f"its value is not AVRO of ({render_columns(columns)})"
    assert options_of(read.parsed[0])["problem"] == problem
    assert "STRUCT<`é" in read.parsed[0].rpartition('"problem"')[2]
    assert read.columns == ["p0.`it's`"]


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("key", "value", "removed"),
    [
        ("AVRO", "JSON", [KEY_HEADER]),
        ("KAFKA", "JSON_SR", [VALUE_HEADER]),
        ("PROTOBUF", "AVRO", [KEY_HEADER, VALUE_HEADER]),
        ("KAFKA", "PROTOBUF_NOSR", None),
        ("KAFKA", "JSON", None),
    ],
)
def test_a_result_inherits_no_header_that_names_another_schema(
    key: str, value: str, removed: list[str] | None
) -> None:
    session = SqlSession(given={"ksql.schema.registry.url": ADDRESS})
    formats = f"key_format='{key}', value_format='{value}'"
    source = "CREATE STREAM s (k INT KEY, a INT) WITH (kafka_topic='t', value_format='JSON');"
    query = f"CREATE STREAM out WITH ({formats}) AS SELECT * FROM s;"  # noqa: S608 - a test
    (plan,) = [done.query.planned.plan for done in session.run(source + query) if done.query]

    spec = lower(find_levels(plan, tasks=1), "a", cache_bytes_max=0)

    nodes = {int(number): node for number, node in spec["nodes"].items()}
    removals = [node for node in nodes.values() if node["kind"] == "headers"]
    assert [node["removed"] for node in removals] == ([removed] if removed else [])
    for node in removals:
        assert not node["clears"]
        assert [nodes[child]["kind"] for child in node["children"]] == ["sink"]
