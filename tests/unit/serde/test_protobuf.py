"""Formats PROTOBUF and PROTOBUF_NOSR: rows to bytes and back, and messages of other writers."""

import datetime as dt
from decimal import Decimal
from typing import Any, Literal

import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import TIME, Column, parse_columns
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.protobuf import parse
from duolog.schemas.protobuf.columns import schema_text
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText
from duolog.serde.protobuf import PlainProtobufSerde, ProtobufSerde
from duolog.serde.row import Row

Columns = tuple[Column, ...]

ALL = (
    *parse_columns(
        "B BOOLEAN, I INT, L BIGINT, D DOUBLE, S STRING, X BYTES, DAY DATE, AT TIMESTAMP, "
        "FARE DECIMAL(6, 2), FARES ARRAY<DECIMAL(4, 1)>, LIST ARRAY<STRUCT<N INT>>, "
        "M MAP<STRING, STRUCT<A INT>>, R STRUCT<A INT, B STRUCT<C TIMESTAMP>>, "
        "K MAP<BIGINT, STRING>"
    ),
    Column("T", TIME),
)
FULL: Row = (
    True,
    -7,
    -(2**40),
    1.5,
    "été",
    b"\0\xff",
    dt.date(1969, 12, 31),
    dt.datetime(1969, 12, 31, 10, 0, 0, 123_000, tzinfo=dt.UTC),
    Decimal("-1234.50"),
    [Decimal("1.5")],
    [{"N": 1}, {"N": 0}],
    {"a": {"A": 1}},
    {"A": 2, "B": {"C": dt.datetime(2013, 1, 1, tzinfo=dt.UTC)}},
    {5: "x"},
    36_000_001,
)
DEFAULTS: Row = (False, 0, 0, 0.0, "", *[None] * 4, [], [], {}, None, {}, None)
NULLS: Row = (*[None] * 9, [], [], {}, None, {}, None)


def reading(fields: str, columns: Columns, fill: Any, *, message: str = "R") -> Row | None:
    """Return the row of a message that `fill` fills."""
    registry = InProcessRegistry()
    text = f'syntax = "proto3"; import "google/protobuf/wrappers.proto"; {fields}'
    schema_id = registry.register("t-value", SchemaText(Language.PROTOBUF, text))
    schema = parse(text, {})
    made = schema.message_class(message)()
    fill(made)
    indexes = b"\0" if message == "R" else b"\4\0\2"
    data = b"\0" + schema_id.to_bytes(4, "big") + indexes + made.SerializeToString()
    return ProtobufSerde(columns, registry).deserialize(data)


@pytest.mark.parametrize("nullable", [None, "optional", "wrapper"])
def test_every_type_is_written_and_read_again(
    nullable: Literal["optional", "wrapper"] | None,
) -> None:
    serde = PlainProtobufSerde(ALL, nullable)

    assert serde.deserialize(serde.serialize(FULL)) == FULL
    empty = serde.deserialize(serde.serialize((None,) * len(ALL)))
    assert empty == (DEFAULTS if nullable is None else NULLS)
    assert serde.serialize(None) is None
    assert serde.deserialize(None) is None
    assert serde.serialize((None,) * len(ALL)) == b""


def test_a_registry_names_the_schema_and_the_message() -> None:
    registry = InProcessRegistry()
    text = 'syntax = "proto3"; message A { int32 x = 1; } message B { message C { string y = 7; } }'
    schema_id = registry.register("t-value", SchemaText(Language.PROTOBUF, text))
    first = ProtobufSerde(parse_columns("X INT"), registry, schema_id=schema_id)
    other = ProtobufSerde(parse_columns("Y STRING"), registry, schema_id=schema_id, message="B.C")

    assert first.serialize((1,)) == b"\0\0\0\0\1" + b"\0" + b"\x08\x01"
    assert other.serialize(("a",)) == b"\0\0\0\0\1" + b"\x04\x02\x00" + b"\x3a\x01a"
    assert other.deserialize(other.serialize(("a",))) == ("a",)
    # The message of a record is the one that it names.
    assert first.deserialize(other.serialize(("a",))) == (None,)
    with pytest.raises(SerdeError, match="no Protobuf schema to write with"):
        ProtobufSerde(parse_columns("X INT"), registry).serialize((1,))


def test_messages_of_other_writers_are_read() -> None:
    def fill(message: Any) -> None:
        message.u, message.big, message.e = 2**32 - 1, 2**64 - 1, 1
        message.w.value = 5
        message.b = "two"

    row = reading(
        """message R { enum E { ZERO = 0; ONE = 1; } uint32 u = 1; uint64 big = 2; E e = 3;
           google.protobuf.Int32Value w = 4; google.protobuf.StringValue none = 5;
           oneof kind { int32 a = 6; string b = 7; } oneof other { int32 c = 8; } }""",
        parse_columns(
            "U BIGINT, BIG BIGINT, E STRING, W INT, NONE STRING, KIND_0 STRUCT<A INT, B STRING>, "
            "OTHER_1 STRUCT<C INT>, MORE INT"
        ),
        fill,
    )

    assert row == (2**32 - 1, -1, "ONE", 5, None, {"A": None, "B": "two"}, None, None)


def test_scalars_are_texts_of_a_column_that_is_a_string() -> None:
    def fill(message: Any) -> None:
        message.i, message.d, message.b = 7, 1e7, True

    row = reading(
        "message R { int32 i = 1; double d = 2; bool b = 3; }",
        parse_columns("I STRING, D STRING, B STRING"),
        fill,
    )

    assert row == ("7", "1.0E7", "true")


def test_a_oneof_is_written_as_the_field_that_is_not_null() -> None:
    registry = InProcessRegistry()
    text = 'syntax = "proto3"; message R { oneof kind { int32 a = 1; string b = 2; } }'
    schema_id = registry.register("t-value", SchemaText(Language.PROTOBUF, text))
    columns = parse_columns("KIND_0 STRUCT<A INT, B STRING>")
    serde = ProtobufSerde(columns, registry, schema_id=schema_id)

    for row in (({"A": 1, "B": None},), ({"A": None, "B": ""},), (None,)):
        assert serde.deserialize(serde.serialize(row)) == row


def test_nulls_inside_arrays_are_refused_and_null_values_of_maps_are_unset() -> None:
    columns = parse_columns("A ARRAY<INT>, M MAP<STRING, INT>")
    serde, optional = PlainProtobufSerde(columns), PlainProtobufSerde(columns, "optional")

    with pytest.raises(SerdeError, match='Protobuf has no null inside "A"'):
        serde.serialize(([1, None], {}))
    assert serde.deserialize(serde.serialize(([], {"a": None}))) == ([], {"a": 0})
    assert optional.deserialize(optional.serialize(([], {"a": None}))) == ([], {"a": None})


def test_maps_that_a_schema_declares_are_written_and_read() -> None:
    registry = InProcessRegistry()
    text = """syntax = "proto3"; message R { map<string, int32> m = 1; map<int64, S> s = 2; }
        message S { string x = 1; }"""
    schema_id = registry.register("t-value", SchemaText(Language.PROTOBUF, text))
    columns = parse_columns("M MAP<STRING, INT>, S MAP<BIGINT, STRUCT<X STRING>>")
    serde = ProtobufSerde(columns, registry, schema_id=schema_id)

    data = serde.serialize(({"a": 1, "b": None}, {5: {"X": "y"}, 6: None}))

    assert serde.deserialize(data) == ({"a": 1, "b": 0}, {5: {"X": "y"}, 6: {"X": ""}})


def test_a_missing_required_field_next_to_a_map_does_not_crash_the_process() -> None:
    """Google's library names the field after it took its path for a key of the map."""
    registry = InProcessRegistry()
    text = """syntax = "proto2"; message R { map<string, string> m = 1; optional N n = 2; }
        message N { required int32 x = 1; }"""
    schema_id = registry.register("t-value", SchemaText(Language.PROTOBUF, text))
    columns = parse_columns("M MAP<STRING, STRING>, N STRUCT<X INT>")
    serde = ProtobufSerde(columns, registry, schema_id=schema_id)

    with pytest.raises(SerdeError, match="does not fit message R") as refused:
        serde.serialize(({"a": "b"}, {"X": None}))

    assert "required" in refused.value.detail
    assert serde.deserialize(serde.serialize(({"a": "b"}, {"X": 1}))) == ({"a": "b"}, {"X": 1})


@pytest.mark.parametrize("data", [b"\x0a\1\xff", b"\x12\1\xff", b"\x1a\5\x0a\1\xff\x10\1"])
def test_a_text_that_is_not_utf8_is_an_error_in_proto2_too(data: bytes) -> None:
    registry = InProcessRegistry()
    text = """syntax = "proto2";
        message R { optional string s = 1; repeated string l = 2; map<string, int32> m = 3; }"""
    registry.register("t-value", SchemaText(Language.PROTOBUF, text))
    columns = parse_columns("S STRING, L ARRAY<STRING>, M MAP<STRING, INT>")

    with pytest.raises(SerdeError, match="not a message"):
        ProtobufSerde(columns, registry).deserialize(b"\0\0\0\0\1\0" + data)


def test_an_entry_of_a_map_without_a_key_is_an_error() -> None:
    serde = PlainProtobufSerde(parse_columns("M MAP<STRING, INT>"), "optional")

    assert serde.deserialize(b"\x0a\x03\x0a\x01a") == ({"a": None},)
    with pytest.raises(SerdeError, match="not a message"):
        serde.deserialize(b"\x0a\x02\x10\x01")


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0\0\0\1", b"\0\0\0\0\1\2", b"\0\0\0\0\1\0\x0a\x05a", b"\0\0\0\0\1\0\x0a\x01\xff"],
)
def test_damaged_bytes_are_a_serde_error(data: bytes) -> None:
    registry = InProcessRegistry()
    text = 'syntax = "proto3"; message R { string s = 1; }'
    registry.register("t-value", SchemaText(Language.PROTOBUF, text))

    with pytest.raises(SerdeError):
        ProtobufSerde(parse_columns("S STRING"), registry).deserialize(data)


def test_a_place_without_a_message_and_a_type_that_does_not_fit_are_errors() -> None:
    with pytest.raises(SerdeError, match='Protobuf type BIGINT as column "A" INT'):
        reading("message R { int64 a = 1; }", parse_columns("A INT"), lambda _: None)
    registry = InProcessRegistry()
    text = 'syntax = "proto3"; message R { int32 a = 1; }'
    schema_id = registry.register("t-value", SchemaText(Language.PROTOBUF, text))
    serde = ProtobufSerde(parse_columns("A STRING"), registry, schema_id=schema_id)
    with pytest.raises(SerdeError, match='column "A" STRING as the Protobuf type INT'):
        serde.serialize(("x",))
    with pytest.raises(SerdeError, match="cannot find message"):
        serde.deserialize(b"\0\0\0\0\1\2\2")
    with pytest.raises(SerdeError, match="cannot find the schema of id 9"):
        serde.deserialize(b"\0\0\0\0\x09\0")


def test_the_schema_of_columns_is_the_one_without_a_registry() -> None:
    columns = parse_columns("A INT, B STRING")
    message = parse(schema_text(columns), {}).message_class("ConnectDefault1")

    found: Any = message.FromString(PlainProtobufSerde(columns).serialize((1, "x")) or b"")

    assert (found.A, found.B) == (1, "x")
