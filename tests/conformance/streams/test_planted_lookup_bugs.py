"""Tests of global and versioned tables find each bug planted in the kernel."""

from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import batches_of, by_key, plan_of
from conformance.streams.global_table_cases import WITH_GLOBAL_ROWS, looked_up_by_value
from conformance.streams.in_memory import run_in_memory
from conformance.streams.oracle import KafkaStreams
from conformance.streams.planted import planted_driver
from conformance.streams.planted_lines import InKernel
from conformance.streams.versioned_cases import (
    OF_VERSIONS,
    looked_up_by_time,
    looked_up_in_a_copy,
    versioned_tables_joined,
    versions_that_come_late,
    waiting_for_rows,
)

pytestmark = pytest.mark.spark

TASKS: Final = 3
PLANTED: Final = (
    InKernel(
        "rows of a global table come to the first task only",
        "NodeContext",
        "target < grouping.tasks()",
        "target < 1",
        looked_up_by_value,
    ),
    InKernel(
        "rows of a global table come in the order of time",
        "Merge",
        "if (left.first != right.first) {",
        "if (false) {",
        looked_up_by_value,
        "micro-batch",
    ),
    InKernel(
        "a version that comes late takes the place of the one that it divides",
        "VersionRows",
        "put(key, ts, version);",
        "",
        looked_up_by_time,
    ),
    InKernel(
        "since when a key is deleted is not known",
        "VersionRows",
        "setDeleted(key, deletedAt, row == null ? ts : null);",
        "",
        looked_up_by_time,
    ),
    InKernel(
        "a version that does not pass hides nothing in a copy",
        "FilterNode",
        "if (versioned || value != null || old != null) {",
        "if (value != null || old != null) {",
        looked_up_in_a_copy,
    ),
    InKernel(
        "a version that comes late is joined with another table",
        "JoinNode",
        "if (!change.latest) {",
        "if (false) {",
        versioned_tables_joined,
    ),
    InKernel(
        "a version that comes late is added to its group",
        "RouteNode",
        "if (!change.latest) {",
        "if (false) {",
        versions_that_come_late,
    ),
    InKernel(
        "records wait for nothing",
        "WaitNode",
        "long due = waiting.streamTime() - graceMs;",
        "long due = waiting.streamTime();",
        waiting_for_rows,
    ),
    InKernel(
        "buffered records are emitted in arrival order",
        "TimeOrderedRecords",
        "Comparator.comparingLong(Position::ts)",
        "Comparator.comparingLong(Position::number)",
        waiting_for_rows,
    ),
)


@pytest.fixture(autouse=True, scope="module")
def interpreted(spark: SparkSession) -> Any:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(plant, id=plant.bug, marks=[pytest.mark.deep] if number % 5 else [])
        for number, plant in enumerate(PLANTED)
    ],
)
def test_planted_lookup_bug_is_found(
    spark: SparkSession, kafka_streams: KafkaStreams, tmp_path: Path, plant: InKernel
) -> None:
    plan = plan_of(plant.found_by)
    records = WITH_GLOBAL_ROWS if plant.found_by is looked_up_by_value else OF_VERSIONS
    batches = batches_of(plan, records, plant.mode)
    wrong = planted_driver(spark, plant.java_class, plant.line, plant.planted, tmp_path)

    theirs = kafka_streams.run(plan, batches, cache_bytes_max=0)
    ours = run_in_memory(spark, plan, batches, cache_bytes_max=0, tasks=TASKS, open_driver=wrong)

    assert by_key(ours) != by_key(theirs)
