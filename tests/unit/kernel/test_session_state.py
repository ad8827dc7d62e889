"""State of sessions is deleted with them: their rows, and the index that finds them by key."""

import json

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, session
from duolog.core.units import SECOND_MS
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from unit.kernel.driver import In, KernelDriver

pytestmark = pytest.mark.spark

OF_THE_TASK = 2
USERS = 50


@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_nothing_is_left_of_sessions_that_have_closed(
    spark: SparkSession, *, real_time: bool
) -> None:
    topology = Topology("sessions")
    clicks = topology.stream("clicks", key="user STRING", value="n INT")
    sessions = clicks.group_by_key().windowed_by(session("1 s"))
    counted = sessions.materialized("sessions").count()
    counted.to_stream().select_key("user").to("out")
    spec = lower(find_levels(topology.build()), "test", cache_bytes_max=10_000_000)
    driver = KernelDriver(spark, spec | {"real_time": real_time})

    # Some close in the micro-batch that they came in, others are open at its end.
    for start in (0, 10, 20):
        driver.batch(
            In(
                "clicks",
                f"{user}{start}{second}",
                json.dumps({"n": 1}),
                (start + second) * SECOND_MS,
            )
            for second in (0, 5)
            for user in range(USERS)
        )
        rows_and_keys = 2 * USERS
        assert driver.entries("sessions") <= OF_THE_TASK + rows_and_keys + USERS

    driver.batch(In("clicks", "last", "{}", 100 * SECOND_MS + n) for n in range(5))
    assert driver.entries("sessions") == OF_THE_TASK + 2
