"""PROTOBUF with a registry: engine and serde find the same messages, and write the same bytes."""

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from conformance.spark.test_protobuf import BAD, plain
from duolog.core.errors import SerdeError
from duolog.core.types import Column, parse_columns
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.lowering.formats.formats import decode, encode
from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.plan.formats import Format
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.schema import Language, Reference
from duolog.schemas.source import SchemaText, provide, withdraw
from duolog.serde.serde import value_serde
from duolog.serde.wire_format import framed
from duolog.testing.registries import serve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from duolog.serde.row import Row

pytestmark = pytest.mark.spark

ADDRESS: Final = "mock://protobuf"
PARTS: Final = (
    'syntax = "proto3"; package p; message Part { string s = 1; Deep d = 2; message Deep {} }'
)
MIDDLE: Final = (
    'syntax = "proto3"; package q; import "parts.proto"; message Middle { p.Part part = 3; }'
)
ORDER: Final = """syntax = "proto3"; package o; import "middle.proto"; import "google/type/date.proto";
message Order { map<string, int32> counts = 1; q.Middle middle = 2; google.type.Date day = 3;
  message Line { int32 n = 1; message Note { string text = 1; } } enum E { X = 0; } message Last { bool b = 1; } }
message Other { int64 n = 1; }"""
ALL: Final = 'syntax = "proto3"; import public "order.proto";'
COLUMNS: Final = parse_columns(
    "COUNTS MAP<STRING, INT>, MIDDLE STRUCT<PART STRUCT<S STRING>>, DAY DATE, N BIGINT, TEXT STRING, B BOOLEAN"
)


@pytest.fixture
def registry(spark: "SparkSession") -> Iterator[InProcessRegistry]:
    kernel_class(spark._jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    rules = InProcessRegistry()
    provide(ADDRESS, rules)
    kernel_class(spark._jvm, "SchemaRegistry").provide(ADDRESS, serve(ADDRESS))  # noqa: SLF001
    yield rules
    kernel_class(spark._jvm, "SchemaRegistry").withdraw(ADDRESS)  # noqa: SLF001
    withdraw(ADDRESS)


def register(registry: InProcessRegistry, name: str, text: str, *imports: str) -> int:
    """Register a file as a subject of its name."""
    references = tuple(Reference(path, path, 1) for path in imports)
    return registry.register(name, SchemaText(Language.PROTOBUF, text, references))


def registered(registry: InProcessRegistry) -> tuple[int, int]:
    """Return the ids of a schema, and of one that only imports it publicly."""
    register(registry, "parts.proto", PARTS)
    register(registry, "middle.proto", MIDDLE, "parts.proto")
    order = register(registry, "order.proto", ORDER, "middle.proto")
    return order, register(registry, "all.proto", ALL, "order.proto")


def frame(schema_id: int, rest: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + rest


def assert_read_alike(
    spark: "SparkSession", columns: tuple[Column, ...], data: list[bytes]
) -> list[Any]:
    of = Format("PROTOBUF", (("registry", ADDRESS),))
    decoded = decode(of, columns, "value", first=0)
    rows = spark.createDataFrame(
        [(i, bytearray(one)) for i, one in enumerate(data)], "i INT, value BINARY"
    )
    found = (
        rows.coalesce(1)
        .selectExpr("*", "CAST(NULL AS BINARY) AS headers")
        .selectExpr("i", f"duolog_try({decoded.parsed[0]}) AS row")
        .orderBy("i")
        .collect()
    )
    serde = value_serde(of.name, columns, of.options)

    def one(item: bytes) -> Any:
        try:
            return plain(serde.deserialize(item))
        except SerdeError:
            return BAD

    wanted = [one(item) for item in data]
    assert [BAD if row.row is None else plain(list(row.row)) for row in found] == wanted
    return wanted


def test_records_name_their_message(spark: "SparkSession", registry: InProcessRegistry) -> None:
    order, everything = registered(registry)
    avro = registry.register("a", SchemaText(Language.AVRO, '"int"'))
    rests = [
        b"\0", b"\0\x0a\x05\x0a\x01a\x10\x07", b"\0\x12\x05\x1a\x03\x0a\x01x", b"\2\0", b"\0\x1a\x07\x08\xe1\x0f\x10\x01\x18\x02",
        b"\2\2\x08\x05", b"\4\0\0\x08\x07", b"\6\0\0\0\x0a\x01t", b"\4\0\2\x08\x01", b"\4\0\4", b"\2\4", b"\2\1",
        b"\1", b"\2", b"\4\0", b"", b"\x80", b"\xca\x01", b"\x80\x80\x80\x80\x80\x00", b"\2\xfe\xff\xff\xff\x0f", b"\0\x0a",
    ]  # fmt: skip
    data = [frame(schema_id, rest) for schema_id in (order, everything) for rest in rests]
    data += [
        b"",
        b"\0",
        b"\0\0\0\0",
        frame(avro, b"\0"),
        frame(999, b"\0"),
        b"\1" + frame(order, b"\0")[1:],
    ]

    wanted = assert_read_alike(spark, COLUMNS, data)

    half = len(rests)
    assert wanted[:half] == wanted[half : 2 * half]
    assert [number for number, one in enumerate(wanted[:half]) if one == BAD] == [*range(9, 21)]


def test_columns_fit_one_message_of_a_schema_and_not_another(
    spark: "SparkSession", registry: InProcessRegistry
) -> None:
    order, _ = registered(registry)
    data = [
        frame(order, rest)
        for rest in (b"\2\2\x08\x05", b"\4\0\0\x08\x07", b"\2\2\x08\x05", b"\4\0\0")
    ]

    assert assert_read_alike(spark, parse_columns("N INT"), data) == [BAD, [7], BAD, [0]]


def test_a_descriptor_as_a_schema_counts_the_entries_of_maps(
    spark: "SparkSession", registry: InProcessRegistry
) -> None:
    """protoc puts them between the other messages, and its writers name messages by that place."""
    from google.protobuf import descriptor_pb2  # noqa: PLC0415

    file = descriptor_pb2.FileDescriptorProto(name="d.proto", syntax="proto3")
    message = file.message_type.add(name="R")
    field = message.field.add(name="m", number=1, label=3, type=11, type_name=".R.MEntry")
    assert field.number == 1
    entry = message.nested_type.add(name="MEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=9)
    entry.field.add(name="value", number=2, label=1, type=5)
    message.nested_type.add(name="N").field.add(name="n", number=1, label=1, type=3)
    text = base64.b64encode(file.SerializeToString()).decode()
    number = registry.register("d", SchemaText(Language.PROTOBUF, text))

    data = [frame(number, rest) for rest in (b"\4\0\2\x08\x05", b"\4\0\4", b"\4\0\0")]

    assert assert_read_alike(spark, parse_columns("N BIGINT"), data) == [[5], BAD, BAD]


def test_a_guid_names_the_schema_in_place_of_an_id(
    spark: "SparkSession", registry: InProcessRegistry
) -> None:
    order, _ = registered(registry)
    guid = str(registry.rules.schema_by_id(order).guid)
    unknown = "00000000-0000-0000-0000-000000000000"
    data = [
        framed(guid, b"\0"),
        framed(guid, b"\2\2\x08\x05"),
        framed(guid, b""),
        framed(unknown, b"\0"),
    ]

    assert assert_read_alike(spark, parse_columns("N BIGINT"), data) == [[None], [5], BAD, BAD]


@pytest.mark.parametrize("known", [False, True], ids=["id", "id and schema"])
def test_rows_are_written_with_a_registered_schema(
    spark: "SparkSession", registry: InProcessRegistry, *, known: bool
) -> None:
    """With the schema in the plan no registry is asked, unless the schema imports others."""
    order, _ = registered(registry)
    text = 'syntax = "proto3"; message A { int64 n = 1; message B { string text = 2; } }'
    alone = register(registry, "alone", text)
    cases: list[tuple[int, str, str | None, str, list[Row]]] = [
        (alone, text, None, "N BIGINT", [(5,), (None,)]),
        (alone, text, "A.B", "TEXT STRING, MORE INT", [("x", 1), (None, None)]),
        (order, ORDER, "o.Order.Line.Note", "TEXT STRING", [("x",)]),
        (order, ORDER, None, "COUNTS MAP<STRING, INT>, MIDDLE STRUCT<PART STRUCT<S STRING>>",
         [({"a": 1}, {"PART": {"S": "x"}}), (None, {"PART": None})]),
    ]  # fmt: skip
    for number, schema, message, declared, rows in cases:
        columns = parse_columns(declared)
        options = {"id": str(number), "message": message, "registry": ADDRESS}
        options |= {"schema": schema} if known else {}
        of = Format("PROTOBUF", tuple((name, one) for name, one in sorted(options.items()) if one))
        names = [f"v{place}" for place in range(len(columns))]
        ddl = ", ".join(f"v{place} {spark_type(c.type)}" for place, c in enumerate(columns))
        data = encode(of, columns, names, "value")
        found = spark.createDataFrame(rows, ddl).coalesce(1).selectExpr(f"{data} AS data").collect()
        serde = value_serde(of.name, columns, of.options)

        assert [bytes(row.data) for row in found] == [serde.serialize(row) for row in rows]


def test_a_schema_in_the_plan_needs_no_registry(spark: "SparkSession") -> None:
    kernel_class(spark._jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    text = 'syntax = "proto3"; message A { int64 n = 1; }'
    of = Format("PROTOBUF", (("id", "7"), ("registry", "http://127.0.0.1:1"), ("schema", text)))
    data = encode(of, parse_columns("N BIGINT"), ["v0"], "value")

    (row,) = spark.createDataFrame([(5,)], "v0 BIGINT").selectExpr(f"{data} AS data").collect()

    assert bytes(row.data) == frame(7, b"\0\x08\x05")
