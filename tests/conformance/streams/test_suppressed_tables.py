"""Compare operators after `suppress` with the reference: groups, filters and joins.

Kafka Streams cannot be the reference: it forwards as the old row one that was never emitted, so
downstream groups would count wrong.
"""

import random
from collections.abc import Iterator
from itertools import accumulate

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import (
    MODES,
    Mode,
    batches_of,
    by_key,
    cache_of,
    plan_of,
    suppressed_and_joined,
)
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from topologies import RawRecord

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield spark
    spark.conf.unset("spark.sql.codegen.factoryMode")


def drawn(mode: Mode) -> list[RawRecord]:
    """Return rows of two tables that change groups, are deleted and return, over time."""
    rng = random.Random(7)  # noqa: S311 - the same records each time
    steps = [rng.choice([0, 1, 1, 3, 8]) for _ in range(120)]
    # Of single records times are as they are, in micro-batches each is the distance from the one
    # before.
    times = list(accumulate(steps)) if mode == "each" else steps
    return [
        (
            rng.choice(["t1", "t1", "t2"]),
            rng.choice("xyz"),
            None if rng.random() < 0.2 else (rng.choice("pq"), rng.randrange(5)),
            time,
        )
        for time in times
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tasks", [1, 2])
def test_emitted_row_is_retracted_once_after_suppress(
    interpreted: SparkSession, mode: Mode, tasks: int
) -> None:
    """Regression: a group after `suppress` never retracted the rows it had added."""
    plan = plan_of(suppressed_and_joined)
    batches, cache = batches_of(plan, drawn(mode), mode), cache_of(mode)

    ours = run_in_memory(interpreted, plan, batches, cache_bytes_max=cache, tasks=tasks)
    reference = run_in_reference(plan, batches, cache_bytes_max=cache, tasks=tasks)

    assert by_key(ours) == by_key(reference)
    grouped = [written for batch in ours for written in batch.get("by_a", ())]
    assert len(grouped) > 3, "rows have left"
