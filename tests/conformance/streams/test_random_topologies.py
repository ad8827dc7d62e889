"""Random topologies: the kernel, the reference evaluator and Kafka Streams must agree.

Each difference is a bug, or is documented in `test_kafka_streams` and avoided by `random_topologies`. A case is
a number; a failure reports the smallest case with the same kind of difference.
"""

from collections.abc import Iterator
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.oracle import KafkaStreams
from conformance.streams.random_cases import Case
from conformance.streams.random_comparison import Comparison

pytestmark = pytest.mark.spark

CASES: Final = 150
CASES_DEEP: Final = 5000
TOGETHER: Final = 50
"""The number of cases in a test."""


@pytest.fixture(scope="module")
def comparison(spark: SparkSession, kafka_streams: KafkaStreams) -> Iterator[Comparison]:
    # Expressions are interpreted: compiling them takes nearly all of a case's time.
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield Comparison(spark, kafka_streams)
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=[pytest.mark.deep] if first >= CASES else [])
        for first in range(0, CASES_DEEP, TOGETHER)
    ],
)
def test_random_topologies_agree_in_all_implementations(comparison: Comparison, first: int) -> None:
    for seed in range(first, first + TOGETHER):
        case = Case(seed)

        found = comparison.difference(case)

        if found is not None:
            pytest.fail(comparison.difference(comparison.smaller(case)) or found, pytrace=False)


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.deep) for first in range(20, 500, 20))]
)
def test_rerun_micro_batch_writes_the_same(comparison: Comparison, first: int) -> None:
    for seed in range(first, first + 20):
        assert comparison.difference_when_replayed(Case(seed)) is None


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.deep) for first in range(40, 1000, 40))]
)
def test_any_interleaving_of_partitions_writes_the_same(comparison: Comparison, first: int) -> None:
    """Within a micro-batch, timestamps and offsets order the records, not their arrival."""
    cases = [case for seed in range(first, first + 40) if (case := Case(seed)).mode != "each"]

    assert len(cases) > 10
    for case in cases:
        assert comparison.difference_when_interleaved(case) is None
