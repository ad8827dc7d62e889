"""Compare stream-stream joins with Kafka Streams, record by record.

One difference is on purpose: to save iterators, Kafka Streams checks for unmatched records once per
second of wall-clock time, and not before a time that it tracks wrongly. Duolog emits them as soon as
their windows have closed, and `ImmediateJoins` makes Kafka Streams do the same.
"""

from collections.abc import Iterator
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import Define, Mode, batches_of, by_key, cache_of, plan_of
from conformance.streams.in_memory import run_in_memory
from conformance.streams.oracle import KafkaStreams
from conformance.streams.stream_join_cases import (
    EARLY,
    GAPS,
    JITTERED,
    SHUFFLED,
    STREAM_JOINS,
    joined_eagerly,
    joined_with_changes_of_its_own_count,
    joins_joined,
)
from conformance.streams.test_topology_driver import ensure_same
from duolog import Topology
from topologies import RawRecord


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield spark
    spark.conf.unset("spark.sql.codegen.factoryMode")


AGGREGATED: Final = (joins_joined, joined_with_changes_of_its_own_count)
RECORDS: dict[Mode, list[RawRecord]] = {
    "each": JITTERED,
    "micro-batch": GAPS,
    "cache": GAPS,
    "late": SHUFFLED,
}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("define", "mode"),
    [
        # The record cache and the end of a micro-batch only matter for aggregates.
        pytest.param(define, mode, id=f"{define.__name__}-{mode}")
        for define in STREAM_JOINS
        for mode in (RECORDS if define in AGGREGATED else ("each", "late"))
    ],
)
def test_kafka_streams_joins_the_same(
    interpreted: SparkSession, kafka_streams: KafkaStreams, define: Define, mode: Mode
) -> None:
    plan = plan_of(define)
    batches, cache = batches_of(plan, RECORDS[mode], mode), cache_of(mode)

    ours = run_in_memory(interpreted, plan, batches, cache_bytes_max=cache)

    assert ours == kafka_streams.run(plan, batches, cache_bytes_max=cache)


@pytest.mark.spark
def test_several_tasks_join_like_one_if_no_record_is_late(
    interpreted: SparkSession, kafka_streams: KafkaStreams
) -> None:
    plan = plan_of(joined_eagerly)
    batches = batches_of(plan, GAPS, "micro-batch")

    ours = run_in_memory(interpreted, plan, batches, cache_bytes_max=0, tasks=2)

    theirs = kafka_streams.run(plan, batches, cache_bytes_max=0)
    assert by_key(ours) == by_key(theirs)


@pytest.mark.parametrize("records", [JITTERED, EARLY], ids=["jittered", "early"])
@pytest.mark.parametrize("define", STREAM_JOINS, ids=lambda define: define.__name__)
def test_kafka_streams_driver_joins_the_same(
    kafka_streams: KafkaStreams, define: Define, records: list[RawRecord]
) -> None:
    topology = Topology(define.__name__)
    define(topology)

    ensure_same(kafka_streams, topology, records)
