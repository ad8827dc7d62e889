"""Handwritten topologies with global tables and their records, for Kafka Streams."""

from typing import Final

from conformance.streams.comparison_cases import SOME, Define
from duolog import Topology, coalesce, col, concat, count, row_time, sum_
from duolog.dsl.joins.global_tables import GlobalTable
from duolog.dsl.streams import Stream
from topologies import GLOBAL, KEY, VALUE, RawRecord


def looked_up_by_value(topology: Topology) -> None:
    """Each record keeps its key; only the left join keeps a record without a lookup key."""
    stream, table = _both(topology)
    stream.join(table, on="a", prefix="g_").to("inner")
    stream.left_join(table, on="a", prefix="g_").to("left")


def looked_up_by_key(topology: Topology) -> None:
    """A record without a key finds no row."""
    stream, table = _both(topology)
    stream.join(table, on="k", prefix="g_").to("inner")
    stream.left_join(table, prefix="g_", select={"found": col("g_n"), "at": row_time()}).to("left")


def looked_up_by_an_expression(topology: Topology) -> None:
    """The lookup key is computed from key and value; the record keeps its own key."""
    stream, table = _both(topology)
    key = coalesce(col("a"), concat(col("k"), ""))
    joined = stream.filter(col("n") > 0).left_join(table, on=key, prefix="g_")
    joined.group_by_key().aggregate(rows=count(), total=sum_("g_n")).to("by_key")
    joined.select_key(k=col("g_a")).join(table, on="g_a", prefix="h_").to("again")


def looked_up_behind_an_aggregate(topology: Topology) -> None:
    """The join is part of two sub-topologies, downstream of the other's results."""
    stream, table = _both(topology)
    counted = stream.join(table, on="a", prefix="g_").group_by("g_a").count("c")
    changes = counted.to_stream()
    changes.left_join(table, on="g_a", prefix="h_").to("counted")
    by_count = changes.select_key(c=col("c"))
    by_count.join(table, on="g_a", prefix="h_").group_by_key().count("groups").to("by_count")


def looked_up_beside_a_table(topology: Topology) -> None:
    """A global table and another one, looked up by one stream."""
    stream, table = _both(topology)
    other = topology.table("t1", key=KEY, value=VALUE)
    both = stream.left_join(other, prefix="t_").left_join(table, on="t_a", prefix="g_")
    both.to("both")
    other.to_stream().join(table, on="a", prefix="g_").to("changes")


def _both(topology: Topology) -> tuple[Stream, GlobalTable]:
    table = topology.global_table(GLOBAL, key=KEY, value=VALUE)
    return topology.stream("s1", key=KEY, value=VALUE), table


OF_GLOBAL_TABLES: Final[tuple[Define, ...]] = (
    looked_up_by_value,
    looked_up_by_key,
    looked_up_by_an_expression,
    looked_up_behind_an_aggregate,
    looked_up_beside_a_table,
)

WITH_GLOBAL_ROWS: Final[list[RawRecord]] = [
    (topic, key, row, time)
    for given, key, row, time in SOME
    for topic in ([GLOBAL, given] if given == "t1" else [given])
]
"""The records of the other cases; a table's are a global table's too."""
