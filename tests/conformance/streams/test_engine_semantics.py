"""The engine's spec in the kernel against the reference evaluator, in memory, row for row.

Each topology gets random records as several micro-batches. What the sinks get must be the same for
each topic and task: keys, values, timestamps and order. No stream runs, so a case costs
milliseconds.
"""

import functools
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from duolog import (
    Topology,
    acc,
    avg,
    col,
    concat,
    count,
    hopping,
    least,
    lit,
    max_,
    min_,
    other,
    row_time,
    session,
    sum_,
    tumbling,
    when,
)
from duolog.engine.kernel_classes import kernel_class
from duolog.engine.lowering.lower import lower
from duolog.engine.settings import CACHE_BYTES_MAX_DEFAULT
from duolog.plan.cutting.levels import find_levels
from duolog.plan.nodes import Plan
from duolog.plan.partitioner import partition_of
from duolog.testing.packed_records import pack, unpack
from duolog.testing.reference import ReferenceEvaluator, SinkRecord, SourceRecord
from topologies import ms

pytestmark = pytest.mark.spark

TASKS = 2
FLIGHT = "carrier STRING, dest STRING, delay BIGINT, fare DOUBLE"
CARRIERS = ("UA", "AA", "DL")


def enriched(topology: Topology) -> None:
    """A join with two downstream aggregates, one of them a plain count."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    joined = flights.filter(col("delay") != 13).join(airlines, on="carrier")
    joined.group_by("name").aggregate(
        flights=count(), mean=avg("delay"), worst=max_("delay"), first=min_("dest")
    ).to("by_name")
    joined.group_by("dest").count("flights").to("by_dest")


def left_joined(topology: Topology) -> None:
    """A left join whose result keeps the old key, and a null key."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    by_carrier = flights.select_key(code=col("carrier"))
    by_carrier.left_join(airlines, prefix="airline_").map_values(
        "id", "airline_name", late=when(col("delay") > 3, lit("late")).otherwise("on time")
    ).to("joined")


def duality(topology: Topology) -> None:
    """A table, its changelog, and the table filtered."""
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    airlines.to("copy")
    airlines.filter(col("seats") > 2).map_values(twice=col("seats") * 2).to_stream().to("large")


def regrouped(topology: Topology) -> None:
    """A table grouped by a value: rows move between groups and are retracted."""
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    airlines.group_by("name").aggregate(
        airlines=count(), seats=sum_("seats"), known=count("seats"), mean=avg("seats")
    ).to("by_name")


def grouped_by_its_own_key(topology: Topology) -> None:
    """A table grouped by its key: no shuffle, and deletions of missing rows."""
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    airlines.group_by("code").aggregate(rows=count(), seats=sum_("seats")).to("by_code")


def joined_with_derived_tables(topology: Topology) -> None:
    """Joins that look up a filtered table and an aggregate."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    flights.join(airlines.filter(col("seats") > 1), on="carrier").to("with_large")
    by_carrier = flights.select_key("carrier")
    counted = by_carrier.group_by_key().count("flights")
    by_carrier.join(counted).map_values("id", "flights").to("with_count")


def joined_with_computed_tables(topology: Topology) -> None:
    """Joins that look through several steps: results, a projection with its row's time, a filter."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    by_carrier = flights.select_key("carrier")
    totals = by_carrier.group_by_key().aggregate(mean=avg("delay"), flights=count())
    often = totals.map_values("mean", twice=col("flights") * 2, at=row_time())
    by_carrier.left_join(often.filter(col("twice") > 2)).map_values("id", "twice", "at").to("often")
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    small = airlines.filter(col("seats") < 3).map_values(twice=col("seats") * 2, at=row_time())
    by_carrier.join(small, on="carrier").map_values("id", "twice", "at").to("small")
    small.group_by("twice").count().to("by_seats")


def by_row_time(topology: Topology) -> None:
    """A table with row timestamps in a filter, projection, group key and sum."""
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    recent = airlines.filter(row_time() % 7 != 3).map_values("name", at=row_time())
    recent.to("recent")
    recent.group_by("name").aggregate(at=sum_("at"), now=sum_(row_time())).to("by_name")
    halves = airlines.group_by(half=row_time() % 2).aggregate(seats=sum_("seats"))
    halves.map_values("seats", at=row_time()).group_by("seats").aggregate(
        halves=count(), at=sum_("at")
    ).to("by_seats")


def rekeyed_deletions(topology: Topology) -> None:
    """A table's changelog under keys computed from the old key, as deletions have no value."""
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    changes = airlines.to_stream()
    changes.select_key(shouted=concat(col("code"), "!")).to("shouted")
    changes.select_key(first=col("code"), at=row_time() % 3).select_key(
        again=concat(col("first"), "?")
    ).map_values("at", "name").to("again")


def joined_with_its_own_counts(topology: Topology) -> None:
    """A stream and its own count, in each order, filtered and under a new key."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    totals = flights.group_by_key().count("n")
    early = flights.filter(col("delay") < 5).group_by_key().count("early")
    flights.left_join(totals).left_join(early).to("counted")
    flights.filter(col("delay") > 2).left_join(early).to("some_counted")
    by_carrier = flights.group_by("carrier").count("flights")
    flights.select_key("carrier").left_join(by_carrier).to("by_carrier")
    flights.left_join(by_carrier, on="id").to("as_carrier")


def looked_up_twice(topology: Topology) -> None:
    """Tables before and after a key change, and one that depends on a node before its join."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    airlines = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    totals = flights.group_by_key().count("n")
    once = flights.left_join(airlines, on="id").left_join(totals)
    again = once.select_key("carrier")
    again.left_join(airlines, on="carrier", prefix="c_").left_join(
        totals, on="carrier", prefix="t_"
    ).to("twice")
    again.left_join(airlines.filter(col("seats") > 1), on="carrier", prefix="large_").to("large")
    counts = once.group_by("dest").count("of_dest")
    once.left_join(counts, on="id").to("fed_back")


def several_keys(topology: Topology) -> None:
    """A group of two columns, and a count of its changes."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    by_both = flights.group_by("carrier", "dest").aggregate(total=sum_("fare"))
    by_both.to("by_both")
    by_both.group_by("carrier").aggregate(dests=count(), total=sum_("total")).to("by_carrier")


def read_as_stream_and_as_table(topology: Topology) -> None:
    """A topic read as both stream and table: each record joins the row it wrote."""
    changes = topology.stream("airlines", key="code STRING", value="name STRING, seats INT")
    rows = topology.table("airlines", key="code STRING", value="name STRING, seats INT")
    changes.left_join(rows, prefix="row_").to("own")
    changes.filter(col("seats") > 1).left_join(rows, on="name", prefix="row_").to("named")


def in_windows(topology: Topology) -> None:
    """Hopping and tumbling windows with late records, and counts of their results."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    hops = flights.group_by("carrier").windowed_by(hopping(ms(10), ms(4), grace=ms(3)))
    delays = hops.aggregate(
        flights=count(), mean=avg("delay"), length=col("window_end") - col("window_start")
    )
    delays.to("delays")
    delays.filter(col("flights") > 1).group_by("window_start").aggregate(
        carriers=count(), flights=sum_("flights")
    ).to("by_window")
    days = flights.group_by("carrier", "dest").windowed_by(tumbling(ms(7)))
    days.count("n").to_stream().select_key("dest", "window_start").to("by_dest")


def in_sessions(topology: Topology) -> None:
    """Sessions that grow, merge and close, and a count that is retracted when they merge."""
    flights = topology.stream("flights", key="id STRING", value=FLIGHT)
    sessions = (
        flights.group_by("carrier")
        .windowed_by(session(ms(3), grace=ms(4)))
        .aggregate(flights=count(), mean=avg("delay"), worst=max_("delay"), fare=sum_("fare"))
    )
    sessions.to("sessions")
    sessions.group_by(length=col("window_end") - col("window_start")).aggregate(
        sessions=count(), flights=sum_("flights")
    ).to("by_length")
    own = flights.group_by("dest").windowed_by(session(ms(5)))
    own.aggregate(
        initializer={"n": lit(0), "first": lit(None)},
        adder={"n": acc("n") + 1, "first": least(acc("first"), col("carrier"))},
        merger={"n": acc("n") + other("n"), "first": least(acc("first"), other("first"))},
    ).filter(col("n") > 1).to_stream().to("own")


Define = Callable[[Topology], None]
TOPOLOGIES: list[Define] = [
    enriched,
    left_joined,
    duality,
    regrouped,
    by_row_time,
    rekeyed_deletions,
    grouped_by_its_own_key,
    joined_with_derived_tables,
    joined_with_computed_tables,
    joined_with_its_own_counts,
    looked_up_twice,
    several_keys,
    in_windows,
    in_sessions,
    read_as_stream_and_as_table,
]


def plan_of(define: Define) -> Plan:
    topology = Topology(define.__name__)
    define(topology)
    return topology.build()


@functools.cache
def driver_of(
    spark: SparkSession, define: Define, cache_bytes_max: int, *, real_time: bool = False
) -> Any:
    """Return the driver of a topology, compiled once: compilation costs more than a case."""
    tasks = tasks_of(define, real_time=real_time)
    return driver_of_plan(spark, plan_of(define), cache_bytes_max, tasks, real_time=real_time)


def tasks_of(define: Define, *, real_time: bool) -> int:
    """A row that changes groups updates two tasks, whose results have no order in real time."""
    return 1 if real_time and define is by_row_time else TASKS


def driver_of_plan(
    spark: SparkSession,
    plan: Plan,
    cache_bytes_max: int,
    tasks: int = TASKS,
    *,
    real_time: bool = False,
) -> Any:
    levels = find_levels(plan, tasks)
    spec = lower(levels, "test", cache_bytes_max=cache_bytes_max) | {"real_time": real_time}
    driver = kernel_class(spark._jvm, "Driver")  # noqa: SLF001
    return driver(spark._jsparkSession, json.dumps(spec))  # noqa: SLF001


def drive(driver: Any, records: Iterable[SourceRecord]) -> list[SinkRecord]:
    return [
        SinkRecord(out.topic, -1, out.ts, out.key, out.value)
        for out in unpack(driver.runPacked(pack(records)))
    ]


def by_topic_and_partition(records: Iterable[SinkRecord]) -> dict[tuple[str, int], list[Any]]:
    """Order is guaranteed within a task; if the sink is keyed, the key determines the task."""
    ordered: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for record in records:
        task = -1 if record.key is None else partition_of(record.key, TASKS)
        ordered[record.topic, task].append(record[2:])
    return ordered


maybe = st.none
flight_values = st.fixed_dictionaries(
    {
        "carrier": maybe() | st.sampled_from((*CARRIERS, "ZZ")),
        "dest": maybe() | st.sampled_from(("SFO", "LAX", "O'H")),
        "delay": maybe() | st.integers(-5, 15),
        "fare": maybe() | st.integers(-8, 8).map(lambda eighths: eighths / 8),
    }
)
airline_values = st.fixed_dictionaries(
    {
        "name": maybe() | st.sampled_from(("United", "American", "Ä")),
        "seats": maybe() | st.integers(0, 4),
    }
)


def as_json(values: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[bytes | None]:
    written = values.map(lambda row: json.dumps(row, separators=(",", ":")).encode())
    return st.one_of(written, written, written, maybe(), st.just(b"{oops"))


raw_records = st.one_of(
    st.tuples(
        st.just("flights"),
        st.integers(0, 2),
        maybe() | st.integers(0, 5).map(lambda number: f"f{number}".encode()),
        as_json(flight_values),
    ),
    st.tuples(
        st.just("airlines"),
        st.just(0),
        maybe() | st.sampled_from(CARRIERS).map(str.encode),
        as_json(airline_values),
    ),
)


@st.composite
def micro_batches(draw: st.DrawFn) -> list[list[SourceRecord]]:
    """Records of five topic partitions, with timestamps that need not rise along an offset."""
    batches = draw(st.lists(st.lists(raw_records, max_size=12), min_size=1, max_size=3))
    offsets: dict[tuple[str, int], int] = defaultdict(int)
    placed: list[list[SourceRecord]] = []
    for batch in batches:
        placed.append([])
        for topic, partition, key, value in batch:
            at = draw(st.integers(0, 30))
            offset = offsets[topic, partition]
            offsets[topic, partition] += 1
            placed[-1].append(SourceRecord(topic, partition, offset, at, key, value))
    return placed


@pytest.mark.parametrize("way", ["record cache", "every update", "real time"])
@pytest.mark.parametrize("define", TOPOLOGIES, ids=lambda define: define.__name__)
@settings(max_examples=settings().max_examples // 2)
@given(batches=micro_batches())
def test_kernel_writes_the_same_as_the_reference_evaluator(
    spark: SparkSession, define: Define, way: str, batches: list[list[SourceRecord]]
) -> None:
    """In real time each record is processed alone, one source after the other."""
    plan = plan_of(define)
    read = [source.topic for source in plan.sources]
    cache, real_time = way == "record cache", way == "real time"
    tasks = tasks_of(define, real_time=real_time)
    reference = ReferenceEvaluator(plan, tasks=tasks, cache=cache)
    driver = driver_of(
        spark, define, 0 if way == "every update" else CACHE_BYTES_MAX_DEFAULT, real_time=real_time
    )
    driver.reset()

    for batch in batches:
        records = [record for record in batch if record.topic in read]
        if real_time:
            records.sort(key=lambda record: read.index(record.topic))
        groups = [[record] for record in records] if real_time else [records]
        expected = by_topic_and_partition(out for group in groups for out in reference.run(group))
        written = by_topic_and_partition(drive(driver, records))
        assert written == expected
    assert driver.corruptRecords() == reference.dropped
