"""Compare how the engine and the serde decode the same bytes of a format."""

from typing import TYPE_CHECKING

from duolog.core.errors import SerdeError
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.lowering.formats.formats import decode, encode
from duolog.plan.formats import JSON, Format
from duolog.plan.types import Column, parse_columns
from duolog.serde.serde import key_serde, value_serde

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from duolog.engine.lowering.formats.decoded import Part
    from duolog.serde.row import Row

TYPES = (
    "BOOLEAN", "INT", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIMESTAMP", "DECIMAL(4,1)",
    "DECIMAL(38,18)", "ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<x INT, y STRING>",
)  # fmt: skip
NUMBERS = (
    "0", "-0", "15", "-2147483648", "2147483648", "9223372036854775807", "9223372036854775808",
    "1.5", "1.50", "-0.001", "0.049", "0.05", "999.94", "999.95", "1e2", "1E+2", "1e-9", "1e400",
    "1e10000000", "-1e10000000", "1e-10000000", "0e10000000", "1e99999999999", "1e-99999999999",
    "1" * 400, "1" * 1001, "1" * 100_000, "0." + "1" * 1001, "007", "+1", "1.", ".5", "1x", "NaN",
    "-Infinity", "1356998400123", "253402300800000", "-62135596800000", "-62135596800001",
)  # fmt: skip
WORDS = (
    "", "x", "true", "1", "-1.5", "+1.5", " 7", "1_0", "1e10000000", "0x10", "NaN", "Infinity",
    "INF", "AP8=", "AP8", "AP 8", "%", "é", "\\ud800", "\\ud83d\\ude00", "\\u001f",
    "2013-01-01", "2013-02-30", "2013-1-1", "0000-01-01", "+2013-01-01", "20130101", "2013",
    "2013-01-01T10:00:00Z", "2013-01-01 10:00", "2013-01-01T10:00:00.123456789+05:30",
    "2013-01-01T10:00:00.1-18:00", "2013-01-01T10:00:00+18:30", "2013-01-01T24:00:00Z",
    "2013-01-01T10:00:60Z", "10:00:00", "2013-01-01T10:00:00 UTC", "2013-01-01 x",
)  # fmt: skip
VALUES = (
    *NUMBERS, *(f'"{word}"' for word in WORDS), "true", "null", "[]", "[1,null]", '["x"]', "[1e1]",
    "{}", '{"x":1,"y":"z"}', '{"x":null}', '{"q":[1.50,{"e":1e5}],"n":NaN}',
    '{"\\ud800":1}', "[1,]", "[" * 199 + "]" * 199, "[" * 200 + "]" * 200,
    "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000,
)  # fmt: skip
TWICE = '{"x":1,"x":2}'
SHAPES = (
    "null", " null", "null\n", "\t null \r\n", "nul", "nullx", "null null", "null,", "\ufeffnull",
    "", " ", '{"a":1}', ' {"a":1} ', '{"a":1}zzz', '\ufeff{"a":1}', '{"A":1}', "[1]",
    '{"a":1', "{'a':1}", "1", " 1 ", '1,"a":2', '1}{"a":2', "1 2", '"x"', '"x"y', "\u00a0null",
    '{"b":' + "[" * 199 + "]" * 199 + ',"a":1}', '{"b":' + "[" * 200 + "]" * 200 + ',"a":1}',
)  # fmt: skip
RAW = (b"\xff\xfe", b'{"a":"\xff"}', b'{"\xc0\x80":1}', b"\xfe\xff\x00n", b"\x00\x01", b"\x02")
UNREADABLE = "unreadable"


def by_engine(
    spark: "SparkSession", read: Format, column: Column, part: "Part", data: list[bytes]
) -> list[object]:
    """Return the engine's decoded value as JSON; None for a null, or `UNREADABLE`."""
    decoded = decode(read, (column,), part, first=0)
    rows = spark.createDataFrame(
        spark.sparkContext.parallelize([(i, bytearray(item)) for i, item in enumerate(data)], 1),
        f"i INT, {part} BINARY",
    )
    for number, parsed in enumerate(decoded.parsed):
        rows = rows.selectExpr("*", f"{parsed} AS p{number}")
    again = encode(JSON, (column,), decoded.columns, "value")
    found = rows.selectExpr(
        "i", f"{decoded.corrupt} AS corrupt", f"{decoded.is_null} AS empty", f"{again} AS json"
    )
    return [
        UNREADABLE if row.corrupt else None if row.empty else bytes(row.json)
        for row in found.orderBy("i").collect()
    ]


def by_serde(read: Format, column: Column, part: "Part", data: list[bytes]) -> list[object]:
    if part == "key":
        serde = key_serde(read.name, (column,), options=read.options)
    else:
        serde = value_serde(read.name, (column,), read.options)
    written = value_serde("JSON", (column,))

    def one(item: bytes) -> object:
        try:
            row: Row | None = serde.deserialize(item)
        except SerdeError:
            return UNREADABLE
        return written.serialize(row)

    return [one(item) for item in data]


def assert_same(
    spark: "SparkSession", read: Format, columns: str, part: "Part", data: list[bytes]
) -> None:
    kernel_class(spark._jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    (column,) = parse_columns(columns)
    engine, serde = by_engine(spark, read, column, part, data), by_serde(read, column, part, data)
    differ = [
        (item[:60], one, other)
        for item, one, other in zip(data, engine, serde, strict=True)
        if one != other
    ]
    assert not differ, f"{columns} as {part}: (bytes, engine, serde) {differ}"
