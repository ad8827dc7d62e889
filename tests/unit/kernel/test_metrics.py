"""Nodes and tasks count the same things with any settings."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import waiting
from duolog import Topology, col, count, tumbling
from duolog.engine.lowering.lower import lower
from duolog.engine.query.metrics import TaskMetrics, read_sources, read_tasks
from duolog.plan.cutting.levels import find_levels
from unit.kernel.conftest import OpenDriver
from unit.kernel.driver import In, kernel_package
from unit.kernel.java_program import run_java
from unit.kernel.specs import Spec

pytestmark = pytest.mark.spark

NAME = "counted"
MINUTE = 60_000
WAIT_S = 30


@pytest.fixture
def kernel(spark: SparkSession) -> Any:
    package = kernel_package(spark)
    package.Metrics.reset(NAME)
    return package


def spec() -> Spec:
    topology = Topology(NAME)
    orders = topology.stream("orders", key="id STRING", value="buyer STRING, n BIGINT")
    buyers = topology.table("buyers", key="id STRING", value="name STRING")
    joined = orders.filter(col("n") > 0).join(buyers, on="buyer")
    joined.group_by("name").windowed_by(tumbling("1 minute", grace="0 seconds")).aggregate(
        orders=count()
    ).to_stream().select_key("name").to("by_minute")
    return lower(find_levels(topology.build(), 2), NAME, cache_bytes_max=1 << 20)


def order(offset: int, buyer: str | None, n: int, ts: int) -> In:
    return In("orders", f"o{offset}", json.dumps({"buyer": buyer, "n": n}), ts, 0, offset)


def counted(kernel: Any) -> dict[str, Any]:
    snapshot: dict[str, Any] = json.loads(kernel.Metrics.snapshot(NAME))
    return snapshot


def nodes(tasks: tuple[TaskMetrics, ...]) -> dict[str, tuple[int, int, dict[str, int]]]:
    """Return the numbers of received, forwarded and dropped records, by node, over all tasks."""
    found: dict[str, tuple[int, int, dict[str, int]]] = {}
    for task in tasks:
        for node in task.nodes:
            come, gone, dropped = found.get(node.node, (0, 0, {}))
            for reason, times in node.dropped.items():
                dropped[reason] = dropped.get(reason, 0) + times
            found[node.node] = come + node.process_total, gone + node.forward_total, dropped
    return found


def test_each_node_counts_received_forwarded_and_dropped_records(
    kernel: Any, open_driver: OpenDriver
) -> None:
    driver = open_driver(spec())

    driver.batch(
        [
            In("buyers", None, '{"name": "unknown"}', 1),
            In("buyers", "b", '{"name": "Bea"}', 1, 0, 1),
        ]
    )
    driver.batch(
        [
            order(0, "b", 1, 3 * MINUTE),
            order(1, "b", 0, 3 * MINUTE),
            order(2, "x", 1, 3 * MINUTE),
        ]
    )
    driver.batch([order(3, "b", 1, MINUTE), order(4, None, 1, 3 * MINUTE)])

    found = nodes(read_tasks(counted(kernel)))
    assert found["filter-3"] == (5, 4, {})
    (table,) = (reported for name, reported in found.items() if name == "table-2")
    assert table == (2, 1, {"null_key": 1})
    joins = [reported for name, reported in found.items() if name.startswith("join")]
    assert joins == [(4, 2, {"null_key": 1})]
    (fold,) = (reported for name, reported in found.items() if name.startswith("aggregate"))
    assert (fold[0], fold[2]) == (2, {"late": 1})


def test_a_task_reports_stream_time_and_record_lateness(
    kernel: Any, open_driver: OpenDriver
) -> None:
    driver = open_driver(spec())

    driver.batch([order(0, "b", 1, 5000)])
    driver.batch([order(1, "b", 1, 2000)])
    driver.batch([order(2, "b", 1, 4000)])

    tasks = {task.task: task for task in read_tasks(counted(kernel))}
    of_join = [task for name, task in tasks.items() if name.startswith("0_") and task.records]
    for task in [tasks["orders-0"], *of_join]:
        assert (task.records, task.stream_time_ms) == (3, 5000)
        assert (task.lateness_sum_ms, task.lateness_max_ms) == (4000, 3000)
    assert len(of_join) == 1
    (source,) = read_sources(counted(kernel), {"orders": {0: 3}}, {"orders": {0: 9}})
    assert (source.records_consumed, source.last_timestamp_ms, source.lag_records) == (3, 4000, 6)


def test_a_record_that_fails_counts_where_it_failed(kernel: Any, open_driver: OpenDriver) -> None:
    topology = Topology(NAME)
    fares = topology.stream("fares", key="id STRING", value="pattern STRING")
    fares.filter(col("pattern").like(col("pattern"))).to("liked")
    made = lower(find_levels(topology.build(), 1), NAME, cache_bytes_max=1 << 20)
    driver = open_driver(made | {"errors": {"processing": "log_and_continue"}})

    driver.batch(
        [
            In("fares", "k", '{"pattern": "a"}', 1),
            In("fares", "k", '{"pattern": "a\\\\b"}', 1, 0, 1),
            In("fares", "k", "{", 1, 0, 2),
        ]
    )

    found = nodes(read_tasks(counted(kernel)))
    assert found["filter-2"] == (2, 1, {"error": 1})
    assert found["sink-3"] == (1, 1, {})
    assert counted(kernel)["skipped"] == {"deserialization": 1, "processing": 1}


def test_a_late_epoch_of_an_earlier_start_is_ignored(
    spark: SparkSession, kernel: Any, tmp_path: Path
) -> None:
    """Spark reports epochs asynchronously: the next start of an application used to get the epochs of the previous one."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    writer = rate.writeStream.format("noop").queryName(NAME)
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    try:
        waiting.wait_until(
            lambda: counted(kernel)["epochs"]["count"], lambda: query.lastProgress, WAIT_S
        )
    finally:
        query.stop()
    reported = query._jsq.lastProgress()  # noqa: SLF001 - Java's
    of_spark: Any = spark.sparkContext._jvm.org.apache.spark.sql.streaming  # type: ignore[union-attr]  # noqa: SLF001

    kernel.Metrics.reset(NAME)
    kernel.Epochs().onQueryProgress(of_spark.StreamingQueryListener.QueryProgressEvent(reported))

    assert counted(kernel)["epochs"]["count"] == 0


def test_an_executor_reports_metrics_at_task_end_and_forgets_ended_runs() -> None:
    """An executor used to report once a second, for each start of every application that it had ever worked for."""
    reported, known = run_java("ExecutorMetricsSteps")

    assert reported == "a#1,a#2,b#1"
    assert known == "a#2,b#1"
