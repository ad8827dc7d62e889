"""duolog_from_json reads what Spark's from_json reads, and returns null for text that cannot be parsed."""

import pytest
from pyspark.sql import SparkSession

from unit.kernel.driver import kernel_package

pytestmark = pytest.mark.spark

SCHEMA = "a BIGINT, b STRING, c DOUBLE, d ARRAY<INT>, e STRUCT<x: INT>, f DECIMAL(10,2), h DATE"
READABLE = [
    '{"a":1,"b":"x","c":1.5,"d":[1,null],"e":{"x":1},"f":1.005,"h":"2013-01-01"}',
    "{}",
    '{"A":1}',
    '{"b":5}',
    '{"b":{"q":[1]}}',
    '{"c":NaN}',
    '{"a":1}zzz',
    '{"a":1,"a":2}',
    '{"b":"é\\u00e9/"}',
    '{"x":{"y":[1,{"z":2}]},"a":3}',
]
UNREADABLE = [
    *['{"a":"1"}', '{"a":1.0}', '{"a":true}', '{"a":99999999999999999999}', '{"d":5}'],
    *["[1]", "1", '"x"', '{"a":1', '{"a":1,}', '{"a":007}', "{'a':1}", "", "  ", "null"],
]


def both(spark: SparkSession, texts: list[str]) -> list[tuple[object, object]]:
    """(by Spark's function, by ours) for each text, on the same session."""
    kernel_package(spark)
    rows = [(i, bytearray(text, "utf-8")) for i, text in enumerate(texts)]
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(rows, 1), "i INT, value BINARY"
    ).selectExpr(
        "i",
        f"from_json(CAST(value AS STRING), '{SCHEMA}', map('allowSingleQuotes', 'false')) s",
        f"duolog_from_json(value, '{SCHEMA}') d",
    )
    return [(row.s, row.d) for row in frame.orderBy("i").collect()]


def test_readable_values_equal_those_of_spark(spark: SparkSession) -> None:
    for text, (by_spark, by_us) in zip(READABLE, both(spark, READABLE), strict=True):
        assert by_us is not None, text
        assert repr(by_us) == repr(by_spark), text


def test_unreadable_values_are_null(spark: SparkSession) -> None:
    assert [by_us for _, by_us in both(spark, UNREADABLE)] == [None] * len(UNREADABLE)
