"""Compare the kernel with Kafka Streams: topologies and records, record by record.

    each         every record is a micro-batch of its own, times in any order, no record cache
    micro-batch  records come in two micro-batches, in the order of their times, no record cache
    cache        the same with the default record cache; Streams commits when Duolog does
    late         as cache, but times go back repeatedly, in one partition

Keys, values, timestamps and headers must be the same in the same order: for each sink topic with
one task, for each key with several. Expressions are interpreted, which saves their compilation;
`test_engine_semantics.py` runs them compiled.

Intentional differences:

    what                                     why
    only aggregates are in the record cache  a table's source forwards each change, as Streams does
                                             with `withCachingDisabled()`: join lookups and sink
                                             records are the same, a regrouped table is updated
                                             more often
    the first old value of an aggregate      Streams hands the initializer's value on as the old
    is null                                  value of a group's first result (without a record
                                             cache), and an aggregate of it takes back what was
                                             never added: `regrouped_twice` would count 1 for 2.
                                             The oracle's tables drop such old values
    a windowed aggregate drops records       Streams documents this, but counts them. The test's
    without a value                          Streams groups drop them
    the streams of a cogroup have one        Streams' processors have one each: a record may be late
    stream time                              for its own stream alone. The store has one time: a record that is
                                             late there is emitted but not stored, as a 1 instead
                                             of the window's count. Compared without late records
    a repartitioned stream keeps records     Streams drops them without counting them, unless a left join
    without a key                            follows. Compared only with keys
    a suppressed table retracts the rows     Streams forwards the row before the last change as the old one, which
    that it has emitted                      was never emitted. No compared operator is downstream of one
    a record dropped before a shuffle        Streams' driver is one thread over all topics: an unprocessed record
    delays no others: with falling times,    delays all later ones, wherever they are sent. Visible if rows of
    later ones may be processed earlier      foreign-key joins have not changed, versioned or not
    a foreign-key join emits a deletion      Streams drops the response, because it is for an older row, and the
    that is followed by a newer row          joined row stays. Visible if timestamps fall within a micro-batch
    subscribers to a row of a foreign-key    Streams iterates over the bytes of their serialized keys. Duolog uses
    join are notified in another order       Spark's bytes: shorter texts first, numbers from the last byte. The
                                             result per key is the same; compared with texts of one length
    a change of a table that is joined       Streams' joins read one store; here one join gets the change before the
    twice, once by a foreign key, is         other's copy of the table, so that the same row is emitted once instead
    emitted once                             of twice. The rows are the same
    a filtered table emits nothing for       Streams' filter does the same if old values are enabled; else it
    rows that never passed                   forwards a deletion for each. The test enables old values
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pytest
from pyspark.sql import SparkSession

from conformance.streams.comparison_cases import (
    CASES,
    IN_SESSIONS,
    IN_WINDOWS,
    MODES,
    OF_BOTH_TABLES,
    SOME,
    Define,
    Mode,
    batches_of,
    by_key,
    cache_of,
    plan_of,
    without_headers,
)
from conformance.streams.global_table_cases import OF_GLOBAL_TABLES, WITH_GLOBAL_ROWS
from conformance.streams.in_memory import run_in_memory
from conformance.streams.in_reference import run_in_reference
from conformance.streams.merge_cases import (
    IN_ONE_STREAM_TIME,
    SHAPES,
    SHAPES_IN_SESSIONS,
    SHAPES_IN_WINDOWS,
)
from conformance.streams.oracle import ByTopic, Given, KafkaStreams
from conformance.streams.versioned_cases import (
    BY_A_FOREIGN_KEY,
    OF_LATE_VERSIONS,
    OF_VERSIONS,
    VERSIONED,
)
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import AggregateNode, Plan, Suppress
from duolog.plan.text.describe import describe
from duolog.plan.windows import SessionWindows
from topologies import RawRecord

pytestmark = pytest.mark.spark

EVERYWHERE: Final = (*CASES, *SHAPES, *IN_WINDOWS, *SHAPES_IN_WINDOWS)


class Comparison:
    """Both implementations, and their comparison."""

    def __init__(self, spark: SparkSession, kafka_streams: KafkaStreams) -> None:
        self._spark = spark
        self._kafka_streams = kafka_streams

    def kafka_streams(
        self, plan: Plan, batches: list[list[Given]], cache_bytes_max: int
    ) -> list[ByTopic]:
        return self._kafka_streams.run(plan, batches, cache_bytes_max=cache_bytes_max)

    def kernel(
        self, plan: Plan, batches: list[list[Given]], cache_bytes_max: int, *, tasks: int
    ) -> list[ByTopic]:
        return run_in_memory(
            self._spark, plan, batches, cache_bytes_max=cache_bytes_max, tasks=tasks
        )

    def ensure_same(
        self, plan: Plan, records: Sequence[RawRecord], mode: Mode, *, tasks: int
    ) -> None:
        batches, cache = batches_of(plan, records, mode), cache_of(mode)

        theirs = self.kafka_streams(plan, batches, cache)
        ours = self.kernel(plan, batches, cache, tasks=tasks)
        if any(isinstance(of.windows, SessionWindows) for of in _aggregates(plan)):
            # Streams loses the headers of a session without a record cache.
            theirs, ours = without_headers(theirs), without_headers(ours)

        case = f"{describe(find_levels(plan, tasks))}\ngiven: {batches}"
        if tasks > 1 and waits_for_time(plan):
            # Each task has its own time, and Streams has one task here.
            reference = run_in_reference(plan, batches, cache_bytes_max=cache, tasks=tasks)
            assert by_key(ours) == by_key(reference), case
        elif tasks == 1:
            assert ours == theirs, case
        else:
            assert by_key(ours) == by_key(theirs), case
        if tasks == 1 and not any(node.schema.window for node in plan.nodes):
            reference = run_in_reference(plan, batches, cache_bytes_max=cache, tasks=tasks)
            # It reads a source partition by partition: partitions have no order among each other.
            assert by_key(reference) == by_key(theirs), case


def waits_for_time(plan: Plan) -> bool:
    """Return True if records are emitted by time and not on their arrival."""
    return any(
        isinstance(node, Suppress) or (isinstance(node, AggregateNode) and node.emits_on_close)
        for node in plan.nodes
    )


def _aggregates(plan: Plan) -> list[AggregateNode]:
    return [node for node in plan.nodes if isinstance(node, AggregateNode)]


@pytest.fixture(scope="module")
def comparison(spark: SparkSession, kafka_streams: KafkaStreams) -> Iterator[Comparison]:
    # Expressions are interpreted: compiling them takes nearly all of a case's time.
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield Comparison(spark, kafka_streams)
    spark.conf.unset("spark.sql.codegen.factoryMode")


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("define", EVERYWHERE, ids=lambda define: define.__name__)
def test_kafka_streams_writes_the_same(
    comparison: Comparison, define: Define, mode: Mode, tasks: int
) -> None:
    comparison.ensure_same(plan_of(define), OF_BOTH_TABLES, mode, tasks=tasks)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("define", OF_GLOBAL_TABLES, ids=lambda define: define.__name__)
def test_kafka_streams_finds_the_same_rows_of_global_tables(
    comparison: Comparison, define: Define, mode: Mode, tasks: int
) -> None:
    """Three tasks share the keys: with two, all keys belonged to one task."""
    comparison.ensure_same(plan_of(define), WITH_GLOBAL_ROWS, mode, tasks=tasks)


@pytest.mark.parametrize(
    ("define", "mode"),
    [
        *((define, mode) for define in VERSIONED for mode in ("each", "late")),
        *((define, mode) for define in BY_A_FOREIGN_KEY for mode in ("each", "micro-batch")),
    ],
)
def test_kafka_streams_finds_the_same_versions(
    comparison: Comparison, define: Define, mode: Mode
) -> None:
    records = OF_LATE_VERSIONS if mode == "late" else OF_VERSIONS
    comparison.ensure_same(plan_of(define), records, mode, tasks=1)


@pytest.mark.parametrize(
    "define", [*IN_WINDOWS, *SHAPES_IN_WINDOWS], ids=lambda define: define.__name__
)
def test_kafka_streams_drops_the_same_late_records(comparison: Comparison, define: Define) -> None:
    comparison.ensure_same(plan_of(define), SOME * 3, "late", tasks=1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "define", [*IN_SESSIONS, *SHAPES_IN_SESSIONS], ids=lambda define: define.__name__
)
def test_kafka_streams_creates_the_same_sessions(
    comparison: Comparison, define: Define, mode: Mode
) -> None:
    """Headers are not compared: Kafka Streams loses them without a record cache."""
    plan = plan_of(define)
    batches, cache = batches_of(plan, SOME * 2, mode), cache_of(mode)
    theirs = comparison.kafka_streams(plan, batches, cache)
    ours = comparison.kernel(plan, batches, cache, tasks=1)

    assert without_headers(ours) == without_headers(theirs)


@pytest.mark.parametrize("mode", ["micro-batch", "cache"])
@pytest.mark.parametrize("define", IN_ONE_STREAM_TIME, ids=lambda define: define.__name__)
def test_kafka_streams_cogroups_the_same_windows(
    comparison: Comparison, define: Define, mode: Mode
) -> None:
    plan = plan_of(define)
    batches, cache = batches_of(plan, SOME * 2, mode), cache_of(mode)
    theirs = comparison.kafka_streams(plan, batches, cache)
    ours = comparison.kernel(plan, batches, cache, tasks=1)

    assert without_headers(ours) == without_headers(theirs)
