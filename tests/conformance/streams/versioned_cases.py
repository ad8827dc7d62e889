"""Handwritten topologies with versioned tables and their records, for Kafka Streams."""

from typing import Final

from conformance.streams.comparison_cases import SOME, Define
from duolog import Topology, col, concat, count, row_time, sum_
from duolog.dsl.streams import Stream, Table
from topologies import KEY, VALUE, RawRecord, ms


def looked_up_by_time(topology: Topology) -> None:
    """A record joins the row version at its timestamp, also after a filter and a projection."""
    stream, table = _both(topology)
    stream.join(table, prefix="t_").to("inner")
    some = table.filter(col("n") > 0).map_values("n", at=row_time())
    stream.left_join(some, prefix="t_").to("left")


def looked_up_in_a_short_history(topology: Topology) -> None:
    """Versions older than the history are dropped, and only the latest row is found there."""
    stream, table = _both(topology, history=3)
    stream.left_join(table, prefix="t_").to("left")
    table.to("changes")


def versions_that_come_late(topology: Topology) -> None:
    """The table, a filter and a projection forward them; aggregates ignore them."""
    _, table = _both(topology)
    table.to("changes")
    large = table.filter(col("n") > 1)
    large.to("large")
    table.map_values(m=concat(col("a"), "!")).to_stream().to("projected")
    table.group_by("a").aggregate(rows=count(), total=sum_("n")).to("by_a")
    table.group_by("k").count().to("by_key")
    large.group_by("a").count().to("large_by_a")
    table.to_stream().group_by_key().count().to("updates")


def versioned_tables_joined(topology: Topology) -> None:
    """An out-of-order version joins no row; the joined table is not versioned."""
    _, table = _both(topology)
    other = topology.table("t2", key=KEY, value=VALUE, history=ms(40))
    plain = topology.table("t3", key=KEY, value=VALUE)
    both = table.outer_join(other, prefix="o_")
    both.to("both")
    table.filter(col("n") > 0).left_join(plain, prefix="p_").to("with_plain")
    stream = topology.stream("s1", key=KEY, value=VALUE)
    stream.left_join(both, prefix="b_").to("looked_up")


def looked_up_in_a_copy(topology: Topology) -> None:
    """After a new key, the table is stored again, with its versions."""
    stream, table = _both(topology)
    some = table.filter(col("n") > 0)
    joined = stream.left_join(some, prefix="t_").select_key(k=col("a"))
    joined.left_join(some, prefix="again_").to("joined")


def waiting_for_rows(topology: Topology) -> None:
    """Buffered records are emitted by timestamp after the grace period; late ones at once."""
    stream, table = _both(topology)
    some = stream.filter(col("k").is_not_null())
    some.join(table, prefix="t_", grace=ms(4)).to("inner")
    waited = some.left_join(table.map_values("n"), prefix="t_", grace=ms(9))
    waited.to("left")
    waited.group_by("a").count().to("counted")
    some.left_join(table, prefix="t_", grace=ms(0)).to("none")


def versioned_tables_joined_by_a_foreign_key(topology: Topology) -> None:
    """An out-of-order version sends no subscription and no response, on either side."""
    _, table = _both(topology)
    other = topology.table("t2", key=KEY, value=VALUE, history=ms(40))
    table.left_join(other, on=col("a"), prefix="o_").to("left")


def _both(topology: Topology, history: int = 40) -> tuple[Stream, Table]:
    table = topology.table("t1", key=KEY, value=VALUE, history=ms(history))
    return topology.stream("s1", key=KEY, value=VALUE), table


VERSIONED: Final[tuple[Define, ...]] = (
    looked_up_by_time,
    looked_up_in_a_short_history,
    versions_that_come_late,
    versioned_tables_joined,
    looked_up_in_a_copy,
    waiting_for_rows,
)
BY_A_FOREIGN_KEY: Final[tuple[Define, ...]] = (versioned_tables_joined_by_a_foreign_key,)
"""Not with falling times: an unchanged row sends no message that delays later ones."""

OF_VERSIONS: Final[list[RawRecord]] = [
    (topic, key, row, (time * 7 + turn * 3) % 17)
    for turn in range(3)
    for given, key, row, time in SOME
    for topic in {"t1": ["t1", "t2"], "s2": ["t3"]}.get(given, [given])
]
"""The records of the other cases repeated with other times: some late, some too late."""

OF_LATE_VERSIONS: Final[list[RawRecord]] = [
    (topic, key, row, number // 17 * 17 + number * 7 % 17 - number)
    for number, (topic, key, row, _) in enumerate(OF_VERSIONS)
]
"""The same in micro-batches with distinct times: at equal ones topics have no order."""
