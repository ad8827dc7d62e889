"""A record that is too late for a stream-stream join is counted, by its side of the join."""

import json

import pytest
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from unit.kernel.driver import In, KernelDriver, kernel_package

pytestmark = pytest.mark.spark

MINUTE = 60_000
NAME = "late-joins"


def joined(spark: SparkSession) -> KernelDriver:
    topology = Topology(NAME)
    clicks = topology.stream("clicks", key="user STRING", value="c BIGINT")
    views = topology.stream("views", key="user STRING", value="v BIGINT")
    clicks.left_join(views, within="1 minute", grace="1 minute").to("both")
    kernel_package(spark).Metrics.reset(NAME)
    return KernelDriver(spark, lower(find_levels(topology.build(), 1), NAME, cache_bytes_max=0))


def late_counts(spark: SparkSession) -> list[int]:
    """Return the number of late records of each side that had any."""
    return list(json.loads(kernel_package(spark).Metrics.snapshot(NAME))["late"].values())


def test_late_records_of_a_join_of_streams_are_counted(spark: SparkSession) -> None:
    found = joined(spark).batch(
        In("clicks", "u", json.dumps({"c": minute}), minute * MINUTE, offset=offset)
        for offset, minute in enumerate((100, 99, 1, 2))
    )

    assert late_counts(spark) == [2]
    assert [json.loads(str(one.value))["c"] for one in found] == [1, 2]


def test_a_record_is_late_when_the_first_of_its_possible_partners_have_closed(
    spark: SparkSession,
) -> None:
    """Views of minute 99 can still have all their partners, clicks from minute 98 on."""
    driver = joined(spark)
    driver.pipe(In("clicks", "u", json.dumps({"c": 100}), 100 * MINUTE))

    counts = []
    for offset, time in enumerate((99 * MINUTE, 99 * MINUTE - 1)):
        driver.pipe(In("views", "u", json.dumps({"v": 1}), time, offset=offset))
        counts.append(late_counts(spark))

    assert counts == [[], [1]]
