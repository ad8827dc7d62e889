"""Functions with forbidden effects run one after the other in every place of a topology: each fails only its own record."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import waiting
from duolog import Topology
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from unit.kernel.driver import In, KernelDriver, kernel_package

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

MEMORY = 1 << 30
TIMEOUT_MS = 1500
WHY = {
    1: "ValueError: unlucky",
    2: "'two' is not a valid BIGINT",
    3: f"has not returned within {TIMEOUT_MS} ms",
    4: "MemoryError",
    5: "its Python process has ended, exit status 3",
}


def poisoned(n: int) -> int:
    if n == 1:
        raise ValueError("unlucky")
    if n == 2:
        return "two"  # type: ignore[return-value]
    if n == 3:
        time.sleep(600)
    if n == 4:
        return len(bytearray(4 << 30))
    if n == 5:
        os._exit(3)
    return n


def nothing() -> int:
    return 0


def put(kept: int, n: int) -> int:
    found = poisoned(n)
    return kept + found if n != 2 else found


def mapped(topology: Topology) -> None:
    given(topology).map_values(value=poisoned).to("out")


def kept(topology: Topology) -> None:
    given(topology).group_by_key().aggregate(initializer=nothing, adder=put).to("out")


def given(topology: Topology) -> Any:
    return topology.stream("given", key="id STRING", value="n BIGINT")


@pytest.mark.parametrize(
    ("step", "real_time"),
    [
        (kept, False),
        pytest.param(mapped, False, marks=pytest.mark.deep),
        pytest.param(mapped, True, marks=pytest.mark.deep),
        pytest.param(kept, True, marks=pytest.mark.deep),
    ],
)
def test_each_failure_skips_only_its_record(
    spark: SparkSession, step: Any, *, real_time: bool
) -> None:
    topology = Topology("poisoned")
    step(topology)
    application = f"poisoned-{time.monotonic_ns()}"
    spec = lower(find_levels(topology.build(), 2), application, cache_bytes_max=0)
    spec |= {"real_time": real_time, "errors": {"processing": "log_and_continue"}}
    driver = KernelDriver(spark, spec | python_of(TIMEOUT_MS, MEMORY))

    records = [In("given", "k", f'{{"n":{n}}}', n, 0, n) for n in range(8)]
    out = driver.batch(records)
    reported = json.loads(kernel_package(spark).Metrics.snapshot(application))

    values = [json.loads(one.value)["value"] for one in out if one.value]
    assert values == ([0, 6, 7] if step is mapped else [0, 6, 13])
    assert reported["skipped"]["processing"] == 5
    samples = {one["offset"]: one["reason"] for one in reported["samples"]}
    assert samples
    assert set(samples) <= set(WHY)
    for n, reason in samples.items():
        assert WHY[n] in reason, (n, reason)
        assert "(test_poisoned_functions.py:" in reason
    assert all(one["topic"] == "given" for one in reported["samples"])


def test_a_process_that_reads_no_more_is_ended_in_time(spark: SparkSession) -> None:
    """The task waited at the pipe for ever: the time is that of answers, and no question had come through."""

    def stuck(n: int, _wide: str) -> int:
        if n == 1:
            # It holds the interpreter for hours, after the answer was sent.
            thread = threading.Timer(0.1, re.match, (r"(a+)+$", "a" * 50 + "b"))
            thread.daemon = True
            thread.start()
        return n

    topology = Topology("stuck")
    came = topology.stream("given", key="id STRING", value="n BIGINT, _wide STRING")
    came.map_values(value=stuck).to("out")
    driver, skipped = driver_of(spark, topology)

    assert values_of(driver.batch([wide(1)])) == [1]
    time.sleep(1)
    found = values_of(driver.batch([wide(n) for n in range(100, 1100)]))

    assert found == [*range(100, 1100)]
    assert skipped() == 0


def wide(n: int) -> In:
    return In("given", "k", json.dumps({"n": n, "_wide": "x" * 500}), n, 0, n)


def test_children_of_a_function_end_with_its_process(spark: SparkSession, tmp_path: Path) -> None:
    started = tmp_path / "started"

    def waits(n: int) -> int:
        if n == 1:
            with subprocess.Popen(["sleep", "300"]) as child:
                started.write_text(f"{child.pid}")
        return n

    topology = Topology("waits")
    given(topology).map_values(value=waits).to("out")
    driver, skipped = driver_of(spark, topology)

    found = values_of(driver.batch([In("given", "k", '{"n":1}', 1, 0, 1)]))

    assert found == []
    assert skipped() == 1
    stat = Path(f"/proc/{int(started.read_text())}/stat")
    waiting.wait_until(
        lambda: not (stat.exists() and " Z " not in stat.read_text()), "no task continues with it"
    )


def test_unread_output_of_functions_is_bounded(spark: SparkSession) -> None:
    """10,000 lines waited, however long they were: some of 100 MB ended the JVM."""

    def prints(n: int) -> int:
        for _ in range(4):
            sys.stdout.write("x" * 10_000_000 + "\n")
        for _ in range(300):
            sys.stdout.write("y" * 90_000 + "\n")
        return n

    topology = Topology("prints")
    given(topology).map_values(value=prints).to("out")
    driver, _ = driver_of(spark, topology, timeout_ms=60_000)
    output = kernel_package(spark).PythonOutput
    output.take()

    found = values_of(driver.batch([In("given", "k", '{"n":7}', 1, 0, 1)]))
    taken: list[str] = []
    left_out = 0
    while len(taken) + left_out < 304:
        reported = json.loads(output.take())
        assert sum(map(len, reported["lines"])) < 20_000_000
        taken += reported["lines"]
        left_out += reported["left_out"]

    assert found == [7]
    assert left_out > 0
    assert taken[:4] == [f"{'x' * 100_000}… (10000000 characters)"] * 4


def driver_of(
    spark: SparkSession, topology: Topology, timeout_ms: int = TIMEOUT_MS
) -> tuple[KernelDriver, Callable[[], int]]:
    """Return a driver, and a function that returns how many records the driver has skipped."""
    application = f"poisoned-{time.monotonic_ns()}"
    spec = lower(find_levels(topology.build(), 1), application, cache_bytes_max=0)
    spec |= {"real_time": False, "errors": {"processing": "log_and_continue"}}

    def skipped() -> int:
        reported = json.loads(kernel_package(spark).Metrics.snapshot(application))
        return int(reported["skipped"].get("processing", 0))

    return KernelDriver(spark, spec | python_of(timeout_ms, MEMORY)), skipped


def values_of(out: Any) -> list[int]:
    return [json.loads(one.value)["value"] for one in out]
