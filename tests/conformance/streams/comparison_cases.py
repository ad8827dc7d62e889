"""Handwritten topologies for Kafka Streams, their records, and their batch modes."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from conformance.streams.oracle import ByTopic, Given, Written
from duolog import (
    Topology,
    array,
    avg,
    coalesce,
    col,
    concat,
    count,
    hopping,
    lit,
    min_,
    row_time,
    session,
    sum_,
    tumbling,
)
from duolog.dsl.streams import Table
from duolog.engine.settings import EngineConfig
from duolog.plan.nodes import Plan
from topologies import KEY, VALUE, RawRecord, ms

Mode = Literal["each", "micro-batch", "cache", "late"]
MODES: Final[tuple[Mode, ...]] = ("each", "micro-batch", "cache")
CACHE_BYTES_MAX: Final = EngineConfig("", Path()).cache_bytes_max
PARTITION_OF: Final = {"y": 1}


def joined_with_the_count_of_another(topology: Topology) -> None:
    """A join sees the counts of its micro-batch, with and without a record cache."""
    counted = topology.stream("s1", key=KEY, value=VALUE).group_by_key().count()
    topology.stream("s2", key=KEY, value=VALUE).join(counted).to("joined")


def joined_with_its_own_count(topology: Topology) -> None:
    """The count is first in the topology, so each record is counted before it joins."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.join(stream.group_by_key().count()).to("joined")


def joined_with_its_filtered_count_under_a_new_key(topology: Topology) -> None:
    """Records of a repartition topic are processed later, with or without a filter."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    some = stream.select_key(k=col("a")).filter(col("n") > 0)
    stream.left_join(some.group_by_key().count()).to("joined")


def joined_with_a_count_under_two_keys(topology: Topology) -> None:
    """A count that is also looked up under a new key is replicated with its current value."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    counted = stream.group_by_key().count("c")
    by_other = stream.join(counted).select_key(k=col("a"))
    by_other.left_join(counted.filter(col("c") != 2), prefix="other_").to("joined")
    counted.to("counted")


def deletion_under_a_new_key(topology: Topology) -> None:
    """The new key is computed from the old one; the value stays null."""
    changes = topology.table("t1", key=KEY, value=VALUE).to_stream()
    changes.select_key(id=concat(col("k"), "!")).to("rekeyed")


def times_of_old_rows(topology: Topology) -> None:
    """A row is subtracted with the timestamp with which it was added."""
    table = topology.table("t1", key=KEY, value=VALUE)
    table.group_by("a").aggregate(at=sum_(row_time()), n=count()).to("times")


def grouped_by_its_own_key(topology: Topology) -> None:
    """A deletion of a missing row changes no group."""
    topology.table("t1", key=KEY, value=VALUE).group_by("k").count().to("counted")


def regrouped_twice(topology: Topology) -> None:
    """Counts of counts: old and new results are forwarded from one aggregate to the next."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    by_both = stream.group_by("k", "a").aggregate(r=count(), total=sum_("n"))
    by_both.group_by("a").aggregate(keys=count(), total=sum_("total")).to("by_a")
    by_both.filter(col("r") > 1).to_stream().to("often")


def enriched(topology: Topology) -> None:
    """A left join under a new key, then an aggregate and a copy."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    table = topology.table("t1", key=KEY, value=VALUE)
    joined = stream.select_key(k=col("a")).left_join(table.filter(col("n") > 0), prefix="t_")
    joined.to("joined")
    joined.group_by("t_a").aggregate(r=count(), total=sum_("n")).to("by_name")


def filtered(topology: Topology) -> None:
    """A row that no longer passes is deleted; one that never passed emits nothing."""
    table = topology.table("t1", key=KEY, value=VALUE).filter(col("n") > 1)
    table.to("large")
    table.group_by("a").count().to("by_a")


def flushed(topology: Topology) -> None:
    """The record cache forwards the most recently updated key last."""
    topology.stream("s1", key=KEY, value=VALUE).group_by_key().count().to("counted")


def exploded_and_counted(topology: Topology) -> None:
    """Several records made of one keep their order, under new keys and under the old one."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    both = stream.explode(e=array(concat(col("a"), "1"), col("k"), None, col("a")))
    both.to("elements")
    both.group_by("e").aggregate(r=count(), total=sum_("n"), least=min_("n")).to("by_element")
    both.group_by_key().count().to("by_key")
    stream.explode(e=concat(col("a"), ",", col("k")).split(","), outer=True).to("outer")


def exploded_behind_the_count_of_the_whole(topology: Topology) -> None:
    """The elements are joined in order, each with the count of those before it."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    counted = stream.group_by_key().count("before")
    parts = stream.explode(e=array(lit("p"), col("a"), lit("q")))
    numbered = parts.join(parts.group_by_key().count("c")).join(counted)
    numbered.to("numbered")
    renamed = parts.select_key(w=coalesce(col("e"), "none"))
    renamed.join(renamed.group_by_key().count("c")).to("by_word")


def split_into_branches(topology: Topology) -> None:
    """A record enters only the first branch whose predicate it satisfies."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    branches = stream.split(many=col("n") > 2, x=col("a") == "x", default="rest")
    for name, branch in branches.items():
        branch.to(name)
    branches["x"].group_by("a").count().to("counted")
    branches["rest"].left_join(stream.group_by_key().count()).to("joined")
    stream.split({"null": col("a").is_null()})["null"].to("nulls")


def branches_of_elements(topology: Topology) -> None:
    """Elements that reach one node over different paths keep their order."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    parts = stream.explode(e=array(lit("p"), col("a"), lit("q"), lit("p")))
    branches = parts.split(p=col("e") == "p", default="rest")
    seen = branches["p"].group_by_key().count("seen")
    branches["rest"].left_join(seen).to("rest")


def in_tumbling_windows(topology: Topology) -> None:
    """Windows with grace: out-of-order records count, late records do not."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    windows = tumbling(ms(5), grace=ms(2))
    stream.group_by_key().windowed_by(windows).aggregate(c=count(), total=sum_("n")).to("counted")


def in_hopping_windows(topology: Topology) -> None:
    """Each record is in several windows; some may be closed, and others open."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    windowed = stream.group_by("a").windowed_by(hopping(ms(10), ms(3), grace=ms(1)))
    late = windowed.aggregate(c=count(), length=col("window_end") - col("window_start"))
    late.filter(col("c") > 1).to("often")
    late.to_stream().select_key("a", "window_start").to("by_columns")


def windows_counted_again(topology: Topology) -> None:
    """Window bounds are columns: a result moves from one group to another."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    counted = stream.group_by("k", "a").windowed_by(hopping(ms(8), ms(4))).count("c")
    counted.group_by("window_start").aggregate(keys=count(), total=sum_("c")).to("by_window")
    counted.group_by("a", "window_end").count().to("by_a")


def in_sessions(topology: Topology) -> None:
    """Records join sessions, also two into one, whose rows are deleted; some come too late."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    sessions = stream.group_by_key().windowed_by(session(ms(2), grace=ms(3)))
    sessions.aggregate(c=count(), total=sum_("n"), least=min_("n"), mean=avg("n")).to("sessions")
    stream.group_by("a").windowed_by(session(ms(1))).count().to("short")
    stream.group_by_key().windowed_by(session(ms(30))).count().to("long")


def windows_on_close(topology: Topology) -> None:
    """One result for each closed window; a downstream count retracts nothing."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    tumbled = stream.group_by_key().windowed_by(tumbling(ms(5), grace=ms(2)), emit="on close")
    tumbled.aggregate(c=count(), total=sum_("n")).to("tumbled")
    hopped = stream.group_by("a").windowed_by(hopping(ms(10), ms(3), grace=ms(1)), emit="on close")
    closed = hopped.aggregate(c=count(), length=col("window_end") - col("window_start"))
    closed.filter(col("c") > 1).to("often")
    closed.group_by("window_start").aggregate(keys=count(), total=sum_("c")).to("by_window")


def windows_on_close_behind_a_cache(topology: Topology) -> None:
    """Records that the record cache flushes at the end close downstream windows."""
    counted = topology.stream("s1", key=KEY, value=VALUE).group_by("a").count("c")
    again = (
        counted.to_stream().group_by("c").windowed_by(tumbling(ms(4), grace=ms(0)), emit="on close")
    )
    again.count("groups").to("groups")


def sessions_on_close(topology: Topology) -> None:
    """Each session is emitted once, ordered by end, start and key; none is deleted."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    sessions = stream.group_by_key().windowed_by(session(ms(2), grace=ms(3)), emit="on close")
    sessions.aggregate(c=count(), total=sum_("n"), least=min_("n"), mean=avg("n")).to("sessions")
    stream.group_by("a").windowed_by(session(ms(1), grace=ms(0)), emit="on close").count().to(
        "short"
    )
    long = stream.group_by("a").windowed_by(session(ms(8), grace=ms(0)), emit="on close").count("c")
    long.to_stream().group_by("c").count("sessions").to("long")


def suppressed_until_windows_close(topology: Topology) -> None:
    """One row for each window; rows deleted before it closes are not emitted."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    tumbled = stream.group_by_key().windowed_by(tumbling(ms(5), grace=ms(2)))
    rows = tumbled.aggregate(c=count(), total=sum_("n"))
    rows.filter(col("total") > 0).suppress(until="window close").map_values("c").to("tumbled")
    hopped = stream.group_by("a").windowed_by(hopping(ms(10), ms(3), grace=ms(1))).count("c")
    hopped.suppress(until="window close", max_records=100).to("hopped")


def suppressed_sessions(topology: Topology) -> None:
    """A session that was merged into another one is not emitted."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    sessions = stream.group_by_key().windowed_by(session(ms(2), grace=ms(3))).count("c")
    sessions.suppress(until="window close").to("sessions")


def suppressed_for_a_time(topology: Topology) -> None:
    """The last change of a key is emitted some time after the first; deletions are, too."""
    left, right = _tables(topology)
    left.suppress(ms(3)).to("later")
    left.filter(col("n") > 0).suppress(ms(0)).to("at-once")
    right.suppress(ms(20), max_records=1).to("one-waits")
    counted = topology.stream("s1", key=KEY, value=VALUE).group_by("a").count("c")
    counted.suppress(ms(5)).to_stream().to("counted")
    counted.suppress(ms(30), max_records=2).to("two-wait")


def suppressed_and_looked_up(topology: Topology) -> None:
    """A lookup finds the row that was emitted last."""
    held = topology.table("t1", key=KEY, value=VALUE).suppress(ms(4))
    topology.stream("s1", key=KEY, value=VALUE).left_join(held, prefix="t_").to("looked-up")
    windowed = topology.stream("s2", key=KEY, value=VALUE).group_by_key()
    closed = windowed.windowed_by(tumbling(ms(5), grace=ms(0))).count("c")
    again = closed.suppress(until="window close").suppress(ms(4))
    again.to("twice")


def suppressed_and_joined(topology: Topology) -> None:
    """A row has its emitted timestamp; Kafka Streams stores none for emitted rows."""
    left, right = _tables(topology)
    held = left.suppress(ms(4))
    held.filter(col("n") > 0).left_join(right, prefix="r_").to("joined")
    held.group_by("a").aggregate(n=sum_("n"), rows=count()).to("by_a")


def tables_joined(topology: Topology) -> None:
    """Changes of both tables change each join; joined rows are retracted as emitted."""
    left, right = _tables(topology)
    left.join(right, prefix="r_").to("inner")
    left.left_join(right, prefix="r_").to("left")
    outer = left.outer_join(right, prefix="r_")
    outer.to("outer")
    outer.to_stream().to("outer-changes")
    outer.group_by("a").aggregate(n=sum_("n"), r_n=sum_("r_n"), rows=count()).to("by_a")


def table_joined_with_itself(topology: Topology) -> None:
    """A change affects both sides; the other side already sees it."""
    left, _ = _tables(topology)
    left.join(left, prefix="again_").to("twice")
    outer = left.outer_join(left.filter(col("n") > 1), prefix="large_")
    outer.group_by("large_a").count("rows").to("by_large")
    left.filter(col("n") > 0).left_join(left.map_values("a"), prefix="p_").to("parts")


def joins_of_joins(topology: Topology) -> None:
    """A join is looked up by a table and a stream, also after a filter and a projection."""
    left, right = _tables(topology)
    both = left.outer_join(right, prefix="r_")
    some = both.filter(col("r_n").is_null() | (col("r_n") > 0)).map_values("a", t=col("r_n"))
    left.left_join(some, prefix="s_").to("again")
    both.join(left.left_join(right, prefix="l_"), prefix="o_").to("joins")
    topology.stream("s1", key=KEY, value=VALUE).left_join(some, prefix="s_").to("looked-up")


def tables_of_aggregates(topology: Topology) -> None:
    """The other side sees rows that the record cache holds."""
    stream = topology.stream("s1", key=KEY, value=VALUE)
    other = topology.stream("s2", key=KEY, value=VALUE)
    counted, added = stream.group_by_key().count("c"), other.group_by_key().aggregate(t=sum_("n"))
    both = counted.outer_join(added)
    both.to("both")
    both.group_by("c").aggregate(t=sum_("t"), keys=count()).to("by_count")
    topology.table("t1", key=KEY, value=VALUE).left_join(counted).to("with_count")


def table_joined_with_its_own_count(topology: Topology) -> None:
    """The count depends on the table's sub-topology, so the join runs with the count."""
    left, right = _tables(topology)
    counted = left.group_by(k=col("a")).count("c")
    joined = left.outer_join(counted)
    joined.to("joined")
    counted.left_join(right).to("the_other_way")
    by_name = topology.stream("s1", key=KEY, value=VALUE).select_key(k=col("a"))
    by_name.left_join(joined, prefix="j_").to("looked_up")


def _tables(topology: Topology) -> tuple[Table, Table]:
    left = topology.table("t1", key=KEY, value=VALUE)
    return left, topology.table("t2", key=KEY, value=VALUE)


def _right_rows(records: list[RawRecord]) -> Iterator[RawRecord]:
    """Yield records of both tables: each left record is repeated later for the right table."""
    waiting: list[RawRecord] = []
    for number, (topic, key, row, time) in enumerate(records):
        yield topic, key, row, time
        if topic == "t1":
            waiting.append(("t2", key, None if number % 5 == 0 else row, (time * 3 + 1) % 10))
        if len(waiting) > 2:
            yield waiting.pop(0)
    yield from waiting


SOME: Final[list[RawRecord]] = [
    ("t1", "x", ("y", 1), 0),
    ("s1", "x", ("x", 1), 7),
    ("s1", "y", ("x", 2), 4),
    ("t1", "y", None, 1),
    ("s2", "x", ("z", 0), 8),
    ("t1", "x", ("z", 2), 5),
    ("s1", "x", ("x", 3), 2),
    ("s1", None, ("y", 4), 9),
    ("t1", "x", None, 6),
    ("t1", "x", None, 3),
    ("s2", "x", ("z", 1), 0),
    ("t1", None, ("x", 1), 7),
    ("s1", "x", None, 4),
    ("s1", "y", ("y", -1), 1),
    ("s2", "y", (None, None), 8),
    ("t1", "y", ("y", 5), 5),
    ("s1", "x", ("x", 5), 6),
    ("t1", "y", ("y", 6), 2),
    ("s1", "y", ("x", -2), 3),
    ("t1", "z", (None, 1), 9),
    ("t1", "x", ("z", -1), 4),
    ("s1", "x", ("z", 2), 1),
    ("s1", "z", (None, 3), 0),
    ("s1", "y", ("x", 1), 2),
    ("t1", "x", None, 7),
]
"""Rows that come, change, go and go again; null keys and values among them."""

OF_BOTH_TABLES: Final = [*_right_rows(SOME)]
"""The same, with records of the other table between them."""

Define = Callable[[Topology], None]
CASES: Final[tuple[Define, ...]] = (
    joined_with_the_count_of_another,
    joined_with_its_own_count,
    joined_with_its_filtered_count_under_a_new_key,
    joined_with_a_count_under_two_keys,
    deletion_under_a_new_key,
    times_of_old_rows,
    grouped_by_its_own_key,
    filtered,
    flushed,
    regrouped_twice,
    enriched,
    exploded_and_counted,
    exploded_behind_the_count_of_the_whole,
    split_into_branches,
    branches_of_elements,
    tables_joined,
    table_joined_with_itself,
    joins_of_joins,
    tables_of_aggregates,
    table_joined_with_its_own_count,
)
IN_WINDOWS: Final[tuple[Define, ...]] = (
    in_tumbling_windows,
    in_hopping_windows,
    windows_counted_again,
)
ON_CLOSE: Final[tuple[Define, ...]] = (
    windows_on_close,
    windows_on_close_behind_a_cache,
    sessions_on_close,
)
SUPPRESSED: Final[tuple[Define, ...]] = (
    suppressed_until_windows_close,
    suppressed_sessions,
    suppressed_for_a_time,
    suppressed_and_looked_up,
)
IN_SESSIONS: Final[tuple[Define, ...]] = (in_sessions,)


def plan_of(define: Define) -> Plan:
    topology = Topology(define.__name__)
    define(topology)
    return topology.build()


def cache_of(mode: Mode) -> int:
    return CACHE_BYTES_MAX if mode in {"cache", "late"} else 0


def batches_of(plan: Plan, records: Sequence[RawRecord], mode: Mode) -> list[list[Given]]:
    """Return the records that the plan reads, with a commit after each batch."""
    read = {source.topic for source in plan.sources}
    taken = [record for record in _given_records(records, mode) if record.topic in read]
    if mode == "each":
        return [[record] for record in taken]
    half = len(taken) // 2
    return [taken[:half], taken[half:]]


def _given_records(records: Sequence[RawRecord], mode: Mode) -> Iterator[Given]:
    """Yield records with random or rising times; rising times order all partitions.

    Late ones have times as drawn that rise in the long run, and come in one partition.
    """
    now = 0
    for number, (topic, key, row, time) in enumerate(records):
        match mode:
            case "each":
                now = time
            case "late":
                now = number + time
            case _:
                now += time + 1
        headers = (("number", str(number).encode()),) if number % 3 else ()
        partition = 0 if mode == "late" else PARTITION_OF.get(key or "", 0)
        yield Given(topic, None if key is None else (key,), row, now, partition, headers)


def without_headers(batches: list[ByTopic]) -> list[ByTopic]:
    """Return the same without headers, which Kafka Streams loses in sessions without a record cache."""
    return [
        {
            topic: [record._replace(headers=()) for record in records]
            for topic, records in batch.items()
        }
        for batch in batches
    ]


def by_key(batches: list[ByTopic]) -> list[dict[tuple[str, object], list[Written]]]:
    found = []
    for batch in batches:
        keyed: dict[tuple[str, object], list[Written]] = defaultdict(list)
        for topic, records in batch.items():
            for record in records:
                keyed[topic, record.key].append(record)
        found.append(dict(keyed))
    return found
