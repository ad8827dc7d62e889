"""The JSON that the serde writes is, byte for byte, the JSON that the engine has Spark write."""

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from duolog.engine.formats import encode
from duolog.engine.sql import spark_type
from duolog.plan.formats import JSON
from duolog.plan.types import parse_columns
from duolog.serde.serde import value_serde

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = parse_columns(
    '`a "b"` INT, d DOUBLE, s STRING, raw BYTES, day DATE, at TIMESTAMP, price DECIMAL(20,8), '
    "list ARRAY<DOUBLE>, by_name MAP<STRING, BIGINT>, place STRUCT<faa STRING, tz INT>, f BOOLEAN"
)
DOUBLES = (0.0, -0.0, 0.1, 1e7, 9999999.5, 0.001, 0.00099, -1.5e-300, 1e300, math.nan, math.inf)
TEXTS = ("", 'q"\\/', "\x00\x1f\x7f\t\n", "é\u2028😀", "</script>", "a", "b", "c", "d", "e", "f")
PRICES = ("1.5", "0.00000001", "-0.5", "0", "123456789012.00000001", *["2"] * 6)
AT = dt.datetime(2013, 1, 1, 23, 59, 59, 123_000, tzinfo=dt.UTC)
ROWS: list[tuple[object, ...]] = [
    (number, double, string, string.encode(), dt.date(1969, 12, 31), AT, Decimal(price),
     [double, None], {string: number}, {"faa": string, "tz": None}, number % 2 == 0)
    for number, (double, string, price) in enumerate(zip(DOUBLES, TEXTS, PRICES, strict=True))
] + [(None,) * len(COLUMNS)]  # fmt: skip


@pytest.mark.spark
def test_spark_and_the_serde_write_the_same_bytes(spark: "SparkSession") -> None:
    ddl = ", ".join(f"v{number} {spark_type(c.type)}" for number, c in enumerate(COLUMNS))
    names = [f"v{number}" for number in range(len(COLUMNS))]
    rows = spark.createDataFrame(ROWS, ddl)
    written = rows.coalesce(1).selectExpr(f"{encode(JSON, COLUMNS, names, 'value')} AS data")

    by_spark = [bytes(row.data) for row in written.collect()]

    serde = value_serde("JSON", COLUMNS)
    assert [serde.serialize(row) for row in ROWS] == by_spark
