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


PROBLEMS = {
    '{"a":1}': None,
    '{"a":"1"}': "$.a is a text of another form",
    '{"d":[1,"2"]}': "$.d[1] is a text of another form",
    '{"d":5}': "$.d is a number of another kind or range",
    '{"e":{"x":true}}': "$.e.x is a boolean",
    '{"e":{"x":[1]}}': "$.e.x is an array",
    '{"h":"2013-02-30"}': "$.h is a text of another form",
    '{"a":99999999999999999999}': "$.a is a number of another kind or range",
    "[1]": "$ is an array",
    "7": "$ is a number of another kind or range",
    '{"a":1,}': "no JSON at line 1, column 8",
    '{"a":1,\n"d":[EUR 2]}': "no JSON at line 2, column 6",
    '{"a":1': "no JSON at line 1, column 7",
    "  ": "no JSON, only white space",
    "\udcff": "not UTF-8",
}


@pytest.mark.parametrize("function", ["duolog_json_problem", "duolog_ksql_json_problem"])
def test_the_path_of_a_value_that_does_not_fit_is_named(spark: SparkSession, function: str) -> None:
    kernel_package(spark)
    rows = [
        (i, bytearray(text.encode(errors="surrogateescape"))) for i, text in enumerate(PROBLEMS)
    ]
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(rows, 1), "i INT, value BINARY"
    ).selectExpr("i", f"{function}(value, '{SCHEMA}') p", f"duolog_from_json(value, '{SCHEMA}') d")

    found = frame.orderBy("i").collect()

    # ksqlDB takes numbers in quotes, dates as days, and cuts decimal places.
    lenient = {'{"a":"1"}', '{"d":[1,"2"]}'} if "ksql" in function else set()
    for text, row in zip(PROBLEMS, found, strict=True):
        assert row.p == (None if text in lenient else PROBLEMS[text]), text
        assert function != "duolog_json_problem" or (row.p is None) == (row.d is not None), text


def test_the_problem_of_a_bare_value_is_named(spark: SparkSession) -> None:
    kernel_package(spark)

    def problem(text: str) -> object:
        of = f"duolog_json_problem_alone(CAST('{text}' AS BINARY), 'k INT')"
        return spark.sql(f"SELECT {of}").collect()[0][0]

    assert problem("7") is None
    assert problem('"7"') == "$ is a text of another form"
    assert problem("7 8") == "more text after the value"
    assert problem("null") == "$ is null"


def test_a_path_has_names_in_quotes_and_an_end(spark: SparkSession) -> None:
    kernel_package(spark)
    schema = "m MAP<STRING, INT>"

    def problem(name: str) -> str:
        rows = [(bytearray(f'{{"m":{{"{name}":true}}}}'.encode()),)]
        frame = spark.createDataFrame(rows, "value BINARY")
        found = frame.selectExpr(f"duolog_json_problem(value, '{schema}')").collect()
        return str(found[0][0])

    assert problem("a b") == "$.m['a b'] is a boolean"
    assert problem("\\u001b[1m") == "$.m['?[1m'] is a boolean"
    assert problem("x" * 300) == "$.m." + "x" * 196 + "… is a boolean"
