"""The columns that a schema lacks or has with another type are named with their path."""

import json

import pytest

from duolog.core.types import Column, parse_columns
from duolog.runtime.impact.columns import column_reasons
from duolog.schemas.languages import parse
from duolog.schemas.schema import Language, Schema


def avro(*fields: tuple[str, object]) -> Schema:
    listed = [{"name": name, "type": of} for name, of in fields]
    text = json.dumps({"type": "record", "name": "R", "fields": listed})
    return parse(Language.AVRO, text, {})


def reasons(schema: Schema, columns: str, needed: str | None = None) -> list[tuple[str, str]]:
    parsed: tuple[Column, ...] = parse_columns(columns)
    names = {one.name for one in parsed} if needed is None else set(needed.split())
    return [(one.path, one.text) for one in column_reasons(schema, parsed, needed=names)]


def test_columns_of_the_same_type_are_safe() -> None:
    schema = avro(("id", "long"), ("name", ["null", "string"]), ("extra", "int"))

    assert reasons(schema, "ID BIGINT, NAME STRING") == []


def test_a_dropped_column_breaks_those_who_need_it() -> None:
    schema = avro(("id", "long"))

    assert reasons(schema, "ID BIGINT, NAME STRING") == [
        ("NAME", "column NAME is not in the schema and would be null")
    ]
    assert reasons(schema, "ID BIGINT, NAME STRING", needed="ID") == []


def test_a_retyped_column_breaks_all_who_have_it() -> None:
    schema = avro(("id", "long"), ("name", "int"))

    assert reasons(schema, "ID BIGINT, NAME STRING", needed="ID") == [
        ("NAME", "column NAME is STRING and would be INT")
    ]


def test_a_wider_column_is_safe_and_a_narrower_one_breaks() -> None:
    assert reasons(avro(("id", "int")), "ID BIGINT") == []
    assert reasons(avro(("id", "long")), "ID INT") == [
        ("ID", "column ID is INT and would be BIGINT")
    ]


def test_a_nested_field_is_named_with_its_path() -> None:
    inner = {"type": "record", "name": "A", "fields": [{"name": "zip", "type": "int"}]}
    schema = avro(("address", inner), ("tags", {"type": "array", "items": "int"}))
    columns = "ADDRESS STRUCT<ZIP STRING, CITY STRING>, TAGS ARRAY<STRING>"

    assert [path for path, _ in reasons(schema, columns)] == [
        "ADDRESS->ZIP",
        "ADDRESS->CITY",
        "TAGS[*]",
    ]


def test_a_schema_without_fields_breaks_every_column() -> None:
    assert reasons(parse(Language.AVRO, '"int"', {}), "ID INT") == [
        ("", "the schema is a INT without fields")
    ]


def test_a_recursive_schema_has_no_columns() -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}'

    (found,) = reasons(parse(Language.AVRO, text, {}), "NEXT STRING")

    assert found[1].startswith("the schema has no columns")


@pytest.mark.parametrize(
    ("columns", "safe"),
    [("ID INT", True), ("ID BIGINT", True), ("ID STRING", False), ("GONE INT", False)],
)
def test_fields_of_a_protobuf_message_are_columns(columns: str, safe: bool) -> None:  # noqa: FBT001
    text = 'syntax = "proto3"; message M { int32 id = 1; string name = 2; }'

    assert (reasons(parse(Language.PROTOBUF, text, {}), columns) == []) is safe


@pytest.mark.parametrize(
    ("columns", "safe"),
    [("ID BIGINT", True), ("ID DOUBLE", True), ("ID STRING", False), ("GONE INT", False)],
)
def test_properties_of_json_schema_are_columns(columns: str, safe: bool) -> None:  # noqa: FBT001
    text = '{"type": "object", "properties": {"id": {"type": "integer"}}}'

    assert (reasons(parse(Language.JSON, text, {}), columns) == []) is safe


def test_a_bare_value_is_its_single_column() -> None:
    schema = parse(Language.AVRO, '"long"', {})

    assert column_reasons(schema, parse_columns("ID BIGINT"), needed={"ID"}, bare=True) == ()
    (found,) = column_reasons(schema, parse_columns("ID STRING"), needed={"ID"}, bare=True)
    assert found.path == "ID"
