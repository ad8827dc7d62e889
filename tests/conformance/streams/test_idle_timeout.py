"""Idle timeouts of windows: the kernel equals the reference evaluator, tick by tick.

All share the JVM of the run.
"""

from datetime import timedelta
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from duolog import Topology, calendar, hopping, session, sliding, tumbling
from duolog.plan.windows import Windows
from duolog.testing import TopologyDriver

pytestmark = pytest.mark.spark

Engine = Literal["reference", "kernel"]
WINDOWS: list[Windows] = [
    tumbling("10 ms", grace="5 ms"),
    hopping("10 ms", "3 ms", grace="0 s"),
    session("10 ms", grace="5 ms"),
    sliding("10 ms", grace="5 ms"),
    calendar("day", time_zone="UTC", grace="0 s"),
]
VISIT = st.tuples(st.sampled_from(["ann", "bob", "eve"]), st.integers(0, 90))
STEPS = st.lists(VISIT | st.integers(1, 60), min_size=3, max_size=14)


def topology(windows: Windows, *, twice: bool) -> Topology:
    """Count visits by user and window; with `twice`, also count these counts by a new key."""
    found = Topology("visits")
    stream = found.stream("visits", key="user STRING", value="page STRING")
    counted = stream.group_by_key().windowed_by(windows, emit="on close", idle="40 ms").count("n")
    counted.to("counts")
    if twice:
        again = counted.to_stream().group_by("n")
        again.windowed_by(windows, emit="on close", idle="20 ms").count("m").to("again")
    return found


@settings(max_examples=60, deadline=None)
@given(
    windows=st.sampled_from(WINDOWS),
    steps=STEPS,
    tasks=st.sampled_from([1, 3]),
    start=st.sampled_from([20, 1_000, 100_000_000]),
    cache_bytes_max=st.sampled_from([0, 1_000_000]),
    twice=st.booleans(),
)
def test_kernel_and_reference_close_the_same_windows_on_each_tick(
    spark: SparkSession,
    *,
    windows: Windows,
    steps: list[Any],
    tasks: int,
    start: int,
    cache_bytes_max: int,
    twice: bool,
) -> None:
    seen: list[list[Any]] = []
    engines: tuple[Engine, ...] = ("reference", "kernel")
    for engine in engines:
        seen.append([])
        with TopologyDriver(
            topology(windows, twice=twice),
            engine=engine,
            tasks=tasks,
            wall_clock_ms=start,
            cache_bytes_max=cache_bytes_max,
        ) as driver:
            for step in [*steps, 100_000_000, 100, 100]:
                if isinstance(step, int):
                    driver.advance_wall_clock_time(timedelta(milliseconds=step))
                else:
                    driver.input_topic("visits").pipe_input(step[0], {"page": "/"}, step[1])
                reported = {topic: driver.output_topic(topic) for topic in driver.output_topics}
                seen[-1].append({topic: list(of.read_records()) for topic, of in reported.items()})

    assert seen[0] == seen[1]
