"""Protobuf: engine and serde read the same bytes alike, and write the same bytes."""

import base64
import datetime as dt
import json
import random
from decimal import Decimal as PythonDecimal
from typing import TYPE_CHECKING, Any, Final

import pytest

from conformance.spark import protobuf_cases as cases
from duolog.core.errors import SerdeError
from duolog.core.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Struct,
    Type,
    parse_columns,
)
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.lowering.spark_sql.sql import quoted, spark_type, text
from duolog.schemas.protobuf import ProtobufSchema, parse
from duolog.schemas.protobuf.columns import type_of
from duolog.serde.protobuf import decoder, encoder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from duolog.serde.row import Row

pytestmark = pytest.mark.spark

BAD: Final = "bad"
SEEDS: Final = range(9)
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def plain(value: Any) -> Any:
    """Return a value in a form that is equal for both sides."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        pairs = [(repr(plain(key)), plain(one)) for key, one in value.items()]
        return sorted(pairs, key=lambda pair: pair[0])
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dt.datetime):
        return (value.astimezone(dt.UTC) - EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, float):
        return repr(value)
    return value


def ddl(of: Type) -> str:
    """Return the type as the kernel's formats of schemas know it."""
    match of:
        case Array(element=element):
            return f"ARRAY<{ddl(element)}>"
        case Map(key=key, value=value):
            return f"MAP<{ddl(key)}, {ddl(value)}>"
        case Struct(fields=fields):
            return f"STRUCT<{', '.join(f'{quoted(n)}: {ddl(k)}' for n, k in fields)}>"
    return "SMALLINT" if of == TIME else spark_type(of)


def arguments(schema: ProtobufSchema, columns: tuple[Column, ...]) -> str:
    descriptor = base64.b64encode(schema.descriptor.SerializeToString()).decode()
    typed = ", ".join(f"{quoted(column.name)} {ddl(column.type)}" for column in columns)
    return f"{text(typed)}, {text(json.dumps({'descriptor': descriptor}))}"


def read_by_engine(
    spark: "SparkSession",
    schema: ProtobufSchema,
    columns: tuple[Column, ...],
    data: list[bytes],
) -> list[Any]:
    kernel_class(spark._jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    rows = spark.createDataFrame(
        [(i, bytearray(one)) for i, one in enumerate(data)], "i INT, b BINARY"
    )
    read = f"duolog_try(duolog_protobuf_nosr_read(b, {arguments(schema, columns)})) AS row"
    found = rows.coalesce(1).selectExpr("i", read).orderBy("i").collect()
    return [BAD if one.row is None else plain(list(one.row)) for one in found]


def read_by_serde(
    schema: ProtobufSchema, columns: tuple[Column, ...], data: list[bytes]
) -> list[Any]:
    decode = decoder(schema, schema.message_name((0,)), columns)

    def one(item: bytes) -> Any:
        try:
            return plain(decode(item))
        except SerdeError:
            return BAD

    return [one(item) for item in data]


def assert_read_alike(
    spark: "SparkSession",
    schema: ProtobufSchema,
    columns: tuple[Column, ...],
    data: list[bytes],
) -> list[Any]:
    engine = read_by_engine(spark, schema, columns, data)
    serde = read_by_serde(schema, columns, data)
    differ = [
        (item.hex(" "), one, other)
        for item, one, other in zip(data, engine, serde, strict=True)
        if one != other
    ]
    assert not differ, f"{columns}\n{schema.canonical}\n(bytes, engine, serde) {differ[:3]}"
    return serde


def assert_written_alike(
    spark: "SparkSession",
    schema: ProtobufSchema,
    columns: tuple[Column, ...],
    rows: list["Row"],
) -> list[bytes | None]:
    kernel_class(spark._jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    names = [f"v{number}" for number in range(len(columns))]
    typed = ", ".join(
        f"{name} {spark_type(column.type)}" for name, column in zip(names, columns, strict=True)
    )
    write = f"duolog_protobuf_nosr_write(struct({', '.join(names)}), {arguments(schema, columns)})"
    found = (
        spark.createDataFrame(rows, typed)
        .coalesce(1)
        .selectExpr(f"duolog_try({write}) AS data")
        .collect()
    )
    encode = encoder(schema, schema.message_name((0,)), columns)

    def one(row: "Row") -> bytes | None:
        try:
            return encode(row)
        except SerdeError:
            return None

    engine = [None if row.data is None else bytes(row.data) for row in found]
    serde = [one(row) for row in rows]
    differ = [
        (row, a and a.hex(" "), b and b.hex(" "))
        for row, a, b in zip(rows, engine, serde, strict=True)
        if a != b
    ]
    assert not differ, f"{columns}\n{schema.canonical}\n(row, engine, serde) {differ[:3]}"
    return serde


@pytest.mark.parametrize("seed", SEEDS)
def test_engine_and_serde_read_any_bytes_of_any_schema_alike(
    spark: "SparkSession", seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a seed that can be run again
    schema = cases.Writer(seed).schema()
    columns = cases.columns_of(schema, chance)
    made: list[bytes] = []
    for _ in range(100):
        message = schema.message_class("R")()
        cases.fill(message, chance)
        made.append(message.SerializePartialToString(deterministic=True))
    data = [cases.damaged(one, chance.choice(made), chance) for one in made]

    serde = assert_read_alike(spark, schema, columns, data)

    assert any(row == BAD for row in serde)
    assert any(row != BAD for row in serde)


def value_of(of: Type, chance: random.Random) -> Any:
    if chance.random() < 0.1:
        return None
    match of:
        case Array(element=element):
            items = [value_of(element, chance) for _ in range(chance.randrange(4))]
            rare = chance.random() < 0.05
            return [one for one in items if one is not None or rare]
        case Map(key=key, value=value):
            # PySpark changes the order of several entries on the way to Spark.
            keys = [value_of(key, chance)]
            return {one: value_of(value, chance) for one in keys if one is not None}
        case Struct(fields=fields):
            return {column.name: value_of(column.type, chance) for column in fields}
        case Decimal(precision=precision, scale=scale):
            digits = 10 ** chance.randrange(1, precision + 1)
            return PythonDecimal(chance.randrange(-digits + 1, digits)).scaleb(-scale)
    values: dict[Type, Any] = {
        BOOLEAN: chance.random() < 0.5,
        INT: chance.choice((0, 1, -1, 2**31 - 1, -(2**31))),
        BIGINT: chance.choice((0, 1, -1, 2**31, 2**63 - 1, -(2**63))),
        DOUBLE: chance.choice(cases.REALS),
        STRING: chance.choice(cases.TEXTS),
        BYTES: chance.choice((b"", b"\0\xff", b"x" * 300)),
        DATE: chance.choice((dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31))),
        TIMESTAMP: EPOCH + chance.randrange(-(10**14), 10**14) * dt.timedelta(microseconds=1),
        TIME: chance.choice((0, 1, 86_399_999, 36_000_001)),
    }
    return values[of]


@pytest.mark.parametrize("seed", SEEDS)
def test_engine_and_serde_write_any_columns_alike(spark: "SparkSession", seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a seed that can be run again
    columns = cases.columns_to_write(chance)
    schema = cases.schema_of(columns, (None, "optional", "wrapper")[seed % 3])
    rows = [tuple(value_of(one.type, chance) for one in columns) for _ in range(60)]

    data = assert_written_alike(spark, schema, columns, rows)

    assert_read_alike(spark, schema, columns, [one for one in data if one is not None])


@pytest.mark.parametrize("seed", SEEDS)
def test_engine_and_serde_write_messages_of_any_schema_alike(
    spark: "SparkSession", seed: int
) -> None:
    """Only columns whose types can be written as their fields, which texts of numbers cannot."""
    chance = random.Random(seed)  # noqa: S311 - a seed that can be run again
    schema = cases.Writer(seed).schema()
    columns = type_of(schema, "R").fields
    decode = decoder(schema, "R", columns)
    rows: list[Row] = []
    while len(rows) < 60:
        message = schema.message_class("R")()
        cases.fill(message, chance)
        try:
            rows.append(decode(message.SerializePartialToString(deterministic=True)))
        except SerdeError:
            continue

    assert_written_alike(spark, schema, columns, rows)


PROTO2: Final = """syntax = "proto2";
message R { optional string s = 1; repeated int32 u = 2; optional E e = 3; map<string, Z> me = 4;
  optional R r = 5; optional group G = 6 { optional int32 x = 1; } repeated int32 p = 12 [packed=true];
  repeated E es = 13; optional bytes b = 14; map<int32, string> mi = 15; extensions 100 to 200; }
enum E { A = 1; B = 5; } enum Z { ZZ = 0; ZX = 3; } message Q { required int32 x = 1; }
extend R { optional Q q = 100; optional E xe = 101; }"""
PROTO3: Final = """syntax = "proto3";
message R { string s = 1; map<string, string> m = 2; N n = 3; bytes b = 4; float f = 5;
  oneof k { int32 a = 6; N c = 7; string d = 8; } E e = 9; repeated N ns = 10; uint64 big = 11;
  N unread = 12; repeated int64 numbers = 13; }
message N { string s = 1; bytes b = 2; N n = 3; repeated fixed32 f = 4; } enum E { X = 0; Y = 2; }"""


def deep(tag: bytes, times: int) -> bytes:
    data = b""
    for _ in range(times):
        length, count = b"", len(data)
        while count > 0x7F:
            length += bytes([count & 0x7F | 0x80])
            count >>= 7
        data = tag + length + bytes([count]) + data
    return data


def test_old_and_odd_messages_are_read_alike(spark: "SparkSession") -> None:
    columns = parse_columns(
        "S STRING, U ARRAY<INT>, E STRING, ME MAP<STRING, STRING>, R STRUCT<S STRING, G STRUCT<X INT>>, "
        "G STRUCT<X BIGINT>, P ARRAY<STRING>, ES ARRAY<STRING>, B BYTES, MI MAP<INT, STRING>"
    )
    known = b"\x0a\x01a"
    data = [
        b"", known, b"\x0a\x01\xff", b"\x0a\x01\xff" + known, b"\x6a\x03\x07\x01\x05\x68\x05\x68\x07",
        b"\x18\x07", b"\x18\x05\x18\x07", b"\x22\x05\x0a\x01a\x10\x07", b"\x22\x03\x0a\x01a",
        b"\x22\x07\x0a\x01a\x10\x03\x10\x07", b"\x22\x07\x0a\x01a\x10\x07\x10\x03", b"\x20\x01",
        b"\x22\x07\x0a\x01a\x10\x03\x18\x05", b"\x7a\x07\x08\x05\x12\x01x\x18\x01", b"\x7a\x03\x18\x01\x22",
        b"\x22\x09\x0a\x01a\x10\x07\x18\x05\x10\x03", b"\x22\x00", b"\x22\x06\x0a\x01a\x0a\x01b", b"\x22\x02\x10\x03",
        b"\x00\x01", b"\x0e", b"\x0f\x00", b"\x88\x80\x80\x80\x10\x01", b"\x90\x80\x80\x80\x00\x01",
        b"\x90\x80\x80\x80\x80\x00\x01", b"\xf8\xff\xff\xff\x0f\x01", b"\x10" + b"\xff" * 9 + b"\x7f",
        b"\x10" + b"\xff" * 10 + b"\x00", b"\x10" + b"\x80" * 9 + b"\x01", b"\x12\x03\x01\x02\x03",
        b"\x0a\x80\x80\x80\x80\x00", b"\x0a\x80\x80\x80\x80\x80\x00", b"\x0a\xff\xff\xff\xff\x0f",
        b"\x62\x01\x80", b"\x62\x01\x80\x01", b"\x60\x07", b"\x34", b"\x33\x3c", b"\x33\x08\x07\x34",
        b"\x33\x08\x07\x34\x33\x34", b"\x33\x08\x07", b"\x32\x02\x08\x07", b"\x2b\x2c", b"\x2a\x01\x10\x05",
        b"\xf3\x01\xfc\x01", b"\xa2\x06\x00", b"\xa2\x06\x01\xff", b"\xa2\x06\x02\x08\x80", b"\xa8\x06\x09",
        b"\x2a\x03\x0a\x01a\x2a\x04\x33\x08\x07\x34", b"\x72\x00", b"\x72\x01x", b"\x7a\x02\x08\x05",
        b"\x7a\x03\x12\x01x\x7a\x00", *(deep(b"\x2a", times) for times in (99, 100, 101)),
        *(b"\xf3\x1f" * n + b"\xf4\x1f" * n for n in (99, 100, 101)),
        *(b"\x33" + b"\xf3\x1f" * n + b"\xf4\x1f" * n + b"\x34" for n in (98, 99, 100)),
    ]  # fmt: skip

    serde = assert_read_alike(spark, parse(PROTO2, {}), columns, data)

    assert serde[1][0] == "a"
    assert serde.count(BAD) > 10


def test_new_and_odd_messages_are_read_alike(spark: "SparkSession") -> None:
    columns = parse_columns(
        "S STRING, M MAP<STRING, STRING>, N STRUCT<S STRING, B BYTES, N STRUCT<S STRING>>, B BYTES, F DOUBLE, "
        "K_0 STRUCT<A BIGINT, C STRUCT<S STRING, B BYTES>>, E STRING, NS ARRAY<STRUCT<S STRING>>, "
        "BIG STRING, NUMBERS ARRAY<BIGINT>, s STRING"
    )
    data = [
        b"", b"\x12\x03\x0a\x01\xff", b"\x12\x03\x12\x01\xff", b"\x0a\x03\xed\xa0\x80", b"\x0a\x02\xc0\x80",
        b"\x0a\x04\xf4\x90\x80\x80", b"\x1a\x03\x0a\x01\xff", b"\x62\x03\x0a\x01\xff", b"\x62\x05\x1a\x03\x0a\x01\xff",
        b"\x62\x03\x22\x01\x01", b"\x62\x06\x22\x04\x01\x01\x01\x01", b"\x62\x02\x08\x80", b"\x62\x02\x08\x01",
        b"\x3a\x03\x0a\x01a\x3a\x03\x12\x01b", b"\x3a\x03\x0a\x01a\x30\x01\x3a\x03\x12\x01b", b"\x42\x01x",
        b"\x30\x01\x42\x01x", b"\x42\x01\xff", b"\x42\x01\xff\x30\x01", b"\x3a\x00", b"\x30\x00",
        b"\x1a\x03\x0a\x01a\x1a\x03\x12\x01b", b"\x1a\x05\x1a\x03\x0a\x01a\x1a\x02\x1a\x00", b"\x1a\x00",
        b"\x48\x02", b"\x48\x07", b"\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x22\x01x\x22\x00",
        b"\x52\x03\x0a\x01a\x52\x00", b"\x58" + b"\xff" * 9 + b"\x01", b"\x0a\x01a\x0a\x00",
        b"\x6a\x02\x01\x80", b"\x6a\x04\xff\xff\xff\x7f", b"\x68\x01\x6a\x00", b"\x2d\x00\x00\x80\x7f",
        b"\x2d\x00\x00", b"\x25\x01\x02\x03\x04", b"\x12\x06\x0a\x01a\x12\x01b\x12\x06\x0a\x01a\x12\x01c",
    ]  # fmt: skip

    assert_read_alike(spark, parse(PROTO3, {}), columns, data)


def test_a_zero_of_any_scale_is_read(spark: "SparkSession") -> None:
    schema = parse(
        """syntax = "proto3"; import "confluent/type/decimal.proto";
        message R { confluent.type.Decimal d = 1; }""",
        {},
    )
    scales = (-(2**31), -2_003_999, -1001, -1, 0, 2, 999, 1001, 2**31 - 1)
    made = [
        schema.message_class("R")(d={"value": value, "scale": scale})
        for scale in scales
        for value in (b"\0", b"\1")
    ]

    read = assert_read_alike(
        spark, schema, parse_columns("D DECIMAL(5, 2)"), [one.SerializeToString() for one in made]
    )

    zero = [PythonDecimal("0.00")]
    assert read[:6:2] == [zero] * 3
    assert read[1] == BAD


def rename(messages: Any, names: dict[str, str]) -> None:
    """Replace the full names of types by those of the text, as Confluent's registry does."""
    for message in messages:
        for field in message.field:
            field.type_name = names.get(field.type_name, field.type_name)
        rename(message.nested_type, names)


def test_types_are_found_by_the_names_of_the_text(spark: "SparkSession") -> None:
    schema = parse(
        """syntax = "proto2"; package o.p; import "google/protobuf/timestamp.proto";
        message R { map<string, N> m = 1; optional N n = 2; optional N.Deep d = 3; optional E e = 4;
          optional .o.p.N full = 5; optional google.protobuf.Timestamp t = 6; optional p.N part = 7;
          message N { optional Deep x = 1; message Deep { optional int32 n = 1; } }
          enum E { A = 0; B = 1; } extensions 100 to 200; }
        message N { optional string s = 1; } extend R { optional N more = 100; }""",
        {},
    )
    columns = parse_columns(
        "M MAP<STRING, STRUCT<X STRUCT<N INT>>>, N STRUCT<X STRUCT<N INT>>, D STRUCT<N INT>, E STRING, "
        "FULL STRUCT<S STRING>, T TIMESTAMP, PART STRUCT<S STRING>"
    )
    deep = b"\x0a\x02\x08\x05"
    data = [
        b"\x0a\x09\x0a\x01k\x12\x04" + deep, b"\x12\x04" + deep, b"\x1a\x02\x08\x05", b"\x20\x01",
        b"\x2a\x03\x0a\x01s", b"\x32\x02\x08\x05", b"\x3a\x03\x0a\x01s", b"\xa2\x06\x03\x0a\x01s",
        b"\xa2\x06\x01\x80",
    ]  # fmt: skip
    wanted = read_by_serde(schema, columns, data)
    written = type(schema.descriptor)()
    written.CopyFrom(schema.descriptor)
    names = {
        ".o.p.R.MEntry": "MEntry", ".o.p.R.N": "N", ".o.p.R.N.Deep": "N.Deep", ".o.p.R.E": "E",
        ".o.p.R": "R", ".google.protobuf.Timestamp": "google.protobuf.Timestamp",
    }  # fmt: skip
    rename(written.message_type, names)
    for field in written.extension:
        field.type_name, field.extendee = "N", "R"
    part = next(field for field in written.message_type[0].field if field.name == "part")
    part.type_name = "p.N"

    class Written:
        descriptor = written

    assert read_by_engine(spark, Written(), columns, data) == wanted  # type: ignore[arg-type]
    assert wanted.count(BAD) == 1


def test_columns_of_other_types_are_bad_records_and_rows(spark: "SparkSession") -> None:
    schema = parse(PROTO3, {})
    for columns in ("BIG INT", "S BIGINT", "M ARRAY<STRING>", "NS STRING", "K_0 STRING", "N BYTES"):
        parsed = parse_columns(columns)
        with pytest.raises(SerdeError, match="cannot read the Protobuf type"):
            read_by_serde(schema, parsed, [b""])
        assert read_by_engine(spark, schema, parsed, [b"", b"\x0a\x01a"]) == [BAD, BAD]


def test_numbers_out_of_range_and_missing_fields_are_not_written(spark: "SparkSession") -> None:
    schema = parse(
        """syntax = "proto2"; message R { optional uint32 u = 1; optional fixed32 f = 2;
        optional uint64 big = 3; required int32 q = 4; optional N n = 5; map<string, N> m = 6;
        optional E e = 7; optional group G = 8 { optional int32 x = 1; } map<bool, N> z = 9;
        oneof k { string a = 10; int64 c = 11; } optional float fl = 12; }
        message N { required string s = 1; } enum E { A = 1; }""",
        {},
    )
    columns = parse_columns(
        "U BIGINT, F BIGINT, BIG BIGINT, Q INT, N STRUCT<S STRING>, M MAP<STRING, STRUCT<S STRING>>, "
        "E STRING, G STRUCT<X INT>, K_0 STRUCT<C INT, A STRING>, FL DOUBLE"
    )
    blank: dict[str, Any] = dict.fromkeys(column.name for column in columns) | {"Q": 0}
    changes: list[dict[str, Any]] = [
        {}, {"Q": None}, {"U": 2**32 - 1}, {"U": 2**32}, {"U": -1}, {"F": 2**32 - 1}, {"F": -1},
        {"BIG": -1}, {"N": {"S": None}}, {"N": {"S": ""}}, {"M": {"a": None}}, {"M": {"b": {"S": "x"}, "a": {"S": "y"}}},
        {"E": "A"}, {"E": "B"}, {"G": {"X": 5}}, {"G": {"X": None}}, {"K_0": {"C": 1, "A": "x"}},
        {"K_0": {"C": None, "A": ""}}, {"K_0": {"C": None, "A": None}}, {"FL": 1e300}, {"FL": 1e-300},
    ]  # fmt: skip
    rows: list[Row] = [tuple((blank | change).values()) for change in changes]

    data = assert_written_alike(spark, schema, columns, rows)

    assert [number for number, one in enumerate(data) if one is None] == [1, 3, 4, 6, 8, 10, 13]
