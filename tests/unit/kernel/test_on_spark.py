"""The chain on Spark itself: shuffled, sorted with spills, task by task."""

import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from duolog.engine.kernel_classes import kernel_class_name
from unit.kernel.driver import In, KernelDriver, java_session, kernel_package
from unit.kernel.specs import Spec, flights_spec, history_spec

pytestmark = pytest.mark.spark

Sunk = tuple[int, str, str, int]
DEFAULT: dict[str, int] = {}
EVERY_UPDATE = {"cache_bytes_max": 0}


@pytest.fixture
def spills(spark: SparkSession) -> Iterator[None]:
    """Every sort spills after a few rows, which takes away the order within a partition."""
    name = "spark.shuffle.spill.numElementsForceSpillThreshold"
    conf: Any = java_session(spark).sparkContext().conf()
    conf.set(name, "7")
    yield
    conf.remove(name)


def records(spark: SparkSession, count: int, *, value: str, key: str = "'f'") -> DataFrame:
    """Records of three partitions in no order, from SQL over `id`."""
    return spark.range(0, count, 1, 4).selectExpr(
        f"CAST({key} AS BINARY) AS key",
        f"CAST({value} AS BINARY) AS value",
        "CAST(id % 3 AS INT) AS partition",
        "id AS offset",
        "id * 7 % 100 AS timestamp_ms",
    )


def numbers(spark: SparkSession, count: int) -> DataFrame:
    return records(spark, count, key="concat('k', id % 5)", value="""concat('{"n":', id, '}')""")


def run(spark: SparkSession, spec: Spec, *inputs: DataFrame) -> list[Sunk]:
    """Return what the sinks receive in one micro-batch, Spark partition after Spark partition."""
    # Queries that ran before have set it for the session.
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    kernel = kernel_package(spark).Kernel
    frames = [frame._jdf for frame in inputs]  # noqa: SLF001 - the kernel takes Java's
    envelopes = DataFrame(kernel.apply(frames, json.dumps(spec)).toDF(), spark)
    return [sunk(bytes(row.packed)) for row in envelopes.collect()]


def sunk(packed: bytes) -> Sunk:
    """A record for a sink out of the bytes that Spark carries, by the layout in Envelope.java."""
    ts, edge, key_length, value_length = struct.unpack_from("=q16xi8xii", packed)
    key, value = packed[64:][:key_length], packed[64 + key_length :][:value_length]
    return -edge - 1, key.decode(), value.decode(), ts


def in_memory(spark: SparkSession, spec: Spec, *inputs: DataFrame) -> list[Sunk]:
    """The same by the in-memory driver."""
    topics = [source["topic"] for source in spec["sources"]]
    outputs = KernelDriver(spark, spec).batch(
        In(topic, row.key.decode(), row.value.decode(), row.timestamp_ms, row.partition, row.offset)
        for topic, frame in zip(topics, inputs, strict=True)
        for row in frame.collect()
    )
    sinks = [sink["topic"] for sink in spec["sinks"]]
    return [(sinks.index(out.topic), out.key or "", out.value or "", out.ts) for out in outputs]


def by_key(outputs: list[Sunk]) -> list[Sunk]:
    """Sorted by sink and key; the order within a key stays."""
    return sorted(outputs, key=lambda output: output[:2])


@pytest.mark.usefixtures("spills")
@pytest.mark.parametrize("settings", [DEFAULT, EVERY_UPDATE])
def test_the_order_survives_a_shuffle_whose_sorts_spill(
    spark: SparkSession, settings: dict[str, int]
) -> None:
    inputs = numbers(spark, 400), numbers(spark, 100)
    spec = history_spec(**settings)

    on_spark = run(spark, spec, *inputs)

    assert len(on_spark) == (500 if settings == EVERY_UPDATE else 5)
    assert by_key(on_spark) == by_key(in_memory(spark, spec, *inputs))


@pytest.mark.usefixtures("spills")
def test_sinks_of_all_levels_get_their_records_in_order(spark: SparkSession) -> None:
    """The joined records pass through the second level, which must not disturb them."""
    flights = records(
        spark, 300, value="""concat('{"carrier":"A', id % 4, '","delay":', id, '}')"""
    )
    airlines = records(
        spark, 5, key="concat('A', id)", value="""concat('{"name":"n', id % 3, '"}')"""
    )

    on_spark = run(spark, flights_spec(), flights, airlines)

    assert {sink for sink, *_ in on_spark} == {0, 1}
    assert by_key(on_spark) == by_key(in_memory(spark, flights_spec(), flights, airlines))


def test_a_wrong_number_of_shuffle_partitions_is_noticed(spark: SparkSession) -> None:
    spec = history_spec(tasks=8, shuffle_partitions=3)

    with pytest.raises(Exception, match=r"spark.sql.shuffle.partitions must be 3"):
        run(spark, spec, numbers(spark, 50), numbers(spark, 0))


def test_what_goes_out_with_each_operator_of_a_micro_batch_is_no_more_than_is_read(
    spark: SparkSession,
) -> None:
    """Of Hadoop's 1,100 entries 720 are for YARN and MapReduce: writing them took an eighth of a micro-batch."""
    run(spark, history_spec(), numbers(spark, 5), numbers(spark, 0))
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - no public way

    assert hadoop.get("yarn.resourcemanager.hostname") is None
    assert hadoop.get("mapreduce.map.memory.mb") is None
    assert hadoop.size() < 400
    assert hadoop.get("fs.file.impl") == kernel_class_name("LocalFiles")
    assert hadoop.get("io.file.buffer.size") == "65536"
