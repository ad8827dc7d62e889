"""Format AVRO: rows to bytes and back, and records that others have written."""

import datetime as dt
import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from duolog.core.errors import SerdeError
from duolog.core.types import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Column,
    Map,
    parse_columns,
)
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.avro.columns import schema_text, single_schema, value_schema
from duolog.schemas.schema import Language
from duolog.schemas.source import SchemaText
from duolog.serde.avro import AvroSerde
from duolog.serde.row import Row

Columns = tuple[Column, ...]

ALL = (
    *parse_columns(
        "B BOOLEAN, I INT, L BIGINT, D DOUBLE, S STRING, X BYTES, DAY DATE, AT TIMESTAMP, "
        "FARE DECIMAL(6, 2), LIST ARRAY<STRUCT<N INT, T ARRAY<STRING>>>, "
        "M MAP<STRING, DECIMAL(4, 1)>, R STRUCT<A INT, B STRUCT<C TIMESTAMP>>"
    ),
    Column("T", TIME),
    Column("NUMBERS", Map(BIGINT, Map(INT, STRING))),
)
FULL: Row = (
    True,
    -7,
    2**40,
    1.5,
    "été",
    b"\0\xff",
    dt.date(1969, 12, 31),
    dt.datetime(2013, 1, 1, 10, 0, 0, 123_000, tzinfo=dt.UTC),
    Decimal("-1234.50"),
    [{"N": 1, "T": ["a", None]}, None],
    {"a": Decimal("1.5"), "b": None},
    {"A": None, "B": {"C": dt.datetime(1969, 12, 31, tzinfo=dt.UTC)}},
    36_000_000,
    {5: {6: "x"}, 7: None},
)


def serde_of(columns: Columns, *, bare: bool = False) -> AvroSerde:
    """Return a serde that writes with the schema of its columns."""
    registry = InProcessRegistry()
    schema = single_schema(columns[0].type) if bare else value_schema(columns)
    text = schema_text(schema)
    schema_id = registry.register("t-value", SchemaText(Language.AVRO, text))
    return AvroSerde(columns, registry, schema_id=schema_id, schema=text, bare=bare)


def reading(schema: Any, value: Any, columns: Columns, *, bare: bool = False) -> Row | None:
    """Return the row of a value that fastavro writes with a schema."""
    registry = InProcessRegistry()
    schema_id = registry.register("t-value", SchemaText(Language.AVRO, json.dumps(schema)))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    framed = b"\0" + schema_id.to_bytes(4, "big") + out.getvalue()
    return AvroSerde(columns, registry, bare=bare).deserialize(framed)


def record(*fields: tuple[str, Any]) -> Any:
    named = [{"name": name, "type": kind} for name, kind in fields]
    return {"type": "record", "name": "R", "fields": named}


def test_every_type_is_written_and_read_again() -> None:
    serde = serde_of(ALL)

    assert serde.deserialize(serde.serialize(FULL)) == FULL
    assert serde.deserialize(serde.serialize((None,) * len(ALL))) == (None,) * len(ALL)
    assert serde.serialize(None) is None
    assert serde.deserialize(None) is None


@pytest.mark.parametrize(("column", "value"), list(zip(ALL, FULL, strict=True)))
def test_a_single_column_needs_no_record(column: Column, value: object) -> None:
    serde = serde_of((column,), bare=True)

    assert serde.deserialize(serde.serialize((value,))) == (value,)
    assert serde.serialize((None,)) is None


def test_other_libraries_read_what_is_written() -> None:
    columns = parse_columns("FARE DECIMAL(6, 2), AT TIMESTAMP, NAME STRING")
    at = dt.datetime(2013, 1, 1, tzinfo=dt.UTC)

    data = serde_of(columns).serialize((Decimal("1.50"), at, "x"))

    assert data is not None
    assert data[:5] == b"\0\0\0\0\x01"
    written: Any = value_schema(columns)
    schema = fastavro.parse_schema(written)
    read = fastavro.schemaless_reader(io.BytesIO(data[5:]), schema, None)
    assert read == {"FARE": Decimal("1.50"), "AT": at, "NAME": "x"}


def test_fields_match_columns_without_case_and_a_column_without_field_is_null() -> None:
    schema = record(("id", "int"), ("Name", ["string", "null"]), ("NAME", "string"))

    row = reading(
        schema,
        {"id": 1, "Name": "a", "NAME": "b"},
        parse_columns("NAME STRING, ID BIGINT, MORE ARRAY<INT>"),
    )

    assert row == ("b", 1, None)


def test_times_and_decimals_of_other_writers_are_read() -> None:
    schema = record(
        ("micros", {"type": "long", "logicalType": "timestamp-micros"}),
        ("local", {"type": "long", "logicalType": "local-timestamp-millis"}),
        ("time", {"type": "long", "logicalType": "time-micros"}),
        (
            "fare",
            {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 5},
        ),
        ("unit", {"type": "enum", "name": "U", "symbols": ["KM", "MI"]}),
        ("number", "float"),
    )
    value = {
        "micros": 1_500,
        "local": 2,
        "time": 3_999,
        "fare": b"\xff\xff\xff\x85",
        "unit": "MI",
        "number": 0.5,
    }
    columns = (
        Column("MICROS", TIMESTAMP),
        Column("LOCAL", TIMESTAMP),
        Column("TIME", TIME),
        *parse_columns("FARE DECIMAL(5, 1), UNIT STRING, NUMBER STRING"),
    )

    row = reading(schema, value, columns)

    first = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    milli = dt.timedelta(milliseconds=1)
    assert row == (first + milli, first + 2 * milli, 3, Decimal("-123.0"), "MI", "0.5")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, None),
        (("int", 3), {"INT": 3, "STRING": None, "P": None, "E": None, "ARRAY": None}),
        ("KM", {"INT": None, "STRING": "KM", "P": None, "E": None, "ARRAY": None}),
        (("P", {"x": 4}), {"INT": None, "STRING": None, "P": {"X": 4}, "E": None, "ARRAY": None}),
        ([True], {"INT": None, "STRING": None, "P": None, "E": None, "ARRAY": [True]}),
    ],
)
def test_a_union_is_a_struct_with_a_field_per_branch(value: object, read: object) -> None:
    point = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}
    enum = {"type": "enum", "name": "E", "symbols": ["A"]}
    union = ["null", "int", "string", point, enum, {"type": "array", "items": "boolean"}]
    columns = parse_columns(
        "U STRUCT<INT INT, STRING STRING, P STRUCT<X INT>, E STRING, ARRAY ARRAY<BOOLEAN>>"
    )

    assert reading(record(("u", union)), {"u": value}, columns) == (read,)


@pytest.mark.parametrize(
    ("value", "row"),
    [(("a.Ord", {"x": 1}), ({"X": 1}, None)), (("b.Pay", {"y": "z"}), (None, {"Y": "z"}))],
)
def test_a_union_of_several_records_has_a_column_for_each(value: object, row: Row) -> None:
    union = [record(("x", "int")) | {"name": "a.Ord"}, record(("y", "string")) | {"name": "b.Pay"}]
    columns = parse_columns("ORD STRUCT<X INT>, PAY STRUCT<Y STRING>")

    assert reading(union, value, columns) == row
    assert reading(["null", *union], None, columns) == (None, None)


def test_what_is_written_with_a_union_of_records_is_read_again() -> None:
    union = [record(("x", "int")) | {"name": "Ord"}, record(("y", "string")) | {"name": "Pay"}]
    columns = parse_columns("ORD STRUCT<X INT>, PAY STRUCT<Y STRING>")
    registry, text = InProcessRegistry(), json.dumps(union)
    number = registry.register("t-value", SchemaText(Language.AVRO, text))
    serde = AvroSerde(columns, registry, schema_id=number, schema=text)
    rows: list[Row] = [({"X": 1}, None), (None, {"Y": "z"})]

    assert [serde.deserialize(serde.serialize(row)) for row in rows] == rows


def test_a_writer_in_many_versions_is_read_with_the_schema_of_each_record() -> None:
    registry = InProcessRegistry()
    columns = parse_columns("A INT, B STRING")
    old = schema_text(value_schema(columns[:1]))
    new = schema_text(value_schema(columns))
    writers = [
        AvroSerde(
            given,
            registry,
            schema_id=registry.register("t-value", SchemaText(Language.AVRO, text)),
            schema=text,
        )
        for given, text in ((columns[:1], old), (columns, new))
    ]
    reader = AvroSerde(columns, registry)

    rows = [reader.deserialize(writers[at].serialize((1, "x")[: at + 1])) for at in (0, 1, 0)]

    assert rows == [(1, None), (1, "x"), (1, None)]


def test_a_foreign_schema_gets_its_defaults_and_its_types() -> None:
    registry = InProcessRegistry()
    columns = parse_columns("ID INT, UNIT STRING, TAGS MAP<STRING, INT>")
    fields = [
        {"name": "id", "type": "long"},
        {"name": "unit", "type": {"type": "enum", "name": "U", "symbols": ["KM"]}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "size", "type": "int", "default": 5},
        {"name": "note", "type": ["null", "string"]},
    ]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    schema_id = registry.register("t-value", SchemaText(Language.AVRO, text))
    serde = AvroSerde(columns, registry, schema_id=schema_id, schema=text)

    data = serde.serialize((1, "KM", {"a": 1}))

    assert data is not None
    read = fastavro.schemaless_reader(io.BytesIO(data[5:]), json.loads(text), None)
    assert read == {"id": 1, "unit": "KM", "tags": {"a": 1}, "size": 5, "note": None}
    with pytest.raises(SerdeError, match="not a symbol"):
        serde.serialize((1, "MI", {}))
    with pytest.raises(SerdeError, match='does not allow null in "id"'):
        serde.serialize((None, "KM", {}))


def test_a_field_that_does_not_allow_null_gets_its_default_for_a_null() -> None:
    registry = InProcessRegistry()
    fields = [
        {"name": "n", "type": "long", "default": 10},
        {"name": "b", "type": "bytes", "default": "\u00ff"},
        {"name": "more", "type": "bytes", "default": "\u0001"},
        {"name": "l", "type": {"type": "array", "items": "bytes"}, "default": ["a"]},
    ]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    schema_id = registry.register("t-value", SchemaText(Language.AVRO, text))
    columns = parse_columns("N BIGINT, B BYTES, L ARRAY<BYTES>")
    serde = AvroSerde(columns, registry, schema_id=schema_id, schema=text)

    data = serde.serialize((None, None, None))

    assert data is not None
    read = fastavro.schemaless_reader(io.BytesIO(data[5:]), json.loads(text), None)
    assert read == {"n": 10, "b": b"\xff", "more": b"\1", "l": [b"a"]}


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\1\0\0\0\1\x02a", b"\0\0\0\0\1", b"\0\0\0\0\1\x7fabc", b"\0\0\0\0\1\x02\xff"],
)
def test_damaged_bytes_are_a_serde_error(data: bytes) -> None:
    registry = InProcessRegistry()
    registry.register("t-value", SchemaText(Language.AVRO, '"string"'))

    with pytest.raises(SerdeError):
        AvroSerde((Column("S", STRING),), registry, bare=True).deserialize(data)


def test_a_value_that_no_column_can_hold_is_a_serde_error() -> None:
    date = {"type": "int", "logicalType": "date"}
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 0}

    with pytest.raises(SerdeError, match="does not fit its column"):
        reading(record(("d", date)), {"d": 2**31 - 1}, parse_columns("D DATE"))
    with pytest.raises(SerdeError, match="does not fit its column"):
        reading(record(("d", wide)), {"d": Decimal(123)}, parse_columns("D DECIMAL(2, 0)"))


def test_an_unknown_id_and_a_schema_of_another_language_are_serde_errors() -> None:
    registry = InProcessRegistry()
    registry.register("t-value", SchemaText(Language.JSON, '{"type":"string"}'))
    serde = AvroSerde((Column("S", STRING),), registry, bare=True)

    with pytest.raises(SerdeError, match="cannot find the schema of id 7"):
        serde.deserialize(b"\0\0\0\0\7\x02a")
    with pytest.raises(SerdeError, match="the schema of id 1 is not an Avro schema"):
        serde.deserialize(b"\0\0\0\0\1\x02a")


def test_data_that_is_nested_too_deep_is_a_serde_error() -> None:
    registry = InProcessRegistry()
    fields = [{"name": "id", "type": "int"}, {"name": "next", "type": ["null", "N"]}]
    text = json.dumps({"type": "record", "name": "N", "fields": fields})
    registry.register("t-value", SchemaText(Language.AVRO, text))
    serde = AvroSerde((Column("ID", INT),), registry)

    assert serde.deserialize(b"\0\0\0\0\1" + b"\x02\x02\x04\x00") == (1,)
    with pytest.raises(SerdeError, match="RecursionError"):
        serde.deserialize(b"\0\0\0\0\1" + b"\x02\x02" * 200_000 + b"\x02\x00")


def test_a_type_that_does_not_fit_its_column_is_named_with_its_path() -> None:
    with pytest.raises(SerdeError, match=r'Avro type long as column "A.X" INT'):
        reading(
            record(("a", {**record(("x", "long")), "name": "Inner"})),
            {"a": {"x": 1}},
            parse_columns("A STRUCT<X INT>"),
        )
    with pytest.raises(SerdeError, match="Avro type string as column"):
        reading("string", "a", (Column("V", BOOLEAN),), bare=True)
