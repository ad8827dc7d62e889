"""Steps of aggregates in Python that a process does not survive, or that give something else: they cost their record alone."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, session
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.lower import lower
from duolog.plan.cutting.levels import find_levels
from unit.kernel.driver import In, KernelDriver, kernel_package

pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.timeout(300)]

MEMORY = 1 << 30
TIMEOUT_MS = 1500
POISON = 99


@dataclass
class Sum:
    total: int


NAMES = {"adder": "poisoned_put", "merger": "poisoned_merge", "initializer": "poisoned_empty"}


def empty() -> Sum:
    return Sum(0)


def put(kept: Sum, n: int) -> Sum:
    return Sum(kept.total + n)


def raises() -> Sum:
    raise ValueError("no such sum")


POISONS: dict[str, tuple[Callable[[], Sum], str]] = {
    "raises": (raises, "ValueError: no such sum"),
    "gives-something-else": (lambda: cast("Sum", "sum"), "'sum' is not a valid STRUCT"),
    "ends-its-process": (lambda: os._exit(3), "its Python process has ended, exit status 3"),
    "never-returns": (
        lambda: cast("Sum", time.sleep(600)),
        f"has not returned within {TIMEOUT_MS} ms",
    ),
    "eats-memory": (lambda: Sum(len(bytearray(4 << 30))), "MemoryError"),
}


@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("step", ["adder", "merger", "initializer"])
@pytest.mark.parametrize("real_time", [False, True], ids=["micro-batch", "real-time"])
def test_a_failing_step_skips_its_record(
    spark: SparkSession, tmp_path: Any, poison: str, step: str, *, real_time: bool
) -> None:
    act, said = POISONS[poison]
    armed = tmp_path / "armed"

    def poisoned_put(kept: Sum, n: int) -> Sum:
        return act() if n == POISON else put(kept, n)

    def poisoned_merge(one: Sum, other: Sum) -> Sum:
        if POISON in {one.total, other.total}:
            return act()
        return Sum(one.total + other.total)

    def poisoned_empty() -> Sum:
        return act() if armed.exists() else empty()

    topology = Topology("folds")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT")
    sessions = numbers.group_by_key().windowed_by(session(timedelta(milliseconds=10), grace="1 s"))
    sessions.aggregate(
        initializer=poisoned_empty if step == "initializer" else empty,
        adder=poisoned_put if step == "adder" else put,
        merger=poisoned_merge,
    ).to("out")
    application = f"folds-{time.monotonic_ns()}"
    spec = lower(find_levels(topology.build(), 1), application, cache_bytes_max=0)
    spec |= {"real_time": real_time, "errors": {"processing": "log_and_continue"}}
    driver = KernelDriver(spark, spec | python_of(TIMEOUT_MS, MEMORY))

    def batch(*rows: tuple[str, int, int]) -> dict[tuple[str, ...], int]:
        """Sums by key and window, without those that are no more."""
        records = [In("numbers", key, f'{{"n":{n}}}', at, 0, at) for key, n, at in rows]
        for out in driver.batch(records):
            key = tuple(str(part) for part in (out.key, out.ts))
            value = None if out.value is None else json.loads(out.value)["total"]
            known.update({key: value}) if value is not None else None
        return known

    known: dict[tuple[str, ...], int] = {}
    batch(("a", 1, 0), ("b", 5, 0))
    if step == "initializer":
        armed.touch()
        batch(("a", 2, 512))
        armed.unlink()
    elif step == "adder":
        batch(("a", POISON, 5))
    else:
        batch(("c", POISON, 512), ("c", 1, 532))
        # It would join the two sessions. (Times in which no byte of a key is out of ASCII.)
        batch(("c", 2, 522))
    found = batch(("a", 3, 6), ("b", 6, 6))

    reported = json.loads(kernel_package(spark).Metrics.snapshot(application))
    assert reported["skipped"] == {"processing": 1}
    (sample,) = reported["samples"]
    assert said in sample["reason"]
    assert NAMES[step] in sample["reason"]
    assert "test_poisoned_folds.py:" in sample["reason"]
    assert {4, 11} <= set(found.values()), "what was kept before has not suffered"
