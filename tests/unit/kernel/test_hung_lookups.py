"""Lookup threads that hang: their process answers its pending requests and is then replaced."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, col
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from unit.kernel.driver import In, KernelDriver, kernel_package

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

LIMIT = 2
HANGING = (3, 4)


def test_a_process_with_only_hung_threads_is_replaced(spark: SparkSession, tmp_path: Path) -> None:
    called = tmp_path / "called"

    def look_up(value: int) -> int:
        with called.open("a") as file:
            file.write(f"{value} {os.getpid()}\n")
        if value in HANGING:
            threading.Event().wait(600)
        return value

    def found(*, real_time: bool) -> tuple[list[int], int, list[list[int]]]:
        called.write_text("")
        topology = Topology("hung")
        numbers = topology.stream("numbers", key="id STRING", value="value BIGINT")
        asked = numbers.map_async(look_up, limit=LIMIT, timeout="300 ms", retries=0)
        asked.map_values(n=col("value")).to("out")
        application = f"hung-{time.monotonic_ns()}"
        spec = lower(find_levels(topology.build(), 1), application, cache_bytes_max=0)
        spec |= {"real_time": real_time, "errors": {"processing": "log_and_continue"}}
        driver = KernelDriver(spark, spec | python_of(20_000, 1 << 30))
        out: list[Any] = []
        for batch in ([1, 2], [*HANGING], [5, 6, 7], [8, 9]):
            rows = [In("numbers", "k", f'{{"value":{n}}}', n, 0, n) for n in batch]
            out += driver.batch(rows)
        reported = json.loads(kernel_package(spark).Metrics.snapshot(application))
        calls = [[int(one) for one in line.split()] for line in called.read_text().splitlines()]
        values = [json.loads(one.value)["n"] for one in out]
        return values, reported["skipped"]["processing"], calls

    for real_time in (False, True):
        values, skipped, calls = found(real_time=real_time)

        assert values == [1, 2, 5, 6, 7, 8, 9]
        assert skipped == len(HANGING)
        assert sorted(n for n, _ in calls if n in HANGING) == [*HANGING], "no worker is asked again"
        process = {call[0]: call[1] for call in calls}
        assert process[1] == process[3] == process[4]
        assert process[5] == process[9] != process[4], "one that hangs nowhere stays"
