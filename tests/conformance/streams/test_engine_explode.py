"""Exploded and split streams in the kernel are those of the reference evaluator.

Records of several partitions, arrays of several types, compiled expressions: what Kafka Streams
covers too (`comparison_cases.py`) has texts only.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.test_engine_semantics import by_topic_and_partition, drive, driver_of_plan
from duolog import Topology, array, col, count, lit, max_, row_time, sum_
from duolog.plan.nodes import Plan
from duolog.testing.reference import ReferenceEvaluator, SourceRecord

pytestmark = pytest.mark.spark

VALUE = (
    "line STRING, items ARRAY<STRUCT<sku STRING, n BIGINT, tags MAP<STRING, INT>>>, "
    "prices MAP<STRING, DECIMAL(10,2)>, matrix ARRAY<ARRAY<INT>>, n INT"
)
ROWS: list[dict[str, object] | None] = [
    {"line": "To be, or not to be", "n": 3, "matrix": [[1, 2], [], None, [3, None]]},
    {"items": [{"sku": "a", "n": 1, "tags": {"x": 1, "y": None}}, None, {"sku": "b"}], "n": 1},
    {"prices": {"b": "1.50", "a": None, "": "-3"}, "items": [], "n": 7},
    {"line": "", "items": None, "matrix": []},
    None,
    {"line": " , ,", "items": [{"n": 5}, {"sku": "a", "n": 2**40}], "n": 0},
]


def words(topology: Topology) -> None:
    stream = topology.stream("in", key="k STRING", value=VALUE)
    text = col("line").lower()
    stream.explode(word=text.split()).group_by("word").aggregate(n=count(), last=max_("n")).to("a")
    stream.flat_map_values(part=text.split(", ")).to("b")
    stream.flat_map_values(word=text.find_all("[a-z]+")).to("c")
    stream.flat_map(word=text.replace(",", "").split(" "), key="word").with_columns(x=1).to("d")
    stream.map_values(
        has=text.contains(", "), starts=text.startswith("to"), ends=text.endswith("be")
    ).to("e")


def parts(topology: Topology) -> None:
    stream = topology.stream("in", key="k STRING", value=VALUE)
    stream.flat_map("items", key="sku").to("items")
    stream.flat_map_values("prices", into=("what", "price")).to("prices")
    stream.explode("matrix", outer=True).explode("matrix", outer=True).map_values(
        "n", "matrix", at=row_time()
    ).to("numbers")
    stream.explode("items").explode("items.tags", into=("tag", "x"), outer=True).map_values(
        "items.sku", "tag", "x"
    ).to("tags")
    stream.explode(x=array(col("n"), lit(None), col("n") + 1)).map_values("x").to("some")


def in_order(topology: Topology) -> None:
    """Records made of one keep their order over several shuffles into one sub-topology."""
    stream = topology.stream("in", key="k STRING", value=VALUE)
    each = stream.explode(x=array(lit(1), col("n"), lit(2), col("n")))
    branches = each.split(odd=col("x") % 2 == 1, default="even")
    seen = branches["odd"].group_by_key().aggregate(seen=count(), total=sum_("x"))
    branches["even"].left_join(seen).map_values("x", "seen", "total").to("joined")
    branches["odd"].left_join(seen).map_values("x", "seen", "total").to("own")
    by_x = each.select_key("x")
    by_x.join(by_x.group_by_key().count("so_far")).map_values("so_far").to("numbered")


SHUFFLED: Final[dict[Callable[[Topology], None], set[str]]] = {
    words: {"a"},
    parts: set(),
    in_order: {"joined", "own", "numbered"},
}
"""Topics whose records come from tasks, and not from a topic's partitions."""


@pytest.mark.parametrize("define", [words, parts, in_order])
@pytest.mark.parametrize("cache", [0, 10_000_000])
@pytest.mark.parametrize("partitions", [1, 2])
def test_exploded_records_equal_the_reference_evaluator(
    spark: SparkSession, define: Callable[[Topology], None], cache: int, partitions: int
) -> None:
    plan = plan_of(define)
    given = records(seed=cache, partitions=partitions)

    expected = by_topic_and_partition(
        ReferenceEvaluator(plan, tasks=2, cache=bool(cache)).run(given)
    )
    found = by_topic_and_partition(drive(driver_of_plan(spark, plan, cache), given))

    assert len(expected) >= 3
    # Without a shuffle, records of different partitions have no order.
    in_order = SHUFFLED[define] if partitions > 1 else {topic for topic, _ in expected}
    for written in (expected, found):
        for topic, partition in written:
            if topic not in in_order:
                written[topic, partition].sort(key=repr)
    assert found == expected


def plan_of(define: Callable[[Topology], None]) -> Plan:
    topology = Topology(define.__name__)
    define(topology)
    return topology.build()


def records(seed: int, partitions: int) -> list[SourceRecord]:
    random = Random(seed)  # noqa: S311 - tests, not secrets
    rows = [random.choice(ROWS) for _ in range(60)]
    found = []
    offsets = [0, 0]
    for at, row in enumerate(rows):
        partition = at % partitions
        key = random.choice([b"x", b"y", None])
        value = None if row is None else json.dumps(row).encode()
        found.append(SourceRecord("in", partition, offsets[partition], at // 3, key, value))
        offsets[partition] += 1
    return found
