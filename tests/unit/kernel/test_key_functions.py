"""Functions that choose partitions: the kernel asks once for a key, and waits for the answer."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from duolog import Topology
from duolog.engine.lowering.expressions.python_functions import described_of_keys, python_of
from duolog.engine.lowering.lower import lower
from duolog.engine.query.callbacks.key_functions import KeyFunctionRunner
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan
from unit.kernel.driver import In, KernelDriver, kernel_package

pytestmark = [pytest.mark.spark, pytest.mark.timeout(60)]

APPLICATION = "asking"
TASKS = 3


class Asking:
    """The Java object in which the kernel queues keys for Python functions."""

    def __init__(self, spark: SparkSession) -> None:
        self._asked: Any = kernel_package(spark).KeyFunctions
        self._asked.reset(APPLICATION)

    def take_keys(self, keys_max: int, _wait_ms: int) -> str:
        taken: str = self._asked.take(APPLICATION, keys_max, 50)
        return taken

    def answer_keys(self, answers: str) -> None:
        self._asked.tell(APPLICATION, answers)


@contextmanager
def answered(plan: Plan, asking: Asking) -> Iterator[None]:
    """Answer what the kernel asks."""
    answerer = KeyFunctionRunner(plan.key_functions, lambda: asking, APPLICATION)
    answerer.start()
    yield
    answerer.close()


def plan_of(function: Callable[[Any], int | None]) -> Plan:
    topology = Topology("t")
    orders = topology.stream("orders", key="id STRING", value="n BIGINT")
    orders.to("out", partitioner=function)
    orders.repartition(partitioner=function).group_by_key().count().to("counted")
    return topology.build()


def driver_of(spark: SparkSession, plan: Plan) -> KernelDriver:
    return KernelDriver(spark, lower(find_levels(plan, TASKS), APPLICATION, cache_bytes_max=0))


def test_each_node_asks_once_for_each_key(spark: SparkSession) -> None:
    asked: list[str] = []

    def place(key: str) -> int | None:
        asked.append(key)
        return {"a": 2, "b": 1}.get(key)

    plan = plan_of(place)
    with answered(plan, Asking(spark)):
        records = [In("orders", key, '{"n": 1}', at, 0, at) for at, key in enumerate("abcab")]
        found = driver_of(spark, plan).batch(records)

    chosen = {record.key: record.partition for record in found if record.topic == "out"}
    assert chosen == {"a": 2, "b": 1, "c": None}
    assert sorted(asked) == ["a", "a", "b", "b", "c", "c"]
    counts = {record.key: record.value for record in found if record.topic == "counted"}
    assert counts == {"a": '{"count":2}', "b": '{"count":2}', "c": '{"count":1}'}


def test_a_function_that_fails_is_an_error_of_the_record_in_its_words(spark: SparkSession) -> None:
    def refuse(key: str) -> int:
        raise LookupError(f"no place for {key}")

    plan = plan_of(refuse)
    with answered(plan, Asking(spark)), pytest.raises(Py4JJavaError) as caught:
        driver_of(spark, plan).pipe(In("orders", "a", '{"n": 1}'))

    assert "refuse: LookupError: no place for a" in str(caught.value)


def test_request_numbers_are_not_reused_across_queries(spark: SparkSession) -> None:
    """Or an answer that comes late would be to another key."""
    numbers: list[int] = []

    class Numbered(Asking):
        def take_keys(self, keys_max: int, wait_ms: int) -> str:
            taken = super().take_keys(keys_max, wait_ms)
            numbers.extend(question[0] for question in json.loads(taken))
            return taken

    plan = plan_of(len)
    for _query in range(2):
        with answered(plan, Numbered(spark)):
            driver_of(spark, plan).pipe(In("orders", "a", '{"n": 1}'))

    assert len(numbers) == 4
    assert numbers == sorted(set(numbers))


def test_results_of_a_worker_next_to_an_executor_are_kept_until_the_query_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It was known as long as the executor was, though the function had changed; in one JVM the next query asks again."""
    said = tmp_path / "said"

    def place(key: str) -> int:
        with Path(f"{said}.asked").open("a", encoding="utf-8") as asked:
            print(key, file=asked)
        return int(said.read_text("utf-8"))

    plan = plan_of(place)
    there = python_of(20_000, 1 << 30) | {"functions": described_of_keys(plan.key_functions)}
    spec = lower(find_levels(plan, TASKS), "asking-there", cache_bytes_max=0) | there
    found = []
    for run in range(2):
        said.write_text(str(run), encoding="utf-8")
        driver = KernelDriver(spark, spec | {"run": f"run-{run}"})
        for at in range(2):
            reported = driver.pipe(In("orders", "a", '{"n": 1}', at, 0, at))
            found += [one.partition for one in reported if one.topic == "out"]

    assert found == [0, 0, 1, 1]
    # Once in a run, of both nodes that have it.
    assert Path(f"{said}.asked").read_text("utf-8").split() == ["a"] * 2
