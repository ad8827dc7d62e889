"""Rows emitted on close are deleted from the store with the next records, in order and in parts: for each kind of window."""

import json
from collections.abc import Callable
from typing import Final

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, session, sliding, tumbling
from duolog.core.units import SECOND_MS
from duolog.dsl.streams import Grouped, Table
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from unit.kernel.driver import In, KernelDriver

pytestmark = pytest.mark.spark

OF_THE_TASK = 2
AT_ONCE = 1_000
"""The number of rows that one record emits in real time."""


def in_windows(grouped: Grouped) -> Table:
    return grouped.windowed_by(tumbling("1 s", grace="0 s"), emit="on close").count()


def in_sessions(grouped: Grouped) -> Table:
    return grouped.windowed_by(session("1 s", grace="0 s"), emit="on close").count()


def in_sliding_windows(grouped: Grouped) -> Table:
    return grouped.windowed_by(sliding("1 s", grace="0 s"), emit="on close").count()


KINDS: Final = [in_windows, in_sessions, in_sliding_windows]


def driver_of(
    spark: SparkSession, count: Callable[[Grouped], Table], *, real_time: bool
) -> KernelDriver:
    topology = Topology("on-close")
    clicks = topology.stream("clicks", key="user STRING", value="n INT")
    count(clicks.group_by_key().materialized("counts")).to_stream().select_key("user").to("out")
    spec = lower(find_levels(topology.build()), "test", cache_bytes_max=10_000_000)
    return KernelDriver(spark, spec | {"real_time": real_time})


def clicks_of(users: int, second: int) -> list[In]:
    value = json.dumps({"n": 1})
    return [In("clicks", f"{user:05}", value, second * SECOND_MS) for user in range(users)]


@pytest.mark.parametrize("count", KINDS)
def test_in_a_micro_batch_all_that_has_closed_leaves_in_order(
    spark: SparkSession, count: Callable[[Grouped], Table]
) -> None:
    driver = driver_of(spark, count, real_time=False)
    users = AT_ONCE + 200

    nothing = driver.batch(reversed(clicks_of(users, 0)))
    found = driver.batch(clicks_of(1, 10))

    assert nothing == []
    assert [out.key for out in found] == [f"{user:05}" for user in range(users)]
    assert {out.value for out in found if out.value} == {found[0].value}, (
        "each has counted one record"
    )
    driver.batch(clicks_of(1, 10))
    # Of the one that is open: its row, and what finds it.
    assert driver.entries("counts") <= OF_THE_TASK + 2


@pytest.mark.parametrize("count", KINDS)
def test_windows_that_open_and_close_in_one_micro_batch_are_emitted_in_it(
    spark: SparkSession, count: Callable[[Grouped], Table]
) -> None:
    driver = driver_of(spark, count, real_time=False)

    found = driver.batch([*clicks_of(3, 0), *clicks_of(2, 10), *clicks_of(1, 20)])

    assert [(out.key, out.ts) for out in found] == [
        ("00000", 0),
        ("00001", 0),
        ("00002", 0),
        ("00000", 10 * SECOND_MS),
        ("00001", 10 * SECOND_MS),
    ]


@pytest.mark.parametrize("count", KINDS)
def test_in_real_time_a_record_evicts_a_limited_number_and_the_next_continues(
    spark: SparkSession, count: Callable[[Grouped], Table]
) -> None:
    driver = driver_of(spark, count, real_time=True)
    users = AT_ONCE + 200
    driver.batch(clicks_of(users, 0))

    parts = [driver.batch(clicks_of(1, 10)) for _ in range(3)]

    assert [len(part) for part in parts] == [AT_ONCE, 200, 0]
    assert [out.key for part in parts for out in part] == [f"{user:05}" for user in range(users)]
    driver.batch(clicks_of(1, 10) * 20)
    assert driver.entries("counts") <= OF_THE_TASK + 2
