import math
import struct
from itertools import product

import pytest
from pyspark.sql import SparkSession

from duolog.engine.lowering.expressions.expressions import Names, lower_expression
from duolog.plan.expressions import Call, ColumnRef, Expression, Scope, literal
from duolog.plan.schema import parse_schema
from duolog.plan.types import parse_columns
from duolog.testing.reference.evaluation import Values, compile_expression
from unit.kernel.driver import kernel_package

pytestmark = pytest.mark.spark

# BIGINT, INT, DOUBLE
NUMBERS = [(2**63 - 1, 2**31 - 1, 1.5), (-(2**63), -(2**31), -0.0), (0, -1, float("inf"))]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    kernel_package(spark)
    return spark


def test_numbers_have_kafkas_byte_forms_and_come_back(session: SparkSession) -> None:
    rows = session.createDataFrame(
        session.sparkContext.parallelize(NUMBERS, 1), "a BIGINT, b INT, c DOUBLE"
    )

    encoded = rows.selectExpr(
        "duolog_bigint_be(a) a", "duolog_int_be(b) b", "duolog_double_be(c) c"
    )
    decoded = encoded.selectExpr("duolog_bigint(a)", "duolog_int(b)", "duolog_double(c)")

    assert [tuple(map(bytes, row)) for row in encoded.collect()] == [
        (struct.pack(">q", a), struct.pack(">i", b), struct.pack(">d", c)) for a, b, c in NUMBERS
    ]
    assert [tuple(row) for row in decoded.collect()] == NUMBERS


def test_every_nan_has_the_same_bytes(session: SparkSession) -> None:
    rows = session.createDataFrame(session.sparkContext.parallelize([(math.nan,)], 1), "c DOUBLE")

    encoded = rows.selectExpr("duolog_double_be(c)", "duolog_double_be(-c)").collect()[0]

    assert {bytes(one) for one in encoded} == {struct.pack(">d", math.nan)}


def test_bytes_of_a_wrong_length_are_null(session: SparkSession) -> None:
    functions = ["duolog_int", "duolog_bigint", "duolog_double"]
    data = ["x''", "x'000000'", "x'000000000000000000'", "NULL"]

    calls = [f"{function}({literal})" for function in functions for literal in data]

    assert set(session.sql(f"SELECT {', '.join(calls)}").collect()[0]) == {None}


COMPARISONS: list[Expression] = [
    *(Call(sign, (ColumnRef("a"), ColumnRef("b"))) for sign in ("=", "<>", "<", "<=", ">", ">=")),
    Call("BETWEEN", (ColumnRef("a"), ColumnRef("b"), literal(30.0))),
    Call("IN", (ColumnRef("a"), ColumnRef("b"), literal(1))),
    Call("NOT", (Call(">", (ColumnRef("a"), ColumnRef("b"))),)),
]


def test_doubles_compare_as_in_java_and_in_the_reference(session: SparkSession) -> None:
    doubles = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 30.0]
    pairs = list(product(doubles, doubles))
    names = Names.of(parse_schema("", "a DOUBLE, b DOUBLE"))
    frame = session.createDataFrame(
        session.sparkContext.parallelize(pairs, 1), "v0 DOUBLE, v1 DOUBLE"
    )

    rows = frame.selectExpr(*(lower_expression(one, names) for one in COMPARISONS)).collect()

    scope = Scope(parse_columns("a DOUBLE, b DOUBLE"))
    computed = [compile_expression(one, scope) for one in COMPARISONS]
    wanted = [tuple(one(Values({"a": a, "b": b})) for one in computed) for a, b in pairs]
    assert [tuple(row) for row in rows] == wanted
    assert wanted[pairs.index((math.nan, math.nan))][:6] == (
        False,
        True,
        False,
        False,
        False,
        False,
    )


def test_failures_of_one_attempt_do_not_affect_another(session: SparkSession) -> None:
    rows = session.createDataFrame(
        session.sparkContext.parallelize([("no date",), ("1970",)], 1), "t STRING"
    )
    inner = "duolog_text_millis(t, 'yyyy', 'UTC')"

    found = rows.selectExpr(
        f"duolog_try({inner})", f"duolog_try(timestamp_millis({inner}))", f"duolog_try({inner} + 1)"
    ).collect()

    assert [row[0] for row in found] == [None, 0]
    assert [row[2] for row in found] == [None, 1]
