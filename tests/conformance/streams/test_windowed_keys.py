"""Compare windowed keys with Kafka Streams: read from topics, joined, looked up."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import (
    CACHE_BYTES_MAX,
    MODES,
    SOME,
    Mode,
    batches_of,
    cache_of,
    plan_of,
    without_headers,
)
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given, KafkaStreams
from duolog import Topology, col, count, hopping, sum_, tumbling
from topologies import KEY, VALUE, RawRecord, ms

pytestmark = pytest.mark.spark

Define = Callable[[Topology], None]
SIZE: Final = 5
WINDOWS: Final = tumbling(ms(SIZE), grace=ms(4))
WINDOWED: Final = ("w1", "w2")
"""Topics with windowed keys."""


def windowed_sources(topology: Topology) -> None:
    """Windowed keys are read and written unchanged; under another key, bounds are columns."""
    table = topology.table("w1", key=KEY, value=VALUE, windowed=WINDOWS)
    stream = topology.stream("w2", key=KEY, value=VALUE, windowed=WINDOWS)
    table.filter(col("n") > 0).to("table")
    stream.with_columns(length=col("window_end") - col("window_start")).to("stream")
    stream.group_by_key().count().to("by_bounds")
    table.group_by("window_start").aggregate(rows=count(), total=sum_("n")).to("by_start")


def windowed_sources_joined(topology: Topology) -> None:
    """Joins of tables and a stream by the whole windowed key."""
    table = topology.table("w1", key=KEY, value=VALUE, windowed=WINDOWS)
    stream = topology.stream("w2", key=KEY, value=VALUE, windowed=WINDOWS)
    stream.left_join(table, prefix="t_").to("looked_up")
    counted = topology.stream("s1", key=KEY, value=VALUE).group_by_key().windowed_by(WINDOWS)
    counts = counted.count("c")
    table.outer_join(counts).to("outer")
    counts.left_join(table).to("left")
    stream.join(counts).to("with_count")


def aggregates_joined(topology: Topology) -> None:
    """Two counts of equal windows: rows that one has expired, the other does not find."""
    one = topology.stream("s1", key=KEY, value=VALUE).group_by_key().windowed_by(WINDOWS)
    other = topology.stream("s2", key=KEY, value=VALUE).group_by_key().windowed_by(WINDOWS)
    counts, sums = one.count("c"), other.aggregate(t=sum_("n"))
    counts.join(sums).to("inner")
    both = counts.outer_join(sums)
    both.to("outer")
    both.group_by("window_start").aggregate(keys=count(), c=sum_("c"), t=sum_("t")).to("by_start")
    both.to_stream().left_join(counts.filter(col("c") > 1), prefix="again_").to("looked_up")


def hops_joined(topology: Topology) -> None:
    """Overlapping windows, one of which expires soon."""
    windows = hopping(ms(8), ms(3), grace=ms(1))
    counted = topology.stream("s1", key=KEY, value=VALUE).group_by_key().windowed_by(windows)
    added = topology.stream("s2", key=KEY, value=VALUE).group_by_key().windowed_by(windows)
    counted.count("c").left_join(added.aggregate(t=sum_("n"))).to("left")


class Comparison:
    """Both implementations, and their comparison."""

    def __init__(self, spark: SparkSession, kafka_streams: KafkaStreams) -> None:
        self._spark = spark
        self._kafka_streams = kafka_streams

    def ensure_same(
        self, define: Define, records: list[RawRecord], mode: Mode, *, cache: int, batches_max: int
    ) -> None:
        plan = plan_of(define)
        batches = [list(map(_windowed, batch)) for batch in batches_of(plan, records, mode)]
        batches = [[*chain.from_iterable(batches)]] if batches_max == 1 else batches
        theirs = self._kafka_streams.run(plan, batches, cache_bytes_max=cache)

        ours = run_in_memory(self._spark, plan, batches, cache_bytes_max=cache)

        assert ours == theirs, batches
        if cache == 0:
            one = [[given._replace(partition=0, headers=()) for given in of] for of in batches]
            reference = run_in_reference(plan, one, cache_bytes_max=0, tasks=1)
            assert reference == without_headers(theirs), batches


def _windowed(given: Given) -> Given:
    if given.topic not in WINDOWED or given.key is None:
        return given
    start = given.time // SIZE * SIZE
    return given._replace(key=(*given.key, start, start + SIZE))


@pytest.fixture(scope="module")
def comparison(spark: SparkSession, kafka_streams: KafkaStreams) -> Iterator[Comparison]:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield Comparison(spark, kafka_streams)
    spark.conf.unset("spark.sql.codegen.factoryMode")


def _of_all_topics(records: list[RawRecord]) -> Iterator[RawRecord]:
    for number, (topic, key, row, time) in enumerate(records):
        yield topic, key, row, time
        yield WINDOWED[number % 2], key, row, (time + number) % 10


OF_AGGREGATES: Final = [aggregates_joined, hops_joined]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("define", [windowed_sources, windowed_sources_joined, *OF_AGGREGATES])
def test_kafka_streams_handles_windowed_keys_the_same(
    comparison: Comparison, define: Define, mode: Mode
) -> None:
    records = list(_of_all_topics(SOME * 2))
    comparison.ensure_same(define, records, mode, cache=cache_of(mode), batches_max=2)


@pytest.mark.parametrize(("cache", "batches_max"), [(0, 2), (CACHE_BYTES_MAX, 1)])
@pytest.mark.parametrize("define", OF_AGGREGATES)
def test_kafka_streams_finds_the_same_rows_of_closed_windows(
    comparison: Comparison, define: Define, cache: int, batches_max: int
) -> None:
    """One micro-batch with a record cache: afterwards Streams may find expired rows in memory."""
    records = list(_of_all_topics(SOME * 3))
    comparison.ensure_same(define, records, "late", cache=cache, batches_max=batches_max)
