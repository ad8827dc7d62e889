"""Compare sliding, unlimited, offset and calendar windows with Kafka Streams.

Streams has no windows of the last two kinds: the test provides their starts, and Streams does the
rest (late records, updates, keys, order). `test_calendar_windows` compares the starts of calendar
windows with Python's time zones and DuckDB's.
"""

from collections.abc import Iterator
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import (
    MODES,
    SOME,
    Define,
    Mode,
    batches_of,
    cache_of,
    plan_of,
    without_headers,
)
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given, KafkaStreams
from conformance.streams.window_cases import (
    in_one_window,
    in_sliding_windows,
    in_windows_of_the_calendar,
    in_windows_with_an_offset,
    sliding_windows_counted_again,
)
from topologies import RawRecord

pytestmark = pytest.mark.spark

EVERY_MODE: Final[tuple[Mode, ...]] = (*MODES, "late")
AT_MS: Final = 1_774_000_000_000
"""In March 2026, before clocks are put forward."""
HOUR_MS: Final = 3_600_000


class Comparison:
    """Both implementations, and their comparison."""

    def __init__(self, spark: SparkSession, kafka_streams: KafkaStreams) -> None:
        self._spark = spark
        self._kafka_streams = kafka_streams

    def ensure_same(
        self, define: Define, records: list[RawRecord], mode: Mode, *, at: int = 0, scale: int = 1
    ) -> None:
        plan, cache = plan_of(define), cache_of(mode)
        batches = [
            [record._replace(time=at + scale * record.time) for record in batch]
            for batch in batches_of(plan, records, mode)
        ]
        theirs = self._kafka_streams.run(plan, batches, cache_bytes_max=cache)

        ours = run_in_memory(self._spark, plan, batches, cache_bytes_max=cache)
        reference = run_in_reference(
            plan, _in_one_partition(batches), cache_bytes_max=cache, tasks=1
        )

        assert without_headers(ours) == without_headers(theirs), batches
        assert reference == without_headers(theirs), batches


def _in_one_partition(batches: list[list[Given]]) -> list[list[Given]]:
    """Return records in one partition, which the reference reads in order."""
    return [[record._replace(partition=0, headers=()) for record in batch] for batch in batches]


@pytest.fixture(scope="module")
def comparison(spark: SparkSession, kafka_streams: KafkaStreams) -> Iterator[Comparison]:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield Comparison(spark, kafka_streams)
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.mark.parametrize("mode", EVERY_MODE)
@pytest.mark.parametrize("at", [0, 100])
def test_kafka_streams_creates_the_same_sliding_windows(
    comparison: Comparison, mode: Mode, at: int
) -> None:
    comparison.ensure_same(in_sliding_windows, SOME * 3, mode, at=at)


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_kafka_streams_retracts_the_same_sliding_windows(
    comparison: Comparison, mode: Mode
) -> None:
    comparison.ensure_same(sliding_windows_counted_again, SOME * 2, mode)


@pytest.mark.parametrize("mode", EVERY_MODE)
@pytest.mark.parametrize("define", [in_windows_with_an_offset, in_one_window])
def test_kafka_streams_fills_the_same_windows(
    comparison: Comparison, define: Define, mode: Mode
) -> None:
    comparison.ensure_same(define, SOME * 2, mode, at=100)


@pytest.mark.parametrize("mode", ["each", "micro-batch"])
def test_kafka_streams_fills_the_same_calendar_windows(comparison: Comparison, mode: Mode) -> None:
    """No record cache: that of Kafka Streams supports windows of only one size."""
    comparison.ensure_same(in_windows_of_the_calendar, SOME * 2, mode, at=AT_MS, scale=5 * HOUR_MS)
