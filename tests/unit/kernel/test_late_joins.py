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


def test_late_records_of_a_join_of_streams_are_counted(spark: SparkSession) -> None:
    topology = Topology("late-joins")
    clicks = topology.stream("clicks", key="user STRING", value="c BIGINT")
    views = topology.stream("views", key="user STRING", value="v BIGINT")
    clicks.left_join(views, within="1 minute", grace="1 minute").to("both")
    spec = lower(find_levels(topology.build(), 1), "late-joins", cache_bytes_max=0)
    metrics = kernel_package(spark).Metrics
    metrics.reset("late-joins")

    found = KernelDriver(spark, spec).batch(
        In("clicks", "u", json.dumps({"c": minute}), minute * MINUTE, offset=offset)
        for offset, minute in enumerate((100, 99, 1, 2))
    )

    (late,) = json.loads(metrics.snapshot("late-joins"))["late"].values()
    assert late == 2
    assert [json.loads(str(one.value))["c"] for one in found] == [1, 2]
