"""Run ksqlDB's query tests on Spark, a record per micro-batch: results equal the driver's.

The default run has a handful of the fixed sample, `scripts/test --deep` has all of it.
"""

from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.ksql.query_cases import ABSENT, PAGE, query_cases
from duolog.testing.qtt.listed import read_listed
from duolog.testing.qtt.on_spark import SparkRuns
from duolog.testing.qtt.sampling import sample

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT)),
]

HANDFUL: Final = 4
SAMPLE: Final = 100


@pytest.mark.parametrize("count", [HANDFUL, pytest.param(SAMPLE, marks=pytest.mark.deep)])
def test_sample_of_cases_has_the_same_results_on_spark_as_in_the_driver(
    spark: SparkSession, count: int
) -> None:
    running = [case for case in query_cases() if case.expected_error is None]
    listed = read_listed(PAGE)

    with SparkRuns() as runs:
        outcomes = list(runs.outcomes(sample(running, count)))

    assert [
        f"{outcome.case.title}: {outcome.status} {outcome.reason}"
        for outcome in outcomes
        if (outcome.status == "pass") == (outcome.case.title in listed)
    ] == []
