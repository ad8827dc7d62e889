"""ksqlDB's JSON and DELIMITED: serde and engine encode and decode alike."""

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from conformance.spark.reading import RAW, SHAPES, TWICE, TYPES, VALUES, WORDS, assert_same
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.lowering.formats.formats import encode
from duolog.engine.lowering.spark_sql.sql import spark_type
from duolog.plan.formats import BARE, DELIMITER, DIALECT, KSQLDB, SINGLE, Format
from duolog.plan.types import Column, parse_columns
from duolog.serde.serde import key_serde, value_serde

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from duolog.serde.row import Row

pytestmark = pytest.mark.spark

JSON = Format("JSON", ((DIALECT, KSQLDB),))
BARE_JSON = Format("JSON", ((DIALECT, KSQLDB), (SINGLE, BARE)))
DELIMITED = Format("DELIMITED", ((DELIMITER, ";"),))
PLAIN = parse_columns(
    "S STRING, T STRING, I INT, B BIGINT, D DOUBLE, RAW BYTES, DAY DATE, AT TIMESTAMP, "
    "PRICE DECIMAL(20,8), F BOOLEAN"
)
NESTED = parse_columns(
    "LIST ARRAY<DOUBLE>, BY_NAME MAP<STRING, DECIMAL(4,2)>, PLACE STRUCT<FAA STRING, TZ INT>, "
    "TIMES ARRAY<TIMESTAMP>, DEEP MAP<STRING, STRUCT<`a b` DATE, C ARRAY<BYTES>>>"
)
DOUBLES = (0.0, -0.0, 0.1, 1e7, 9999999.5, 0.001, 0.00099, -1.5e-300, 1e300, math.nan, math.inf)
TEXTS = ("", 'q"\\/', "\x00\x1f\x7f\t\n", "é\u2028😀", "-1", " a", "a;b", "#", "$", "z ", "Z9")
PRICES = ("1.5", "0.00000001", "-0.5", "0", "123456789012.00000001", *["2"] * 6)
AT = dt.datetime(1969, 12, 31, 23, 59, 59, 123_456, tzinfo=dt.UTC)
DAY = dt.date(1969, 12, 31)
ROWS: list[tuple[object, ...]] = [
    (text, text, number - 5, -number, double, text.encode(), DAY, AT, Decimal(price), number > 3,
     [double, None], {text: Decimal("1.50")}, {"FAA": text, "TZ": None}, [AT, None],
     {text: {"a b": DAY, "C": [b"x"]} if number % 3 else None})
    for number, (text, double, price) in enumerate(zip(TEXTS, DOUBLES, PRICES, strict=True))
] + [(None,) * len(PLAIN + NESTED)]  # fmt: skip


def written(
    spark: "SparkSession", of: Format, columns: tuple[Column, ...], part: str, rows: list["Row"]
) -> tuple[list[bytes | None], list[bytes | None]]:
    """Return the bytes of rows, by the engine and by the serde."""
    kernel_class(spark._jvm, "Kernel").register(spark._jsparkSession)  # noqa: SLF001
    names = [f"v{number}" for number in range(len(columns))]
    ddl = ", ".join(f"v{number} {spark_type(c.type)}" for number, c in enumerate(columns))
    data = encode(of, columns, names, "key" if part == "key" else "value")
    found = spark.createDataFrame(rows, ddl).coalesce(1).selectExpr(f"{data} AS data").collect()
    serde = (
        key_serde(of.name, columns, options=of.options)
        if part == "key"
        else value_serde(of.name, columns, of.options)
    )
    by_engine = [None if row.data is None else bytes(row.data) for row in found]
    return by_engine, [serde.serialize(row) for row in rows]


def test_the_engine_and_the_serde_write_the_same_json(spark: "SparkSession") -> None:
    by_engine, by_serde = written(spark, JSON, PLAIN + NESTED, "value", ROWS)

    assert by_engine == by_serde


def test_the_engine_and_the_serde_write_the_same_lines(spark: "SparkSession") -> None:
    rows = [row[: len(PLAIN)] for row in ROWS]
    by_engine, by_serde = written(spark, DELIMITED, PLAIN, "value", rows)

    assert by_engine == by_serde


@pytest.mark.parametrize("of", [JSON, BARE_JSON, DELIMITED], ids=str)
@pytest.mark.parametrize("part", ["key", "value"])
def test_engine_and_serde_write_a_single_column_the_same(
    spark: "SparkSession", of: Format, part: str
) -> None:
    by_engine, by_serde = written(spark, of, PLAIN[:1], part, [row[:1] for row in ROWS])

    assert by_engine == by_serde


@pytest.mark.parametrize("of", TYPES)
def test_the_engine_reads_any_value_of_ksqldb_as_the_serde_does(
    spark: "SparkSession", of: str
) -> None:
    values = (*VALUES, TWICE)
    objects = [f'{{"a":{value}}}'.encode() for value in values]

    assert_same(spark, JSON, f"a {of}", "value", objects)
    assert_same(spark, BARE_JSON, f"a {of}", "value", [value.encode() for value in values])


def test_the_engine_finds_fields_as_the_serde_does(spark: "SparkSession") -> None:
    objects = [
        '{"A":1}', '{"a":1}', '{"a":1,"A":2}', '{"A":2,"a":1}', '{"aB":1,"Ab":2}', '{"AB":1}',
        '{"a":{"x":1,"X":2}}', '{"a":{"x":1,"x":2}}', *SHAPES,
    ]  # fmt: skip
    data = [*(text.encode() for text in objects), *RAW]

    for columns in ("A BIGINT", "AB INT", "a INT", "A STRUCT<X INT, x INT>"):
        assert_same(spark, JSON, columns, "value", data)


@pytest.mark.parametrize("of", [one for one in TYPES if "<" not in one])
def test_the_engine_reads_any_line_as_the_serde_does(spark: "SparkSession", of: str) -> None:
    texts = [*VALUES, *WORDS, '"15" ', '"15"x', '"15', "\r\n15\r\n16", "15;16", ";", "15\t", '""']
    data = [*(text.encode() for text in texts), *RAW]

    assert_same(spark, DELIMITED, f"a {of}", "value", data)
