"""Compare record metadata with Kafka Streams: read, written, after aggregates and joins.

Records are in one partition, because Streams' driver has no others. After a repartition topic, the
offset is that of the repartition topic in Kafka Streams, and that of the source topic here.
"""

from collections.abc import Callable
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import CACHE_BYTES_MAX
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given, KafkaStreams
from duolog import (
    Topology,
    coalesce,
    col,
    concat,
    header,
    offset,
    partition,
    row_time,
    topic,
    when,
)
from topologies import KEY, VALUE

pytestmark = pytest.mark.spark

Define = Callable[[Topology], None]
DEFINED: Final[list[Define]] = []
RECORDS: Final = (
    ("s1", "x", ("y", 1), 10, "a"),
    ("s1", "y", ("x", 2), 12, None),
    ("t1", "x", ("x", 7), 12, "t"),
    ("s1", "x", None, 11, "b"),
    ("s1", None, ("z", 1), 13, "c"),
    ("s1", "x", ("x", None), 9, "d"),
    ("t1", "x", None, 14, None),
    ("s1", "y", ("y", 5), 30, "e"),
    ("s1", "x", ("y", 3), 30, None),
)


def case(define: Define) -> Define:
    DEFINED.append(define)
    return define


@case
def places(topology: Topology) -> None:
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.with_columns(topic(), partition(), offset(), h=header("h").cast(str)).to("out")


@case
def chosen_by_header(topology: Topology) -> None:
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.with_columns(h=header("h").cast(str)).filter(col("h") != "b").to("out")


@case
def behind_a_count(topology: Topology) -> None:
    """With a record cache, results have the offset of the last record, as the cache stores it."""
    counted = topology.stream("s1", key=KEY, value=VALUE).group_by_key().count()
    counted.to_stream().with_columns(offset(), h=header("h").cast(str)).to("out")


@case
def behind_a_join(topology: Topology) -> None:
    table = topology.table("t1", key=KEY, value=VALUE)
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.left_join(table, prefix="t_").with_columns(offset(), topic()).to("out")


@case
def behind_a_table(topology: Topology) -> None:
    table = topology.table("t1", key=KEY, value=VALUE)
    table.to_stream().with_columns(offset(), topic(), h=header("h").cast(str)).to("out")


@case
def headers_written(topology: Topology) -> None:
    stream = topology.stream("s1", key=KEY, value=VALUE)
    marked = stream.with_headers(h=concat(coalesce(col("a"), "none"), "!"), more=col("a"))
    marked.with_columns(h=header("h").cast(str)).without_headers("more").to("out")
    marked.group_by_key().count().to("counted")
    stream.without_headers().to("bare")


@case
def times_written(topology: Topology) -> None:
    stream = topology.stream("s1", key=KEY, value=VALUE)
    moved = stream.with_time(row_time() + coalesce(col("n"), 100))
    moved.with_columns(at=row_time()).to("out")
    moved.group_by_key().count().to("counted")


@case
def timestamps_of_a_column(topology: Topology) -> None:
    """A table deletion keeps its timestamp; a record without a number is skipped."""
    stream = topology.stream("s1", key=KEY, value=VALUE, timestamp="n", invalid_timestamp="skip")
    stream.with_columns(at=row_time()).to("out")
    stream.group_by_key().count().to("counted")
    topology.table("t1", key=KEY, value=VALUE, timestamp=col("n") * 3).to("rows")


@case
def timestamps_of_what_stands_beside(topology: Topology) -> None:
    times = row_time() * 2 + offset() + when(header("h").cast(str) == "a", 100).otherwise(0)
    topology.stream("s1", key=KEY, value=VALUE, timestamp=times).to("out")


@case
def times_of_the_partition(topology: Topology) -> None:
    times = when(col("n") != 2, col("n") * 5).otherwise(-1)
    topology.stream(
        "s1", key=KEY, value=VALUE, timestamp=times, invalid_timestamp="partition_time"
    ).to("out")


@pytest.mark.parametrize("cache", [0, CACHE_BYTES_MAX])
@pytest.mark.parametrize("define", DEFINED, ids=lambda define: define.__name__)
def test_kafka_streams_reads_and_writes_the_same_metadata(
    spark: SparkSession, kafka_streams: KafkaStreams, define: Define, cache: int
) -> None:
    topology = Topology("compared")
    define(topology)
    plan = topology.build()
    given = [
        Given(name, (key,) if key else None, row, time, 0, (("h", text.encode()),) if text else ())
        for name, key, row, time, text in RECORDS
        if name in {source.topic for source in plan.sources}
    ]
    batches = [given[:4], given[4:]] if cache else [[one] for one in given]

    theirs = kafka_streams.run(plan, batches, cache_bytes_max=cache)
    ours = run_in_memory(spark, plan, batches, cache_bytes_max=cache)
    reference = run_in_reference(plan, batches, cache_bytes_max=cache, tasks=1)

    assert ours == theirs
    assert reference == theirs
