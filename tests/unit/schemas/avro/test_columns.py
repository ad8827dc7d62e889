"""Avro schemas as columns, and columns as the schemas that ksqlDB registers."""

import json
from typing import Any

import pytest

from duolog.core.types import TIME, Column, Type, parse_columns, parse_type
from duolog.schemas.avro import parse
from duolog.schemas.avro.columns import schema_text, single_schema, type_of, value_schema
from duolog.schemas.errors import InvalidSchemaError


def inferred(schema: Any, *, upper: bool = True) -> Type:
    return type_of(parse(json.dumps(schema), {}).root, upper=upper)


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    named = [{"name": field, "type": kind} for field, kind in fields]
    return {"type": "record", "name": name, "fields": named}


@pytest.mark.parametrize(
    ("schema", "type_text"),
    [
        ("boolean", "BOOLEAN"),
        ("int", "INT"),
        ("long", "BIGINT"),
        ("float", "DOUBLE"),
        ("double", "DOUBLE"),
        ("string", "STRING"),
        ("bytes", "BYTES"),
        ({"type": "fixed", "name": "F", "size": 2}, "BYTES"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "STRING"),
        ({"type": "string", "logicalType": "uuid"}, "STRING"),
        ({"type": "int", "logicalType": "date"}, "DATE"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "TIMESTAMP"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "BIGINT"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            "DECIMAL(5,2)",
        ),
        (["null", "int"], "INT"),
        (["string", "null"], "STRING"),
        (["int"], "INT"),
        ({"type": "array", "items": ["null", "int"]}, "ARRAY<INT>"),
        ({"type": "map", "values": {"type": "array", "items": "int"}}, "MAP<STRING, ARRAY<INT>>"),
        (record(("a", ["null", record(("b", "int"), name="S")])), "STRUCT<A STRUCT<B INT>>"),
        (record(("u", ["null", "int", "string"])), "STRUCT<U STRUCT<`INT` INT, STRING STRING>>"),
    ],
)
def test_a_schema_is_a_type_of_columns(schema: Any, type_text: str) -> None:
    assert inferred(schema) == parse_type(type_text)


def test_a_time_of_day_is_a_time() -> None:
    assert inferred({"type": "int", "logicalType": "time-millis"}) == TIME


def test_entries_of_maps_are_maps_with_other_keys() -> None:
    entry = record(("key", "int"), ("value", ["null", "string"]), name="E")
    marked = {**entry, "connect.internal.type": "MapEntry"}
    named = {**entry, "name": "MapEntry", "namespace": "io.confluent.connect.avro"}

    assert inferred({"type": "array", "items": marked}) == parse_type("MAP<INT, STRING>")
    assert inferred({"type": "array", "items": named}) == parse_type("MAP<INT, STRING>")
    assert inferred({"type": "array", "items": entry}) == parse_type(
        "ARRAY<STRUCT<KEY INT, VALUE STRING>>"
    )


def test_names_keep_their_case_if_a_statement_names_the_schema() -> None:
    schema = record(("a", record(("bC", "int"), name="S")))

    assert inferred(schema, upper=False) == parse_type("STRUCT<a STRUCT<bC INT>>")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (record(("a", "null")), '"a" has the type null'),
        (record(("a", ["null"])), '"a" is always null'),
        (record(("a", record(("next", ["null", "S"]), name="S"))), '"a.next" is a S inside a S'),
        (record(("s", record(("a", "int"), ("A", "int"), name="S"))), '"s" has two fields for'),
        (
            record(("u", [record(name="a.S"), record(name="b.S")])),
            '"u" has two fields for the column "S"',
        ),
        (
            record(("d", {"type": "bytes", "logicalType": "decimal", "precision": 50})),
            '"d" is a decimal of 50 digits',
        ),
        (
            {
                "type": "array",
                "items": {
                    **record(("key", "double"), ("value", "int"), name="E"),
                    "connect.internal.type": "MapEntry",
                },
            },
            "is a map with keys of type DOUBLE",
        ),
    ],
)
def test_what_no_column_can_be_is_refused_with_its_path(schema: Any, message: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        inferred(schema)

    assert message in caught.value.message


def test_a_record_that_is_used_many_times_does_not_explode() -> None:
    schema: Any = record(("x", "int"), name="R0")
    for level in range(1, 40):
        schema = record(("a", schema), ("b", f"R{level - 1}"), name=f"R{level}")

    with pytest.raises(InvalidSchemaError, match="too many fields"):
        inferred(schema)


def test_columns_are_a_record_whose_fields_may_be_null() -> None:
    assert value_schema(parse_columns("id INT, `Name` STRING")) == {
        "type": "record",
        "name": "KsqlDataSourceSchema",
        "namespace": "io.confluent.ksql.avro_schemas",
        "fields": [
            {"name": "id", "type": ["null", "int"], "default": None},
            {"name": "Name", "type": ["null", "string"], "default": None},
        ],
        "connect.name": "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema",
    }


def test_a_single_column_is_its_own_schema() -> None:
    struct = parse_type("STRUCT<A INT>")

    assert single_schema(parse_type("ARRAY<INT>")) == [
        "null",
        {"type": "array", "items": ["null", "int"]},
    ]
    assert single_schema(struct, "a.b.Key") == value_schema(parse_columns("A INT"), "a.b.Key")


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

    found = type_of(schema.root, upper=False)
    assert getattr(found, "fields", None) == columns
    assert all("." in name for name in schema.named_types)
