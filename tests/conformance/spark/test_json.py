"""Serde and engine write the same JSON bytes, and decode any bytes alike."""

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from conformance.spark.reading import (
    RAW,
    SHAPES,
    TWICE,
    TYPES,
    UNREADABLE,
    VALUES,
    assert_same,
    by_engine,
)
from duolog.engine.lowering.formats.formats import encode
from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.plan.formats import JSON, KAFKA
from duolog.plan.types import parse_columns
from duolog.serde.serde import value_serde

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from duolog.engine.lowering.formats.decoded import Part

pytestmark = pytest.mark.spark

COLUMNS = parse_columns(
    '`a "b"` INT, d DOUBLE, s STRING, raw BYTES, day DATE, at TIMESTAMP, price DECIMAL(20,8), '
    "list ARRAY<DOUBLE>, by_name MAP<STRING, BIGINT>, place STRUCT<faa STRING, tz INT>, f BOOLEAN, "
    "times ARRAY<TIMESTAMP>, deep MAP<STRING, STRUCT<`a b` TIMESTAMP, c ARRAY<TIMESTAMP>>>"
)
DOUBLES = (0.0, -0.0, 0.1, 1e7, 9999999.5, 0.001, 0.00099, -1.5e-300, 1e300, math.nan, math.inf)
TEXTS = ("", 'q"\\/', "\x00\x1f\x7f\t\n", "é\u2028😀", "</script>", "a", "b", "c", "d", "e", "f")
PRICES = ("1.5", "0.00000001", "-0.5", "0", "123456789012.00000001", *["2"] * 6)
AT = dt.datetime(2013, 1, 1, 23, 59, 59, 123_000, tzinfo=dt.UTC)
MICROS = AT + dt.timedelta(microseconds=1)
ROWS: list[tuple[object, ...]] = [
    (number, double, string, string.encode(), dt.date(1969, 12, 31), AT, Decimal(price),
     [double, None], {string: number}, {"faa": string, "tz": None}, number % 2 == 0,
     [AT, None, MICROS], {string: {"a b": MICROS, "c": [AT]} if number % 3 else None})
    for number, (double, string, price) in enumerate(zip(DOUBLES, TEXTS, PRICES, strict=True))
] + [(None,) * len(COLUMNS)]  # fmt: skip


def test_spark_and_the_serde_write_the_same_bytes(spark: "SparkSession") -> None:
    ddl = ", ".join(f"v{number} {spark_type(c.type)}" for number, c in enumerate(COLUMNS))
    names = [f"v{number}" for number in range(len(COLUMNS))]
    rows = spark.createDataFrame(ROWS, ddl)
    written = rows.coalesce(1).selectExpr(f"{encode(JSON, COLUMNS, names, 'value')} AS data")

    by_spark = [bytes(row.data) for row in written.collect()]

    serde = value_serde("JSON", COLUMNS)
    assert [serde.serialize(row) for row in ROWS] == by_spark


@pytest.mark.parametrize("of", TYPES)
def test_the_engine_reads_any_value_as_the_serde_does(spark: "SparkSession", of: str) -> None:
    nested = f'{{"b":[{TWICE},1],"c":"\\u00e9\\"","b":{{"x":{TWICE},"y":1.10,"x":null}},"":[]}}'
    values = (*VALUES, TWICE, nested)
    objects = [f'{{"a":{value}}}'.encode() for value in values]

    assert_same(spark, JSON, f"a {of}", "value", objects)
    assert_same(spark, JSON, f"a {of}", "key", [value.encode() for value in values])


@pytest.mark.parametrize("part", ["key", "value"])
def test_the_engine_reads_bytes_of_any_shape_as_the_serde_does(
    spark: "SparkSession", part: "Part"
) -> None:
    data = [*(shape.encode() for shape in SHAPES), *RAW]

    for of in ("BIGINT", "STRING"):
        assert_same(spark, JSON, f"a {of}", part, [*data, b'{"a":1,"a":2}'])


@pytest.mark.parametrize("of", ["BOOLEAN", "INT", "BIGINT", "DOUBLE", "STRING", "BYTES"])
def test_the_engine_reads_kafkas_bytes_as_the_serde_does(spark: "SparkSession", of: str) -> None:
    data = [*RAW, b"", b"\x00", b"\x01", b"x" * 4, b"y" * 8, "é".encode()]

    assert_same(spark, KAFKA, f"a {of}", "value", data)


def test_number_with_a_large_exponent_is_read_quickly(spark: "SparkSession") -> None:
    """Regression: 1e10000000 as a DECIMAL became ten million digits and blocked a task."""
    data = [b'{"a":1e10000000}', b'{"a":1e-10000000}', b'{"a":"1e999999999"}'] * 1000

    found = by_engine(spark, JSON, parse_columns("a DECIMAL(10,2)")[0], "value", data)

    assert found == [UNREADABLE, b'{"a":0.00}', UNREADABLE] * 1000
