"""JSON Schemas as columns, and columns as the schemas that ksqlDB registers."""

import json
from typing import Any

import pytest

from duolog.core.types import TIME, Column, Type, parse_columns, parse_type
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.json_schema import parse
from duolog.schemas.json_schema.columns import (
    has_object_maps,
    schema_text,
    single_schema,
    type_of,
    value_schema,
)

CONNECT = "org.apache.kafka.connect.data"
NULL = {"type": "null"}


def inferred(schema: Any, *, upper: bool = True) -> Type:
    return type_of(parse(json.dumps(schema), {}, strict=False).documents, upper=upper)


@pytest.mark.parametrize(
    ("schema", "type_text"),
    [
        ({"type": "boolean"}, "BOOLEAN"),
        ({"type": "integer"}, "BIGINT"),
        ({"type": "integer", "connect.type": "int16"}, "INT"),
        ({"type": "integer", "connect.type": "int32"}, "INT"),
        ({"type": "integer", "connect.type": "int64"}, "BIGINT"),
        ({"type": "number"}, "DOUBLE"),
        ({"type": "string"}, "STRING"),
        ({"type": "string", "connect.type": "bytes"}, "BYTES"),
        ({"enum": ["a", "b"]}, "STRING"),
        ({"const": "a"}, "STRING"),
        ({"type": "integer", "title": f"{CONNECT}.Date"}, "DATE"),
        ({"type": "integer", "title": f"{CONNECT}.Timestamp"}, "TIMESTAMP"),
        (
            {
                "type": "number",
                "title": f"{CONNECT}.Decimal",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "5"},
            },
            "DECIMAL(5,2)",
        ),
        ({"oneOf": [NULL, {"type": "integer"}]}, "BIGINT"),
        ({"anyOf": [{"type": "string"}, NULL]}, "STRING"),
        ({"type": ["null", "number"]}, "DOUBLE"),
        ({"type": "array", "items": {"oneOf": [NULL, {"type": "string"}]}}, "ARRAY<STRING>"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "STRUCT<A STRING>"),
        ({"properties": {"a": {"type": "string"}}}, "STRUCT<A STRING>"),
        (
            {
                "type": "object",
                "connect.type": "map",
                "additionalProperties": {"type": "integer"},
            },
            "MAP<STRING, BIGINT>",
        ),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "MAP<STRING, DOUBLE>"),
        (
            {
                "type": "array",
                "connect.type": "map",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "integer", "connect.type": "int32"},
                        "value": {"type": "boolean"},
                    },
                },
            },
            "MAP<INT, BOOLEAN>",
        ),
        (
            {
                "type": "object",
                "properties": {"p": {"$ref": "#/definitions/p"}},
                "definitions": {"p": {"type": "object", "properties": {"x": {"type": "number"}}}},
            },
            "STRUCT<P STRUCT<X DOUBLE>>",
        ),
    ],
)
def test_a_schema_is_a_type_of_columns(schema: Any, type_text: str) -> None:
    assert inferred(schema) == parse_type(type_text)


def test_a_time_of_day_is_a_time() -> None:
    assert inferred({"type": "integer", "title": f"{CONNECT}.Time"}) == TIME


def test_fields_are_in_the_order_of_their_index_and_may_keep_their_case() -> None:
    schema = {
        "type": "object",
        "properties": {
            "b": {"type": "string", "connect.index": 1},
            "a": {"type": "string", "connect.index": 0},
        },
    }

    assert inferred(schema, upper=False) == parse_type("STRUCT<a STRING, b STRING>")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"type": "null"}, '"a" has the type null'),
        ({}, '"a" has no type'),
        (True, '"a" has no type'),
        ({"type": "array"}, '"a" is an array whose items have no single type'),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, '"a" is a choice of 2 types'),
        (
            {"type": "object", "properties": {"b": {"type": "string"}, "B": {"type": "string"}}},
            '"a" has two properties for the column "B"',
        ),
        ({"$ref": "#/properties/a"}, '"a" refers to itself'),
        ({"type": "object", "properties": {"x": {"$ref": "#"}}}, '"a.x" contains itself'),
        (
            {"type": "number", "title": f"{CONNECT}.Decimal", "connect.parameters": {"scale": "x"}},
            '"a" is a decimal that no column can hold',
        ),
    ],
)
def test_what_no_column_can_be_is_refused_with_its_path(field: Any, message: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        inferred({"type": "object", "properties": {"a": field}})

    assert message in caught.value.message


def test_columns_are_an_object_whose_fields_may_be_null() -> None:
    assert value_schema(parse_columns("FOO INT, AT DATE")) == {
        "type": "object",
        "properties": {
            "FOO": {
                "connect.index": 0,
                "oneOf": [NULL, {"type": "integer", "connect.type": "int32"}],
            },
            "AT": {
                "connect.index": 1,
                "oneOf": [
                    NULL,
                    {
                        "type": "integer",
                        "title": f"{CONNECT}.Date",
                        "connect.version": 1,
                        "connect.type": "int32",
                    },
                ],
            },
        },
    }
    assert single_schema(parse_type("STRING")) == {"oneOf": [NULL, {"type": "string"}]}


def test_every_type_is_read_as_it_was_written() -> None:
    columns = (
        *parse_columns(
            "B BOOLEAN, I INT, L BIGINT, D DOUBLE, S STRING, X BYTES, DAY DATE, AT TIMESTAMP, "
            "FARE DECIMAL(6, 2), LIST ARRAY<STRUCT<N INT, T ARRAY<STRING>>>, "
            "M MAP<STRING, MAP<STRING, DECIMAL(4, 1)>>, R STRUCT<A INT, B STRUCT<C TIMESTAMP>>, "
            "K MAP<INT, STRUCT<A MAP<BIGINT, INT>>>"
        ),
        Column("T", TIME),
    )

    schema = parse(schema_text(value_schema(columns)), {})

    assert getattr(type_of(schema.documents, upper=False), "fields", None) == columns
    assert not has_object_maps(schema.documents)
