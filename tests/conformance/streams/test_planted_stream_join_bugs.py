"""Tests of stream-stream joins find each bug planted in the kernel."""

from pathlib import Path
from typing import Final, NamedTuple

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import Define, batches_of, plan_of
from conformance.streams.in_memory import run_in_memory
from conformance.streams.oracle import KafkaStreams
from conformance.streams.planted import planted_driver
from conformance.streams.stream_join_cases import (
    JITTERED,
    joined_with_what_comes_after,
    joined_within,
    joined_without_grace,
    stream_joined_with_itself,
)

pytestmark = pytest.mark.spark


class Plant(NamedTuple):
    """A line of a kernel class, and the bug that replaces it."""

    bug: str
    java_class: str
    line: str
    planted: str
    found_by: Define


PLANTS: Final = (
    Plant(
        "what a micro-batch before this one has written is not read",
        "RowLists",
        "      time.all().forEach(stored::add);",
        "",
        joined_within,
    ),
    Plant(
        "a matched record keeps waiting",
        "UnmatchedJoinRows",
        "      if (list != null && !list.isEmpty()) {",
        "      if (false) {",
        joined_within,
    ),
    Plant(
        "a record is kept a millisecond longer",
        "StreamJoinRows",
        "return lists.time().time() - keptMs + 1;",
        "return lists.time().time() - keptMs;",
        joined_without_grace,
    ),
    Plant(
        "at equal times the left side's are emitted first",
        "StreamJoinNode",
        "first == otherFirst && !of.left()",
        "first == otherFirst && of.left()",
        joined_within,
    ),
    Plant(
        "who comes when its window has passed waits all the same",
        "StreamJoinNode",
        "stores.unmatched == null || later(last, waitsMs()) < clock.time()",
        "stores.unmatched == null",
        joined_without_grace,
    ),
    Plant(
        "both sides close by the same end of the window",
        "StreamJoinNode",
        "clock.time() - of.beforeMs() - of.graceMs()",
        "clock.time() - of.afterMs() - of.graceMs()",
        joined_with_what_comes_after,
    ),
    Plant(
        "a record takes the place of the one of its key and time before it",
        "StreamJoinRows",
        "found.add(new StoredRecord(row, ts));",
        "found.removeIf(one -> one.ts() == ts); found.add(new StoredRecord(row, ts));",
        stream_joined_with_itself,
    ),
)


@pytest.mark.parametrize(
    "plant",
    [
        # A compiler is started for each: every fifth one is enough for the quick form.
        pytest.param(plant, id=plant.bug, marks=[pytest.mark.deep] if number % 5 else [])
        for number, plant in enumerate(PLANTS)
    ],
)
def test_planted_stream_join_bug_is_found(
    spark: SparkSession, kafka_streams: KafkaStreams, tmp_path: Path, plant: Plant
) -> None:
    wrong = planted_driver(spark, plant.java_class, plant.line, plant.planted, tmp_path)
    plan = plan_of(plant.found_by)
    batches = batches_of(plan, JITTERED, "each")

    ours = run_in_memory(spark, plan, batches, cache_bytes_max=0, open_driver=wrong)

    assert ours != kafka_streams.run(plan, batches, cache_bytes_max=0)
