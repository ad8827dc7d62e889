"""Topologies with merged, cogrouped and converted streams, for Kafka Streams."""

from typing import Final

from conformance.streams.comparison_cases import Define
from duolog import (
    Topology,
    acc,
    coalesce,
    col,
    concat,
    count,
    hopping,
    lit,
    min_,
    other,
    row_time,
    session,
    sum_,
    tumbling,
)
from duolog.dsl.grouping.cogroups import CoGrouped
from duolog.dsl.streams import Table
from topologies import KEY, VALUE, ms


def merged(topology: Topology) -> None:
    """Merge two topics, branches, and a stream with itself and its derivation, in order."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    two = topology.stream("s2", key=KEY, value=VALUE)
    both = one.filter(col("n") > 0).merge(two)
    both.to("both")
    both.group_by_key().aggregate(c=count(), t=sum_("n")).to("by_key")
    both.group_by("a").aggregate(c=count(), least=min_("n")).to("by_a")
    one.merge(one).group_by_key().count().to("once")
    branches = one.split(p=col("n") > 1, q=col("a") == "x", default="rest")
    again = branches["q"].map_values("a", n=col("n") * 10).merge(branches["p"], branches["rest"])
    again.merge(one.map_values("a", n=col("n") * 3)).left_join(one.group_by_key().count()).to(
        "diamond"
    )


def merged_under_new_keys(topology: Topology) -> None:
    """A merge of a new key with the old one goes through a repartition topic as a whole."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    rekeyed = one.select_key(id=col("a")).map_values("n", a=col("k")).select_key(k=col("id"))
    rekeyed = rekeyed.map_values("a", "n")
    both = rekeyed.merge(one)
    both.group_by_key().aggregate(c=count(), least=min_("n"), t=sum_("n")).to("counted")
    one.left_join(both.group_by_key().count("seen")).to("looked_up")


def merged_behind_joins(topology: Topology) -> None:
    """Shuffled streams are merged in their task or after another shuffle."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    two = topology.stream("s2", key=KEY, value=VALUE)
    left, right = _tables(topology)
    by_left = one.left_join(left, prefix="t_").map_values("a", "n", o=col("t_n"))
    by_right = one.join(right, prefix="t_").map_values("a", "n", o=col("t_n"))
    home = by_left.merge(by_right)
    home.to("home")
    home.group_by_key().aggregate(c=count(), t=sum_("o")).to("counted")
    away = home.merge(
        two.with_columns(o=lit(7).cast("BIGINT")), left.to_stream().with_columns(o=col("n"))
    )
    away.to("away")
    away.left_join(right, prefix="r_").to("joined")
    away.group_by("a").aggregate(c=count(), t=sum_("n")).to("by_a")


def taken_for_tables(topology: Topology) -> None:
    """Records become rows under their key or a new one; null values delete, null keys drop."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    rows = one.to_table()
    rows.filter_not(col("n") > 1).to("small")
    rows.group_by("a").aggregate(c=count(), t=sum_("n")).to("by_a")
    by_a = one.select_key("a").filter(col("n") != 2).to_table("by-a-rows")
    by_a.map_values("n", "k").to("rows_by_a")
    topology.stream("s2", key=KEY, value=VALUE).left_join(rows, prefix="r_").to("looked_up")
    counted = one.group_by_key().count("c").to_stream().to_table()
    rows.left_join(counted).to("joined")
    one.select_key(k=col("a")).left_join(rows, prefix="r_").to("elsewhere")


def reduced(topology: Topology) -> None:
    """A group starts with its first record; retractions of a table are records, too."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    total = {"n": coalesce(acc("n"), 0) + coalesce(col("n"), 0), "a": col("a")}
    one.group_by_key().reduce(total).to("by_key")
    one.group_by("a").reduce({"n": coalesce(acc("n"), col("n"))}).to("first_by_a")
    left, _ = _tables(topology)
    back = {"n": coalesce(acc("n"), 0) - coalesce(col("n"), 0), "k": acc("k")}
    left.group_by("a").reduce({"n": total["n"], "k": col("k")}, back).to("table")


def reduced_in_windows(topology: Topology) -> None:
    """A window starts with its first record."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    windowed = one.group_by("a").windowed_by(hopping(ms(10), ms(3), grace=ms(1)))
    windowed.reduce({"n": acc("n") + coalesce(col("n"), 7), "k": col("k")}).to("reduced")


def reduced_in_sessions(topology: Topology) -> None:
    """Two sessions are reduced like two records."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    sessions = one.group_by_key().windowed_by(session(ms(2), grace=ms(3)))
    sessions.reduce({"n": acc("n") * 10 + coalesce(col("n"), 7), "a": acc("a")}).to("reduced")


def cogrouped(topology: Topology) -> None:
    """Two streams, one under a new key, update one row with their own functions."""
    _cogrouped(topology).aggregate(initializer=_BEGIN).to("both")
    one = topology.stream("s1", key=KEY, value=VALUE)
    parts = one.split(p=col("n") > 1, default="q")
    halves = parts["p"].group_by_key().cogroup({"c": acc("c") + 1})
    again = halves.cogroup(parts["q"].group_by_key(), {"c": acc("c") * 2, "t": row_time()})
    rows = again.aggregate(
        initializer={"c": lit(1), "t": lit(0).cast("BIGINT")}, d=acc("c"), t=acc("t")
    )
    rows.group_by("d").count().to("by_d")


def cogrouped_in_windows(topology: Topology) -> None:
    """Both streams update the windows of their records."""
    both = _cogrouped(topology)
    both.windowed_by(tumbling(ms(5), grace=ms(20))).aggregate(initializer=_BEGIN).to("tumbling")
    hops = both.windowed_by(hopping(ms(9), ms(3), grace=ms(20)))
    hops.aggregate(initializer=_BEGIN, sum=acc("t") + acc("c")).to("hopping")


def cogrouped_in_sessions(topology: Topology) -> None:
    """A record of either stream may merge two sessions."""
    both = _cogrouped(topology).windowed_by(session(ms(4), grace=ms(30)))
    merger = {"t": acc("t") + other("t"), "c": acc("c") + other("c"), "last": other("last")}
    both.aggregate(initializer=_BEGIN, merger=merger).to("sessions")


def _cogrouped(topology: Topology) -> CoGrouped[Table]:
    one = topology.stream("s1", key=KEY, value=VALUE)
    two = topology.stream("s2", key=KEY, value=VALUE)
    first = {"t": acc("t") + coalesce(col("n"), 0), "last": col("a")}
    second = {"t": acc("t") - coalesce(col("n"), 1), "c": acc("c") + 1, "last": col("k")}
    return one.group_by_key().cogroup(first).cogroup(two.group_by(name=col("a")), second)


_BEGIN: Final = {"t": lit(0).cast("BIGINT"), "c": lit(0), "last": lit(None).cast("STRING")}


def written_to_topics_of_their_own(topology: Topology) -> None:
    """Each record names its topic; a table row, also a deletion, names it by key."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    own = concat("own-", coalesce(col("a"), "none"))
    one.to(own, topics=["own-x", "own-y", "own-z", "own-none"])
    left, _ = _tables(topology)
    left.filter(col("n") > 0).to(concat("row-", col("k")), topics=["row-x", "row-y", "row-z"])


def repartitioned(topology: Topology) -> None:
    """Repartitioned records, also null values, continue after their cause is processed."""
    one = topology.stream("s1", key=KEY, value=VALUE)
    keyed = one.filter(col("k").is_not_null())
    keyed.repartition().to("all")
    later = keyed.repartition()
    later.left_join(keyed.group_by_key().count("c")).to("counted")
    by_a = one.select_key(k=col("a")).repartition()
    by_a.group_by_key().aggregate(c=count(), t=sum_("n")).to("by_a")


def _tables(topology: Topology) -> tuple[Table, Table]:
    left = topology.table("t1", key=KEY, value=VALUE)
    return left, topology.table("t2", key=KEY, value=VALUE)


SHAPES: Final[tuple[Define, ...]] = (
    merged,
    merged_under_new_keys,
    merged_behind_joins,
    taken_for_tables,
    reduced,
    cogrouped,
    written_to_topics_of_their_own,
    repartitioned,
)
SHAPES_IN_WINDOWS: Final[tuple[Define, ...]] = (reduced_in_windows,)
SHAPES_IN_SESSIONS: Final[tuple[Define, ...]] = (reduced_in_sessions,)
IN_ONE_STREAM_TIME: Final[tuple[Define, ...]] = (cogrouped_in_windows, cogrouped_in_sessions)
"""Without late records: Kafka Streams has a stream time for each stream of a cogroup."""
