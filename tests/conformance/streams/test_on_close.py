"""Compare order and time of final and suppressed results with Kafka Streams.

Kafka Streams emits them at most once per second; the comparison makes it emit them with the record
that closes the window, as Duolog does. Its suppressed tables forward old rows that were never
emitted, so no operator here retracts.
"""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import (
    MODES,
    OF_BOTH_TABLES,
    ON_CLOSE,
    SOME,
    SUPPRESSED,
    Define,
    Mode,
    batches_of,
    by_key,
    cache_of,
    plan_of,
    suppressed_and_joined,
)
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import KafkaStreams
from conformance.streams.test_kafka_streams import Comparison

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def comparison(spark: SparkSession, kafka_streams: KafkaStreams) -> Iterator[Comparison]:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield Comparison(spark, kafka_streams)
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.mark.parametrize("mode", [*MODES, "late"])
@pytest.mark.parametrize("define", ON_CLOSE, ids=lambda define: define.__name__)
def test_kafka_streams_emits_the_same_final_results(
    comparison: Comparison, define: Define, mode: Mode
) -> None:
    comparison.ensure_same(plan_of(define), SOME * 3, mode, tasks=1)


@pytest.mark.parametrize("mode", [*MODES, "late"])
@pytest.mark.parametrize("define", SUPPRESSED, ids=lambda define: define.__name__)
def test_kafka_streams_suppresses_the_same_changes(
    comparison: Comparison, define: Define, mode: Mode
) -> None:
    comparison.ensure_same(plan_of(define), OF_BOTH_TABLES * 2, mode, tasks=1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("define", [*ON_CLOSE, *SUPPRESSED], ids=lambda define: define.__name__)
def test_each_task_has_its_own_stream_time(
    comparison: Comparison, define: Define, mode: Mode
) -> None:
    """Kafka Streams has one task here, so compare two tasks with the reference evaluator."""
    plan = plan_of(define)
    batches, cache = batches_of(plan, OF_BOTH_TABLES * 2, mode), cache_of(mode)

    ours = comparison.kernel(plan, batches, cache, tasks=2)
    reference = run_in_reference(plan, batches, cache_bytes_max=cache, tasks=2)

    assert by_key(ours) == by_key(reference)


@pytest.mark.parametrize("mode", [*MODES, "late"])
def test_operators_after_suppress_retract_only_emitted_rows(
    spark: SparkSession, mode: Mode
) -> None:
    """Kafka Streams retracts rows that were never emitted, so compare with the reference."""
    plan = plan_of(suppressed_and_joined)
    batches = batches_of(plan, OF_BOTH_TABLES * 2, mode)

    ours = run_in_memory(spark, plan, batches, cache_bytes_max=0)

    assert ours == run_in_reference(plan, batches, cache_bytes_max=0, tasks=1)
