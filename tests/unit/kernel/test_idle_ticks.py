"""When ticks are made, and since when a task counts as idle by them."""

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, tumbling
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from unit.kernel.driver import In, KernelDriver
from unit.kernel.java_program import run_java


def test_a_tick_is_made_for_what_the_newest_run_of_a_task_wants_and_once() -> None:
    """Executors report requests for ticks and then disconnect: a request is neither lost nor repeated forever.

    A query that has ended gets no ticks, because nothing listens to them.
    """
    steps = [
        "none: no task has begun",
        "tick: a start",
        "none: no task requests more",
        "tick: one wants",
        "none: it has not said anything since, as one that has gone",
        "tick: an older run of it wants no more",
        "none: an older run wants what the newest does not",
        "tick: the newest wants it now",
        "none: it wants no more",
        "tick: another start",
        "tick: whose runs have other numbers",
        "none: one that asks for an earlier start",
        "tick: one that asks for this one",
        "none: an earlier one again",
        "here: -1",
        "tick: which takes nothing away",
    ]

    assert run_java("TickRequestSteps") == " ".join(steps).split()


@pytest.mark.spark
def test_time_in_which_no_query_ran_is_no_idle_time(spark: SparkSession) -> None:
    """Windows used to close with the first tick of a start, so records written meanwhile were late."""
    topology = Topology("t")
    visits = topology.stream("visits", key="user STRING", value="n BIGINT").group_by_key()
    ten = tumbling("10 ms", grace="0 ms")
    visits.windowed_by(ten, emit="on close", idle="40 ms").count("n").to("counts")
    spec = lower(find_levels(topology.build(), 1), "idle-over-starts", cache_bytes_max=0)
    driver = KernelDriver(spark, spec)
    visit = In("visits", "ann", '{"n": 1}', 5)
    steps = [
        [visit],
        [tick(10)],
        [tick(30)],
        # Another start.
        [tick(60, begun=55)],
        [visit],
        [tick(70, begun=55)],
        [tick(109, begun=55)],
        [tick(110, begun=55)],
    ]

    found = [[record.value for record in driver.batch(step)] for step in steps]

    assert found == [*[[]] * 7, ['{"n":2}']]


def tick(now: int, begun: int = 0) -> In:
    """Return what the time by the wall clock comes as, in a query that began at a time (in real time)."""
    return In("__ticks", None, begun.to_bytes(8).decode(), now)
