"""Tests that test_time_limits.py runs: a time limit strikes inside a call into the JVM; others follow."""

from typing import Any

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def numbers(spark: SparkSession) -> Any:
    return spark.range(3)


@pytest.mark.timeout(3, func_only=True)
def test_a_call_into_the_jvm_does_not_return(spark: SparkSession, numbers: Any) -> None:
    assert numbers is not None
    spark._jvm.java.lang.Thread.sleep(60_000)  # type: ignore[union-attr] # noqa: SLF001


def test_the_next_one_has_a_jvm_that_answers(numbers: Any) -> None:
    assert numbers.count() == 3
