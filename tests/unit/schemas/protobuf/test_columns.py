"""Protobuf messages as columns, and columns as the messages that ksqlDB registers."""

import pytest

from duolog.core.types import TIME, Column, Type, parse_columns, parse_type
from duolog.schemas.errors import InvalidSchemaError
from duolog.schemas.protobuf import parse
from duolog.schemas.protobuf.columns import schema_text, type_of

IMPORTS = """
import "google/protobuf/wrappers.proto";
import "google/protobuf/timestamp.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
"""


def inferred(body: str, *, name: str | None = None, upper: bool = True) -> Type:
    schema = parse(f'syntax = "proto3"; {IMPORTS} {body}', {})
    return type_of(schema, name, upper=upper)


@pytest.mark.parametrize(
    ("fields", "columns"),
    [
        ("bool a = 1; int32 b = 2; sint32 c = 3; sfixed32 d = 4;", "A BOOLEAN, B INT, C INT, D INT"),
        ("oneof _a { int32 a = 1; } optional int32 b = 2;", "_A_0 STRUCT<A INT>, B INT"),
        ("message MEntry { string key = 1; int32 value = 2; } repeated MEntry a = 1;",
         "A MAP<STRING, INT>"),
        ("message MEntry { string key = 1; repeated int32 value = 2; } repeated MEntry a = 1;",
         "A ARRAY<STRUCT<KEY STRING, VALUE ARRAY<INT>>>"),
        ("uint32 a = 1; fixed32 b = 2; int64 c = 3;", "A BIGINT, B BIGINT, C BIGINT"),
        ("uint64 a = 1; sint64 b = 2; fixed64 c = 3; sfixed64 d = 4;",
         "A BIGINT, B BIGINT, C BIGINT, D BIGINT"),
        ("float a = 1; double b = 2; string c = 3; bytes d = 4;",
         "A DOUBLE, B DOUBLE, C STRING, D BYTES"),
        ("enum E { X = 0; } E a = 1; optional string b = 2;", "A STRING, B STRING"),
        ("repeated int32 a = 1; map<string, int64> b = 2;", "A ARRAY<INT>, B MAP<STRING, BIGINT>"),
        ("message S { int32 x = 1; } S a = 1; repeated S b = 2; map<int32, S> c = 3;",
         "A STRUCT<X INT>, B ARRAY<STRUCT<X INT>>, C MAP<INT, STRUCT<X INT>>"),
        ("google.protobuf.Int32Value a = 1; google.protobuf.StringValue b = 2;", "A INT, B STRING"),
        ("google.protobuf.UInt32Value a = 1; google.protobuf.UInt64Value b = 2; google.protobuf.Int64Value c = 3;",
         "A BIGINT, B BIGINT, C BIGINT"),
        ("google.protobuf.FloatValue a = 1; google.protobuf.DoubleValue b = 2;", "A DOUBLE, B DOUBLE"),
        ("google.protobuf.BytesValue a = 1; google.protobuf.BoolValue b = 2;", "A BYTES, B BOOLEAN"),
        ("google.protobuf.Timestamp a = 1; google.type.Date b = 2;", "A TIMESTAMP, B DATE"),
        ("int32 z = 9; oneof kind { int32 a = 1; string b = 2; } int32 y = 3;",
         "KIND_0 STRUCT<A INT, B STRING>, Z INT, Y INT"),
        ("""confluent.type.Decimal d = 1 [(confluent.field_meta) = {
              params: [{key: "precision", value: "6"}, {key: "scale", value: "2"}]}];""",
         "D DECIMAL(6, 2)"),
    ],
)  # fmt: skip
def test_a_message_is_columns(fields: str, columns: str) -> None:
    assert inferred(f"message R {{ {fields} }}") == parse_type(f"STRUCT<{columns}>")


def test_a_group_is_a_struct() -> None:
    schema = parse(
        'syntax = "proto2"; message R { repeated group A = 1 { optional int32 x = 1; } '
        "optional group B = 2 { optional string y = 1; } }",
        {},
    )

    assert type_of(schema, None) == parse_type("STRUCT<A ARRAY<STRUCT<X INT>>, B STRUCT<Y STRING>>")


def test_a_time_of_day_is_a_time() -> None:
    found = inferred("message R { google.type.TimeOfDay a = 1; }")

    assert getattr(found, "fields", None) == (Column("A", TIME),)


def test_a_statement_may_name_the_message_and_keeps_the_case_of_its_names() -> None:
    body = "message R { int32 a = 1; } message S { message T { string bC = 1; } }"

    assert inferred(body) == parse_type("STRUCT<A INT>")
    assert inferred(body, name="S.T", upper=False) == parse_type("STRUCT<bC STRING>")
    with pytest.raises(InvalidSchemaError, match='the schema has no message "X"'):
        inferred(body, name="X")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("message S { S next = 1; } S a = 1;", '"a.next" is a R.S inside a R.S'),
        (
            "message S { int32 a = 1; int32 A = 2; } S s = 1;",
            '"s" has two fields for the column "A"',
        ),
        (
            "message S { int32 o_0 = 1; oneof o { int32 a = 2; int32 b = 3; } } S s = 1;",
            '"s" has two fields for the column "O_0"',
        ),
        (
            "message S { oneof o { int32 a = 2; int32 A = 3; } } S s = 1;",
            '"s" has two fields for the column "A"',
        ),
        ("confluent.type.Decimal d = 1;", '"d" is a decimal whose option'),
    ],
)
def test_what_no_column_can_be_is_refused_with_its_path(fields: str, message: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        inferred(f"message R {{ {fields} }}")

    assert message in caught.value.message


def test_columns_are_a_message_with_numbers_in_order() -> None:
    columns = parse_columns("I INT, S STRUCT<X ARRAY<STRING>>, M MAP<STRING, BIGINT>")

    assert parse(schema_text(columns), {}).canonical == (
        'syntax = "proto3";\n\n'
        "message ConnectDefault1 {\n"
        "  int32 I = 1;\n"
        "  ConnectDefault2 S = 2;\n"
        "  repeated ConnectDefault3Entry M = 3;\n\n"
        "  message ConnectDefault2 {\n"
        "    repeated string X = 1;\n"
        "  }\n"
        "  message ConnectDefault3Entry {\n"
        "    string key = 1;\n"
        "    int64 value = 2;\n"
        "  }\n"
        "}\n"
    )


def test_null_can_be_represented() -> None:
    columns = parse_columns("I INT, D DATE, L ARRAY<INT>")

    optional = parse(schema_text(columns, "a.b.Row", "optional"), {}).canonical
    wrapper = parse(schema_text(columns, None, "wrapper"), {}).canonical

    assert "package a.b;" in optional
    assert "message Row {\n  optional int32 I = 1;\n  optional google.type.Date D = 2;" in optional
    assert "repeated int32 L = 3;" in optional
    assert "google.protobuf.Int32Value I = 1;\n  google.type.Date D = 2;" in wrapper


@pytest.mark.parametrize("column", ["A ARRAY<ARRAY<INT>>", "A MAP<STRING, ARRAY<INT>>"])
def test_what_protobuf_does_not_have_is_refused_with_its_path(column: str) -> None:
    with pytest.raises(InvalidSchemaError, match=r'"A.*" is ARRAY<INT> inside an array or a map'):
        schema_text(parse_columns(column))


def test_every_type_is_read_as_it_was_written() -> None:
    columns = (
        *parse_columns(
            "B BOOLEAN, I INT, L BIGINT, D DOUBLE, S STRING, X BYTES, DAY DATE, AT TIMESTAMP, "
            "FARE DECIMAL(6, 2), FARES ARRAY<DECIMAL(4, 1)>, LIST ARRAY<STRUCT<N INT>>, "
            "M MAP<STRING, STRUCT<A INT>>, R STRUCT<A INT, B STRUCT<C TIMESTAMP>>, "
            "K MAP<BIGINT, STRING>"
        ),
        Column("T", TIME),
    )

    for nullable in (None, "optional", "wrapper"):
        schema = parse(schema_text(columns, None, nullable), {})
        assert type_of(schema, None, upper=False).fields == columns
