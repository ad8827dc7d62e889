"""Compare foreign-key joins with Kafka Streams.

One difference is on purpose: if one record changes both tables (one is a count of the other), Streams
reads its internal topics in an unspecified order at equal times; Duolog has one queue. Such a join
is compared by the last record of each key. A self-join of a table is compared record by record.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import (
    MODES,
    OF_BOTH_TABLES,
    Define,
    Mode,
    batches_of,
    by_key,
    plan_of,
)
from conformance.streams.in_memory import run_in_memory
from conformance.streams.oracle import ByTopic, KafkaStreams
from conformance.streams.planted import planted_driver
from conformance.streams.planted_lines import InKernel
from conformance.streams.test_kafka_streams import Comparison
from duolog import Topology, coalesce, col, concat, count, sum_
from duolog.dsl.streams import Table
from duolog.testing import TopologyDriver
from topologies import KEY, VALUE, RawRecord

pytestmark = pytest.mark.spark

RECORDS: Final[tuple[RawRecord, ...]] = (
    *OF_BOTH_TABLES,
    ("t2", "x", ("y", 1), 50),
    ("t1", "z", ("x", 7), 3),  # older than what it asks for
    ("t1", "x", ("x", 4), 20),  # asks for itself, where that can be
    ("t2", "x", None, 22),
)
THE_SAME_AGAIN: Final[RawRecord] = ("t1", "x", ("x", 4), 20)


def joined_by_a_foreign_key(topology: Topology) -> None:
    """Rows of both tables are inserted, updated, deleted and inserted again."""
    left, right = _tables(topology)
    joined = left.join(right, on="a", prefix="r_")
    joined.to("inner")
    joined.group_by("r_a").aggregate(rows=count(), n=sum_("n"), r_n=sum_("r_n")).to("by_right")
    left.left_join(right, on="a", prefix="r_").to_stream().to("left")


def joined_by_a_foreign_key_behind_others(topology: Topology) -> None:
    """Both tables are derived, and their join is filtered."""
    left, _ = _tables(topology)
    some = left.filter(col("n") > 0).map_values("a", m=col("n") * 2)
    counted = topology.stream("s1", key=KEY, value=VALUE).group_by_key().count("c")
    joined = some.left_join(counted.filter(col("c") != 2), on="a")
    joined.filter(col("c") > 1).to("often")


def joined_by_a_foreign_key_in_front_of_others(topology: Topology) -> None:
    """The join of two tables is looked up, and joined again."""
    left, right = _tables(topology)
    joined = left.filter(col("n") > 0).join(right.map_values(m=col("n") + 1), on="a")
    joined.outer_join(right, prefix="r_").to("again")
    topology.stream("s2", key=KEY, value=VALUE).left_join(joined, prefix="j_").to("looked_up")


def joined_with_itself_by_a_foreign_key(topology: Topology) -> None:
    """Each row references another row of the same table, or itself."""
    left, _ = _tables(topology)
    left.join(left, on="a", prefix="of_").to("inner")


def joined_with_itself_by_a_foreign_key_or_nothing(topology: Topology) -> None:
    left, _ = _tables(topology)
    left.left_join(left, on="a", prefix="of_").to("left")


def joined_by_two_foreign_keys(topology: Topology) -> None:
    """The result of one join is referenced by another, and then grouped."""
    left, right = _tables(topology)
    joined = left.left_join(right, on="a", prefix="r_")
    again = joined.join(right, on=coalesce(col("r_a"), col("a")).alias("by"), prefix="s_")
    again.to("again")
    again.group_by("s_a").aggregate(rows=count(), n=sum_("n")).to("by_right")


def joined_by_its_key_and_a_column(topology: Topology) -> None:
    """The foreign key is computed from the key and the value."""
    left, right = _tables(topology)
    by = concat(col("k"), coalesce(col("a"), "")).alias("by")
    right.join(left.group_by(k=by).aggregate(n=sum_("n")), on=by, prefix="l_").to("joined")


def joined_with_its_count_by_a_foreign_key(topology: Topology) -> None:
    """Each row change affects both tables."""
    left, _ = _tables(topology)
    counted = left.group_by("a").count("c")
    left.join(counted, on="a").to("inner")
    left.left_join(counted, on="a").to("left")


def _tables(topology: Topology) -> tuple[Table, Table]:
    left = topology.table("t1", key=KEY, value=VALUE)
    return left, topology.table("t2", key=KEY, value=VALUE)


CASES: Final[tuple[Define, ...]] = (
    joined_by_a_foreign_key,
    joined_by_a_foreign_key_behind_others,
    joined_by_a_foreign_key_in_front_of_others,
    joined_with_itself_by_a_foreign_key,
    joined_with_itself_by_a_foreign_key_or_nothing,
    joined_by_two_foreign_keys,
    joined_by_its_key_and_a_column,
)
IN_KERNEL: Final = (
    InKernel(
        "an answer to a row that has changed since counts",
        "Newest",
        "known.row == null ? !gone && number <= last : number < known.row.getLong(0);",
        "false;",
        joined_with_itself_by_a_foreign_key,
    ),
    InKernel(
        "the answer that a row is gone counts for none that is known to be gone",
        "Newest",
        "? !gone && number <= last",
        "? number <= last",
        joined_by_a_foreign_key,
    ),
    InKernel(
        "a row is subscribed to under the foreign key that it had",
        "SubscriptionsNode",
        "store.delete(bucket, key);",
        "",
        joined_by_a_foreign_key,
    ),
    InKernel(
        "a row that is still missing is reported",
        "Instruction",
        "Outcome.STILL_MISSING",
        "Outcome.MISSING",
        joined_by_a_foreign_key,
    ),
    InKernel(
        "an answer has the time of who asked",
        "SubscriptionsNode",
        "Math.max(change.ts, table.ts)",
        "change.ts",
        joined_by_a_foreign_key,
    ),
    InKernel(
        "a row is not notified that its referenced row was deleted",
        "ForeignTableNode",
        "UnsafeRow key = change.key.copy();",
        "if (change.value == null) return;\n    UnsafeRow key = change.key.copy();",
        joined_by_a_foreign_key,
    ),
)


@pytest.fixture(scope="module")
def comparison(spark: SparkSession, kafka_streams: KafkaStreams) -> Iterator[Comparison]:
    # Expressions are interpreted: compiling them takes nearly all of a case's time.
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield Comparison(spark, kafka_streams)
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("define", CASES, ids=lambda define: define.__name__)
def test_kafka_streams_writes_the_same(
    comparison: Comparison, define: Define, mode: Mode, tasks: int
) -> None:
    comparison.ensure_same(plan_of(define), RECORDS, mode, tasks=tasks)


@pytest.mark.parametrize(
    "define",
    [joined_with_itself_by_a_foreign_key, joined_with_itself_by_a_foreign_key_or_nothing],
    ids=lambda define: define.__name__,
)
def test_response_for_an_unchanged_row_is_accepted(comparison: Comparison, define: Define) -> None:
    """The timestamp is unchanged, too: rows of Kafka Streams contain and hash it."""
    comparison.ensure_same(plan_of(define), [*RECORDS, THE_SAME_AGAIN], "each", tasks=1)


@pytest.mark.parametrize("tasks", [1, 2])
def test_kafka_streams_ends_with_the_same_rows(comparison: Comparison, tasks: int) -> None:
    plan = plan_of(joined_with_its_count_by_a_foreign_key)
    batches = batches_of(plan, RECORDS, "each")
    theirs = comparison.kafka_streams(plan, batches, 0)
    ours = comparison.kernel(plan, batches, 0, tasks=tasks)

    for batch, mine, others in zip(batches, by_key(ours), by_key(theirs), strict=True):
        last = {key: records[-1] for key, records in mine.items()}
        assert last == {key: records[-1] for key, records in others.items()}, batch


ALIKE: Final = (476465, 1604711)
"""Two foreign keys whose hashes begin with the same 43 bits (`SubscriptionsNode.bucket`)."""


def bucket(spark: SparkSession, key: int) -> int:
    """Return the kernel's subscription bucket of a BIGINT key."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no other way to the JVM
    row = bytes(8) + key.to_bytes(8, "little")
    begin = java.org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET
    # An object, because py4j may not find a static method if an instance method has the same name.
    xxh64 = java.org.apache.spark.sql.catalyst.expressions.XXH64(42)
    return int(xxh64.hashUnsafeBytes(bytearray(row), begin, len(row))) % 2**64 >> 64 - 43


@pytest.mark.parametrize("tasks", [1, 2])
def test_rows_with_colliding_foreign_key_hashes_stay_separate(
    spark: SparkSession, tasks: int
) -> None:
    assert len({bucket(spark, key) for key in ALIKE}) == 1
    topology = Topology("alike")
    orders = topology.table("orders", key="id STRING", value="customer BIGINT")
    customers = topology.table("customers", key="id BIGINT", value="name STRING")
    orders.left_join(customers, on="customer").to("named")

    with TopologyDriver(topology, engine="kernel", tasks=tasks) as driver:
        for name, customer in zip("ab", ALIKE, strict=True):
            driver.input_topic("orders").pipe_input(name, {"customer": customer}, 1)
        named = driver.output_topic("named")
        assert named.read_table() == {
            name: {"customer": customer, "name": None}
            for name, customer in zip("ab", ALIKE, strict=True)
        }
        driver.input_topic("customers").pipe_input(ALIKE[0], {"name": "Ada"}, 2)
        driver.input_topic("customers").pipe_input(ALIKE[1], {"name": "Bo"}, 3)
        driver.input_topic("orders").pipe_input("a", None, 4)
        driver.input_topic("customers").pipe_input(ALIKE[1], None, 5)

        assert named.read_key_values() == [
            ("a", {"customer": ALIKE[0], "name": "Ada"}),
            ("b", {"customer": ALIKE[1], "name": "Bo"}),
            ("a", None),
            ("b", {"customer": ALIKE[1], "name": None}),
        ]


@cache
def written(comparison: Comparison, define: Define) -> list[ByTopic]:
    plan = plan_of(define)
    return comparison.kafka_streams(plan, batches_of(plan, RECORDS, "each"), 0)


@pytest.mark.parametrize(
    "plant",
    [
        # A compiler is started for each: every third one is enough for the quick form.
        pytest.param(plant, id=plant.bug, marks=[pytest.mark.deep] if number % 3 else [])
        for number, plant in enumerate(IN_KERNEL)
    ],
)
def test_planted_kernel_bug_is_found(
    spark: SparkSession, comparison: Comparison, tmp_path: Path, plant: InKernel
) -> None:
    wrong = planted_driver(spark, plant.java_class, plant.line, plant.planted, tmp_path)
    plan = plan_of(plant.found_by)
    batches = batches_of(plan, RECORDS, plant.mode)

    ours = run_in_memory(spark, plan, batches, cache_bytes_max=0, open_driver=wrong)

    assert ours != written(comparison, plant.found_by)
