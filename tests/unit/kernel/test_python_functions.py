"""Functions that the kernel has called in processes of their own, and those that such a process does not survive."""

import asyncio
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from duolog import Topology, array, call, col, count, max_
from duolog.engine.lowering.expressions.python_functions import python_of
from duolog.engine.lowering.lower import lower
from duolog.engine.settings import LOG_AND_CONTINUE, ErrorHandling
from duolog.plan.cutting.levels import find_levels
from duolog.testing import TopologyDriver
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SourceRecord
from unit.kernel.driver import In, KernelDriver, kernel_package

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

MEMORY = 1 << 30
TIMEOUT_MS = 1500


@pytest.fixture
def outcomes(spark: SparkSession) -> Callable[[Callable[..., Any]], "Outcome"]:
    return lambda function: Outcome(spark, function)


class Outcome:
    """The output of a topology whose function is called with 0, 1, 2 and 3, and the number of skipped records."""

    def __init__(self, spark: SparkSession, function: Callable[..., Any]) -> None:
        topology = Topology("t")
        numbers = topology.stream("numbers", key="id STRING", value="n BIGINT")
        numbers.map_values(r=call(function, col("n"), returns=int)).named("asked").to("out")
        levels = find_levels(topology.build(), 2)
        application = f"python-{time.monotonic_ns()}"
        spec = lower(levels, application, cache_bytes_max=0) | python_of(TIMEOUT_MS, MEMORY)
        driver = KernelDriver(spark, spec | {"errors": {"processing": "log_and_continue"}})
        records = [In("numbers", key="k", value=f'{{"n":{n}}}', offset=n, ts=n) for n in range(4)]
        self.values = [json.loads(out.value)["r"] for out in driver.batch(records) if out.value]
        metrics = json.loads(kernel_package(spark).Metrics.snapshot(application))
        self.skipped = metrics["skipped"].get("processing", 0)
        self.sample: dict[str, Any] = metrics["samples"][0] if metrics["samples"] else {}


def test_a_function_that_raises_skips_its_record(outcomes: Callable[..., Outcome]) -> None:
    found = outcomes(lambda n: 6 // n)

    assert found.values == [6, 3, 2]
    assert found.skipped == 1
    assert "<lambda> (test_python_functions.py:" in found.sample["reason"]
    assert "ZeroDivisionError" in found.sample["reason"]
    assert (found.sample["topic"], found.sample["offset"]) == ("numbers", 0)


def test_a_function_that_exits_skips_its_record(outcomes: Callable[..., Outcome]) -> None:
    found = outcomes(lambda n: os._exit(3) if n == 1 else n)

    assert found.values == [0, 2, 3]
    assert "its Python process has ended, exit status 3" in found.sample["reason"]


def test_a_function_that_hangs_skips_its_record(outcomes: Callable[..., Outcome]) -> None:
    found = outcomes(lambda n: time.sleep(600) if n == 2 else n)

    assert found.values == [0, 1, 3]
    assert f"has not returned within {TIMEOUT_MS} ms" in found.sample["reason"]


def test_a_function_that_exhausts_memory_skips_its_record(outcomes: Callable[..., Outcome]) -> None:
    found = outcomes(lambda n: len(bytearray(4 << 30)) if n == 3 else n)

    assert found.values == [0, 1, 2]
    assert "MemoryError" in found.sample["reason"]


def test_a_function_with_a_wrong_result_skips_its_record(outcomes: Callable[..., Outcome]) -> None:
    found = outcomes(lambda n: "one" if n == 1 else n)

    assert found.values == [0, 2, 3]
    assert "'one' is not a valid BIGINT" in found.sample["reason"]


def test_prints_of_functions_reach_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    def print_and_return(n: int) -> int:
        print(f"n is {n}")  # noqa: T201
        return n

    topology = Topology("t")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT")
    numbers.map_values(r=print_and_return).to("out")

    with TopologyDriver(topology, engine="kernel") as driver:
        driver.input_topic("numbers").pipe_input("a", {"n": 5})
        assert driver.output_topic("out").read_key_values() == [("a", {"r": 5})]
        driver.input_topic("numbers").pipe_input("a", {"n": 6})

    assert "n is 5" in capsys.readouterr().out


ALL = (
    "b BOOLEAN, i INT, n BIGINT, d DOUBLE, s STRING, x BYTES, m DECIMAL(20,5), t TIMESTAMP, y DATE, "
    "a ARRAY<DOUBLE>, p MAP<STRING, TIMESTAMP>, r STRUCT<a BIGINT, b ARRAY<STRUCT<c BYTES>>>"
)


@pytest.mark.parametrize("engine", ["reference", "kernel"])
def test_values_of_each_type_go_there_and_come_back(engine: Any) -> None:
    topology = Topology("t")
    given = topology.stream("given", key="id STRING", value=ALL)
    names = [column.name for column in given.schema.value]
    same: dict[str, Any] = {
        name: call(lambda value: value, col(name), returns=column.type)
        for name, column in zip(names, given.schema.value, strict=True)
    }
    given.map_values(**same).to("out")
    given.to("as-it-is")
    row = (
        b'{"b":true,"i":-5,"n":9223372036854775807,"d":1.0E-7,"s":"\\u00e4\\"\\n","x":"AP8=",'
        b'"m":123456789012345.12345,"t":"2013-01-01T10:00:00.123456Z","y":"1969-12-31",'
        b'"a":[1.5,null,"NaN"],"p":{"k":"2013-01-01T10:00:00Z"},"r":{"a":1,"b":[{"c":"AP8="},null]}}'
    )

    with TopologyDriver(topology, engine=engine) as driver:
        for value in (row, b'{"b":null}'):
            driver.pipe_bytes("given", b"k", value, 0)
        out = [str(value) for _, value in driver.output_topic("out").read_key_values()]
        asis = [str(value) for _, value in driver.output_topic("as-it-is").read_key_values()]

    assert len(out) == 2
    assert out == asis


Step = Callable[[Any], Any]


def ways(plus_one: Step, is_odd: Step, sizes: Step) -> Topology:
    """Return a topology that calls functions in many places: nested, in parallel, upstream and downstream of stores."""
    topology = Topology("ways")
    numbers = topology.stream("numbers", key="id STRING", value="n BIGINT")
    odd = numbers.filter(is_odd(col("n"))).map_values("n")
    later = numbers.map_values(n=plus_one(plus_one(col("n"))) * 2)
    both = odd.merge(later)
    both.to("both")
    both.flat_map_values(sizes(col("n")).alias("n")).to("sizes")
    counted = both.group_by_key().aggregate(count=count(), last=max_("n"))
    changes = counted.to_stream()
    changes.filter(is_odd(col("count"))).with_columns(last=plus_one(col("last"))).to("counted")
    regrouped = changes.map_values(n=plus_one(col("count"))).group_by("n").count("many")
    regrouped.to("regrouped", key_format="JSON")
    counts = topology.table("counts", key="id STRING", value="m BIGINT")
    joined = changes.map_values(n=plus_one(col("last"))).join(counts)
    joined.map_values(n=plus_one(col("n")) + col("m")).to("joined")
    return topology


def asked(function: Callable[..., Any], returns: Any) -> Step:
    return lambda column: call(function, column, returns=returns)


@pytest.mark.parametrize("settings", [{}, {"cache_bytes_max": 0}, {"real_time": True}], ids=str)
def test_buffered_rows_are_emitted_in_order(spark: SparkSession, settings: dict[str, Any]) -> None:
    """The same topology with expressions of the kernel's in the place of functions gives the same, in the same order."""
    by_kernel = ways(
        lambda n: n + 1,
        lambda n: (n % 2) != 0,
        lambda n: array(n, n + 1),
    )
    by_python = ways(
        asked(lambda n: n + 1, int),
        asked(lambda n: n is not None and n % 2 != 0, bool),
        asked(lambda n: [n, n + 1], list[int]),
    )
    many = 40 if "real_time" in settings else 2500
    records = [
        In("numbers", f"k{n % 7}", f'{{"n":{n}}}' if n % 50 else None, n, n % 3, n // 3)
        for n in range(many)
    ]
    rows = [In("counts", f"k{n}", f'{{"m":{n}}}', 0, 0, n) for n in range(7)]

    def out_of(topology: Topology) -> list[Any]:
        application = f"ways-{time.monotonic_ns()}"
        spec = lower(find_levels(topology.build(), 3), application, cache_bytes_max=10 << 20)
        driver = KernelDriver(spark, spec | python_of(20_000, MEMORY) | settings)
        return [*driver.batch(rows), *driver.batch(records), *driver.batch(records[:100])]

    wanted, found = out_of(by_kernel), out_of(by_python)

    assert len({out.topic for out in wanted}) == 5
    assert found == wanted


def test_many_are_called_at_once_where_records_may_wait() -> None:
    topology = ways(
        asked(lambda n: n, int), asked(lambda n: True, bool), asked(lambda n: [n], list[int])
    )
    spec = lower(find_levels(topology.build(), 1), "t", cache_bytes_max=0)

    asked_for = [node for node in spec["nodes"].values() if node["kind"] == "python"]
    by_expression = [node for node in spec["nodes"].values() if "duolog_python" in json.dumps(node)]

    assert len(asked_for) == 8
    assert [node["kind"] for node in by_expression] == ["project"], "in front of the join alone"


async def slow(n: int) -> int:
    # The later one of two is often answered first.
    await asyncio.sleep(0.02 + 0.03 * (n % 2))
    if n == 3:
        os._exit(3)
    if n == 4:
        raise LookupError("4 is unknown")
    return n


def test_lookups_in_real_time_keep_the_order(spark: SparkSession) -> None:
    topology = Topology("lookups")
    numbers = topology.stream("numbers", key="id STRING", value="value BIGINT")
    answered = numbers.map_values(n=col("value")).map_async(slow, limit=20, retries=0)
    again = answered.map_values(n=col("value")).map_async(slow, limit=5, retries=0)
    again.merge(numbers.filter(col("value") % 10 == 0)).to("out")
    records = [In("numbers", f"k{n % 3}", f'{{"value":{n}}}', n, 0, n) for n in range(5, 125)]
    bad = [In("numbers", "k", f'{{"value":{n}}}', n, 0, n) for n in range(5)]

    def found(*, real_time: bool) -> tuple[list[Any], int]:
        application = f"lookups-{time.monotonic_ns()}"
        spec = lower(find_levels(topology.build(), 1), application, cache_bytes_max=0)
        spec |= {"real_time": real_time, "errors": {"processing": "log_and_continue"}}
        driver = KernelDriver(spark, spec | python_of(20_000, MEMORY))
        out = driver.batch(records)
        out += driver.batch([*bad, *records[:20]])
        metrics = json.loads(kernel_package(spark).Metrics.snapshot(application))
        return out, metrics["skipped"]["processing"]

    wanted, skipped = found(real_time=False)
    live, skipped_live = found(real_time=True)

    assert live == wanted
    assert [json.loads(out.value or "")["value"] for out in live[:8]] == [5, 6, 7, 8, 9, 10, 10, 11]
    assert skipped == skipped_live == 2


_under_way: set[int] = set()
_five_under_way = asyncio.Event()


async def with_four_others(n: int) -> int:
    """Return when five calls were under way at once; one after the other they would wait for ever."""
    _under_way.add(n)
    if len(_under_way) == 5:
        _five_under_way.set()
    await _five_under_way.wait()
    return len(_under_way)


def test_lookups_in_real_time_are_side_by_side_up_to_their_limit(spark: SparkSession) -> None:
    topology = Topology("side-by-side")
    numbers = topology.stream("numbers", key="id STRING", value="value BIGINT")
    numbers.map_values(n=col("value")).map_async(with_four_others, limit=5, retries=0).to("out")
    spec = lower(find_levels(topology.build(), 1), "side-by-side", cache_bytes_max=0)
    driver = KernelDriver(spark, spec | {"real_time": True} | python_of(60_000, MEMORY))

    out = driver.batch([In("numbers", "k", f'{{"value":{n}}}', n, 0, n) for n in range(5)])

    assert [json.loads(one.value or "")["value"] for one in out] == [5] * 5


@dataclass
class Found:
    value: int
    half: float


def half(value: int) -> Found:
    return Found(value + 1, value / 2)


@pytest.mark.parametrize("real_time", [False, True])
def test_lookups_that_keep_the_columns_add_theirs(spark: SparkSession, real_time: bool) -> None:  # noqa: FBT001
    topology = Topology("kept")
    numbers = topology.stream("numbers", key="id STRING", value="value BIGINT, name STRING")
    numbers.map_values("name", n=col("value")).map_async(slow, keep=True).to("one")
    numbers.map_async(half, keep=True).to("several")
    spec = lower(find_levels(topology.build(), 1), "kept", cache_bytes_max=0)
    driver = KernelDriver(spark, spec | {"real_time": real_time} | python_of(20_000, MEMORY))

    out = driver.batch([In("numbers", "k", '{"value":5,"name":"five"}', 0, 0, 0)])

    assert {one.topic: json.loads(one.value or "") for one in out} == {
        "one": {"name": "five", "n": 5, "slow": 5},
        "several": {"value": 6, "name": "five", "half": 2.5},
    }


def made(at: str) -> int:
    return int(at.removeprefix("t"))


def by_size(n: int, at: str) -> int | None:
    if n == 6:
        raise ValueError("6 is refused")
    # Of 64 bits, of which the last 32 are a small number: it is not a partition, and not that one.
    return None if n == 7 else n % 3 + (2**32 if n == 8 else 0)


def test_times_and_partitions_come_from_functions_of_columns(spark: SparkSession) -> None:
    assert spark is not None, "the kernel finds the session of this run"
    topology = Topology("placed")
    given = topology.stream("given", key="id STRING", value="n BIGINT, at STRING", timestamp=made)
    given.to("out", partitioner=by_size)
    given.repartition(partitioner=by_size).with_time(call(lambda n: n, col("n"), returns=int)).to(
        "again", partitions=3
    )

    passing = ErrorHandling(processing=LOG_AND_CONTINUE, production=LOG_AND_CONTINUE)
    evaluator = KernelEvaluator(topology.build(), tasks=3, cache_bytes_max=0, errors=passing)
    try:
        out = evaluator.run(
            [
                SourceRecord(
                    "given",
                    n % 2,
                    n,
                    0,
                    b"k",
                    b'{"n":%d,"at":"%s%d"}' % (n, b"t" if n else b"x", 100 - n),
                )
                for n in range(9)
            ]
        )
    finally:
        evaluator.close()

    placed = sorted((one.timestamp_ms, one.partition) for one in out if one.topic == "out")
    assert placed == [(93, None), (95, 2), (96, 1), (97, 0), (98, 2), (99, 1)]
    again = sorted(one.timestamp_ms for one in out if one.topic == "again")
    assert again == [1, 2, 3, 4, 5, 7, 8]
