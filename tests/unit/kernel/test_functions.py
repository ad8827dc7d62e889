import struct

import pytest
from pyspark.sql import SparkSession

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


def test_bytes_of_a_wrong_length_are_null(session: SparkSession) -> None:
    functions = ["duolog_int", "duolog_bigint", "duolog_double"]
    data = ["x''", "x'000000'", "x'000000000000000000'", "NULL"]

    calls = [f"{function}({literal})" for function in functions for literal in data]

    assert set(session.sql(f"SELECT {', '.join(calls)}").collect()[0]) == {None}
