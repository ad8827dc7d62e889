"""Rows with a time to live disappear from lookups and from the state; the reference evaluator agrees."""

import json
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import CACHE_BYTES_MAX
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given
from duolog import Topology, sum_
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from topologies import KEY, VALUE, ms
from unit.kernel.driver import In, KernelDriver

pytestmark = pytest.mark.spark

TTL = 8
OF_THE_TASK = 2


def silent_groups(ttl: int = TTL) -> Topology:
    topology = Topology("silent")
    stream = topology.stream("s1", key=KEY, value=VALUE)
    grouped = stream.group_by_key().materialized("kept", ttl=ms(ttl))
    totals = grouped.aggregate(n=sum_("n"))
    totals.to("totals")
    stream.left_join(totals, prefix="of_").to("joined")
    other = topology.stream("s2", key=KEY, value=VALUE)
    rows = topology.table("t1", key=KEY, value=VALUE, ttl=ms(ttl))
    other.left_join(rows, prefix="t_").to("found")
    rows.left_join(totals, prefix="of_").to("both")
    return topology


@pytest.mark.parametrize("cache", [0, CACHE_BYTES_MAX])
@pytest.mark.parametrize("seed", range(5))
def test_the_reference_says_the_same_wherever_a_micro_batch_ends(
    spark: SparkSession, seed: int, cache: int
) -> None:
    drawn = random.Random(seed)  # noqa: S311 - the same records each time
    plan, now, given = silent_groups().build(), 0, list[Given]()
    for _ in range(120):
        now += drawn.choice([0, 0, 1, 2, 5, 20])
        row = None if drawn.random() < 0.15 else ("x", drawn.randrange(5))
        late = max(0, now - drawn.choice([0, 0, 3, 12]))
        topic = drawn.choice(["s1", "s1", "s2", "t1"])
        given.append(Given(topic, (drawn.choice("xyz"),), row, late))
    step = drawn.choice([1, 7, 40])
    batches = [given[at : at + step] for at in range(0, len(given), step)]

    ours = run_in_memory(spark, plan, batches, cache_bytes_max=cache)
    reference = run_in_reference(plan, batches, cache_bytes_max=cache, tasks=1)

    assert ours == reference


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_state_does_not_grow_over_ten_times_the_time_to_live(
    spark: SparkSession, mode: str
) -> None:
    topology = Topology("silent")
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.group_by_key().materialized("kept", ttl=ms(1000)).count().to("counted")
    driver = KernelDriver(spark, spec_of(topology, real_time=mode == "real-time"))
    kept: list[int] = []

    for step in range(100):
        driver.batch(record(f"k{step}-{n}", step * 100, step * 20 + n) for n in range(20))
        kept.append(driver.entries("kept") - OF_THE_TASK)

    # A row and its place in a bucket; some beyond its time, as a bucket is an eighth of it.
    assert max(kept) <= 2 * 20 * 13
    assert kept[-1] >= 2 * 20 * 10


def test_updates_of_a_row_keep_its_memory_cost(spark: SparkSession) -> None:
    topology = Topology("silent")
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.group_by_key().materialized("kept", ttl=ms(1000)).count().to("counted")
    driver = KernelDriver(spark, spec_of(topology))

    found = [driver.batch([record("k", step * 600, step)])[0].value for step in range(20)]

    assert [json.loads(str(value))["count"] for value in found] == list(range(1, 21))
    assert driver.entries("kept") - OF_THE_TASK == 2


def spec_of(topology: Topology, **changes: Any) -> dict[str, Any]:
    spec = lower(find_levels(topology.build(), 1), "silent", cache_bytes_max=CACHE_BYTES_MAX)
    return spec | changes


def record(key: str, time: int, offset: int) -> In:
    return In("s1", key, '{"a":"x","n":1}', ts=time, offset=offset)
