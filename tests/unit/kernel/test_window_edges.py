"""The last millisecond for which the row of a window is needed, and the first in which it is gone."""

import datetime as dt
from typing import Literal

import pytest
from pyspark.sql import SparkSession

from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given, Written
from duolog import Topology, calendar, count, session, sliding, tumbling
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from duolog.plan.windows import Windows
from duolog.testing import TopologyDriver
from topologies import KEY, VALUE, ms
from unit.kernel.driver import In, KernelDriver

pytestmark = pytest.mark.spark

OF_THE_TASK = 2
GRACE = 2


def counted(windows: Windows) -> Topology:
    topology = Topology("edges")
    grouped = topology.stream("s1", key=KEY, value=VALUE).group_by_key()
    grouped.windowed_by(windows).materialized("kept").aggregate(c=count()).to("counted")
    return topology


def last_results(spark: SparkSession, windows: Windows, *times: tuple[str, int]) -> list[Written]:
    """Return the results of the last record; kernel and reference must agree."""
    plan = counted(windows).build()
    batches = [[Given("s1", (key,), ("a", 1), time)] for key, time in times]
    ours = run_in_memory(spark, plan, batches, cache_bytes_max=0)
    assert run_in_reference(plan, batches, cache_bytes_max=0, tasks=1) == ours
    return ours[-1]["counted"]


def test_a_sliding_window_is_kept_until_the_next_one_closes(spark: SparkSession) -> None:
    """The window that ends at 100 has closed; the one that starts at 101 has not."""
    (found,) = last_results(spark, sliding(ms(10), grace=ms(0)), ("a", 100), ("b", 111), ("a", 105))

    assert (found.key, found.value) == (("a", 101, 111), (1,))


def test_a_window_with_an_offset_is_kept_through_its_grace_period(spark: SparkSession) -> None:
    windows = tumbling(ms(10), grace=ms(GRACE), offset=ms(7))

    (found,) = last_results(spark, windows, ("a", 10), ("b", 17 + GRACE - 1), ("a", 12))

    assert (found.key, found.value) == (("a", 7, 17), (2,))


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_the_row_of_a_month_is_found_until_the_next_month_has_ended(
    spark: SparkSession, engine: Literal["reference", "kernel"]
) -> None:
    """With a grace period: rows expire by the start of the last window, as in Kafka Streams."""
    assert spark is not None, "the driver finds the session of this run"
    months = calendar("month", time_zone="UTC", grace="1 day")
    with TopologyDriver(counted(months), engine=engine) as driver:
        driver.input_topic("s1").pipe_input("a", {"a": "x", "n": 1}, at_ms("2026-01-10"))
        rows = []
        for date in ("2026-02-02", "2026-02-28", "2026-03-01"):
            driver.input_topic("s1").pipe_input("b", {"a": "x", "n": 1}, at_ms(date))
            rows.append(sorted(key[0] for key in driver.store("kept")))

    assert rows == [["a", "b"], ["a", "b"], ["b", "b"]]


def at_ms(date: str) -> int:
    return int(dt.datetime.fromisoformat(f"{date}T00:00+00:00").timestamp() * 1000)


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_the_index_of_a_key_goes_with_its_last_session(
    spark: SparkSession, *, real_time: bool
) -> None:
    """Sessions end at each millisecond: one of them ends exactly where rows begin to be kept."""
    spec = lower(find_levels(counted(session(ms(3))).build(), 1), "edges", cache_bytes_max=0)
    driver = KernelDriver(spark, spec | {"real_time": real_time})
    for time in range(40):
        driver.batch([In("s1", f"k{time}", '{"a":"x","n":1}', ts=time, offset=time)])
        row_and_index = (driver.entries("kept") - OF_THE_TASK) / 2
        assert row_and_index.is_integer(), time
