"""Compare windows with Kafka Streams over each short sequence of times: each edge is among them.

Each sequence has a key of its own. The first records of all sequences are one micro-batch, the
second ones the next. The records of a key arrive in any order of time, and none is late.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import Define, plan_of, without_headers
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.oracle import Given, KafkaStreams
from duolog import Topology, count, hopping, session, sliding, sum_
from duolog.plan.windows import Windows
from topologies import KEY, VALUE, ms

pytestmark = pytest.mark.spark

TIMES: Final = range(9)
"""More than twice as long as each window and gap."""
GRACE: Final = ms(1000)


def in_sliding_windows(topology: Topology) -> None:
    _in(topology, sliding(ms(3), grace=GRACE))


def in_sessions(topology: Topology) -> None:
    _in(topology, session(ms(3), grace=GRACE))


def in_hopping_windows(topology: Topology) -> None:
    _in(topology, hopping(ms(4), ms(3), grace=GRACE))


def _in(topology: Topology, windows: Windows) -> None:
    grouped = topology.stream("s1", key=KEY, value=VALUE).group_by_key()
    counted = grouped.windowed_by(windows).aggregate(c=count(), total=sum_("n"))
    counted.to("windows")


def sequences(length: int, at: int) -> list[list[Given]]:
    batches: list[list[Given]] = [[] for _ in range(length)]
    for times in product(TIMES, repeat=length):
        key = "-".join(map(str, times))
        for number, time in enumerate(times):
            batches[number].append(Given("s1", (key,), ("a", number), at + time))
    return [sorted(batch, key=lambda one: (one.time, str(one.key))) for batch in batches]


@pytest.fixture(autouse=True, scope="module")
def _interpreted(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.mark.parametrize(
    ("define", "length"),
    [(in_sliding_windows, 3), (in_sessions, 3), (in_hopping_windows, 2)],
)
@pytest.mark.parametrize("at", [0, 100])
def test_kafka_streams_does_the_same_with_each_short_sequence(
    spark: SparkSession,
    kafka_streams: KafkaStreams,
    define: Define,
    length: int,
    at: int,
) -> None:
    plan, batches = plan_of(define), sequences(length, at)

    theirs = kafka_streams.run(plan, batches, cache_bytes_max=0)
    ours = run_in_memory(spark, plan, batches, cache_bytes_max=0)
    reference = run_in_reference(plan, batches, cache_bytes_max=0, tasks=1)

    assert without_headers(ours) == without_headers(theirs)
    assert reference == without_headers(theirs)
