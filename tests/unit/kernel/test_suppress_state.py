"""Suppressed rows stay in the state until they are emitted: over micro-batches, in parts, within bounds."""

import json
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from unit.kernel.driver import In, KernelDriver

pytestmark = pytest.mark.spark

OF_THE_TASK = 3
"""Time, buckets, and how much waits."""
A_ROW = 2
"""The row, and since when its key waits."""
AT_ONCE = 1_000
MODES = pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])


def driver_of(spark: SparkSession, *, real_time: bool, **limits: Any) -> KernelDriver:
    topology = Topology("held")
    users = topology.table("users", key="name STRING", value="n BIGINT", store="users")
    users.suppress("10 ms", store="held", **limits).to("out")
    spec = lower(find_levels(topology.build()), "test", cache_bytes_max=10_000_000)
    return KernelDriver(spark, spec | {"real_time": real_time})


def user(name: str, n: int | None, at: int) -> In:
    return In("users", name, None if n is None else json.dumps({"n": n}), at)


@MODES
def test_buffered_rows_are_kept_across_micro_batches(
    spark: SparkSession, *, real_time: bool
) -> None:
    driver = driver_of(spark, real_time=real_time)

    nothing = driver.batch([user("b", 1, 0), user("a", 1, 3), user("b", 2, 4)])
    waiting = driver.entries("held")
    first = driver.batch([user("c", 1, 10)])
    second = driver.batch([user("c", None, 19), user("b", 3, 21)])

    assert nothing == []
    assert waiting == OF_THE_TASK + 2 * A_ROW
    assert [(out.key, out.value, out.ts) for out in first] == [("b", '{"n":2}', 4)]
    assert [(out.key, out.value, out.ts) for out in second] == [
        ("a", '{"n":1}', 3),
        ("c", None, 19),
    ]
    assert driver.entries("held") == OF_THE_TASK + A_ROW


@MODES
def test_a_row_added_and_removed_by_one_record_leaves_no_state(
    spark: SparkSession, *, real_time: bool
) -> None:
    driver = driver_of(spark, real_time=real_time)
    driver.batch([user("a", 1, 1_000)])

    found = driver.batch([user("b", 1, 3), user("b", 2, 990)])

    assert [(out.key, out.value) for out in found] == [("b", '{"n":1}'), ("b", '{"n":2}')]
    assert driver.entries("held") == OF_THE_TASK + A_ROW


def test_in_real_time_many_leave_by_parts(spark: SparkSession) -> None:
    driver = driver_of(spark, real_time=True)
    many = AT_ONCE + 200
    driver.batch(user(f"{n:05}", 1, 0) for n in range(many))

    parts = [driver.batch([user("last", at, 100 + at)]) for at in range(3)]

    assert [len(part) for part in parts] == [AT_ONCE, 200, 0]
    assert [out.key for part in parts for out in part] == [f"{n:05}" for n in range(many)]


@MODES
@pytest.mark.parametrize("limits", [{"max_records": 2}, {"max_bytes": 300}])
def test_beyond_its_bounds_what_waits_for_longest_leaves_early(
    spark: SparkSession, limits: dict[str, int], *, real_time: bool
) -> None:
    driver = driver_of(spark, real_time=real_time, **limits)

    first = driver.batch([user("b", 1, 1), user("a", 1, 1), user("c", 1, 0)])
    second = driver.batch([user("d", 1, 2)])

    assert [out.key for out in first] == ["c"]
    assert [out.key for out in second] == ["a"]


@MODES
def test_or_the_query_ends_and_says_what_is_full(spark: SparkSession, *, real_time: bool) -> None:
    driver = driver_of(spark, real_time=real_time, max_records=2, when_full="shut down")
    driver.batch([user("a", 1, 0), user("b", 1, 0)])

    with pytest.raises(Py4JJavaError) as caught:
        driver.batch([user("c", 1, 0)])

    said = str(caught.value.java_exception)
    assert "cannot buffer more at suppress-2: 3 records" in said
    assert "2 records may" in said
