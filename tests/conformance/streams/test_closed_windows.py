"""Compare closed windows with Kafka Streams: sliding, joined, and with retention."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.closed_window_cases import (
    BY_A_FOREIGN_KEY,
    ON_CLOSE,
    SIZE,
    Define,
    windows_of_every_kind,
)
from conformance.streams.comparison_cases import (
    MODES,
    SOME,
    Mode,
    batches_of,
    cache_of,
    plan_of,
    without_headers,
)
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given, KafkaStreams
from topologies import RawRecord

pytestmark = pytest.mark.spark

WINDOWED: Final = ("w1", "w2")
EVERY_MODE: Final[tuple[Mode, ...]] = (*MODES, "late")


@pytest.fixture(scope="module", autouse=True)
def _interpreted(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield
    spark.conf.unset("spark.sql.codegen.factoryMode")


def _of_all_topics(records: list[RawRecord]) -> Iterator[RawRecord]:
    for number, (topic, key, row, time) in enumerate(records):
        yield topic, key, row, time
        yield "s2", key, row, (time + 3 * number) % 7
        yield WINDOWED[number % 2], key, row, (time * 3 + number) % 10


def _windowed(given: Given) -> Given:
    """Look up windows up to 30 ms before the record's time, and sometimes much older ones."""
    if given.topic not in WINDOWED or given.key is None:
        return given
    ago = given.time * 7 % (30 if given.time % 3 else 600)
    start = max(0, given.time - ago) // SIZE * SIZE
    return given._replace(key=(*given.key, start, start + SIZE))


@pytest.mark.parametrize(
    ("define", "mode"),
    [
        *((define, mode) for define in ON_CLOSE for mode in EVERY_MODE),
        *((define, "each") for define in BY_A_FOREIGN_KEY),
    ],
)
def test_kafka_streams_handles_closed_windows_the_same(
    spark: SparkSession, kafka_streams: KafkaStreams, define: Define, mode: Mode
) -> None:
    plan, cache = plan_of(define), 0 if mode == "late" else cache_of(mode)
    records = list(_of_all_topics(SOME * (1 if mode == "each" else 3)))
    batches = [list(map(_windowed, batch)) for batch in batches_of(plan, records, mode)]
    if cache:  # After a commit, Streams finds expired rows that happen to be in memory.
        batches = [[*chain.from_iterable(batches)]]

    theirs = kafka_streams.run(plan, batches, cache_bytes_max=cache)
    ours = run_in_memory(spark, plan, batches, cache_bytes_max=cache)

    assert without_headers(ours) == without_headers(theirs), batches
    if not cache:
        one = [[given._replace(partition=0, headers=()) for given in of] for of in batches]
        reference = run_in_reference(plan, one, cache_bytes_max=0, tasks=1)
        assert reference == without_headers(theirs), batches


YEARS_AHEAD: Final = 2 * 10**12


@pytest.mark.parametrize("cut", [1, 4])
def test_kafka_streams_handles_time_jumps_the_same(
    spark: SparkSession, kafka_streams: KafkaStreams, cut: int
) -> None:
    """Jump decades ahead, back to 1970 and ahead again; then records of one millisecond."""
    plan = plan_of(windows_of_every_kind)
    times = [5, 6, YEARS_AHEAD, 0, 7, YEARS_AHEAD + 2, 3, 2 * YEARS_AHEAD, YEARS_AHEAD]
    times += [2 * YEARS_AHEAD + 1] * 6
    records = [
        Given(topic, (("x", "y")[number % 5 == 0],), ("a", number), time)
        for number, time in enumerate(times)
        for topic in ("s1", "s2")
    ]
    # Within a micro-batch, timestamps order the records of two topics: use one topic at a time.
    records = records if cut == 1 else [one for one in records if one.topic == "s1"]
    batches = [records[at : at + cut] for at in range(0, len(records), cut)]

    theirs = kafka_streams.run(plan, batches, cache_bytes_max=0)
    ours = run_in_memory(spark, plan, batches, cache_bytes_max=0)

    assert without_headers(ours) == without_headers(theirs)
