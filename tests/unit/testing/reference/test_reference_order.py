"""The order in which a record is processed by a plan, as in `TopologyTestDriver` of Kafka Streams 4.1.

All records have one timestamp, so that only the rules of order decide. Each expected line is what
the same program in Java writes, record by record, with and without a record cache.
"""

import json
from collections.abc import Callable

import pytest

from duolog import Topology, coalesce, col, concat
from duolog.dsl.streams import Stream, Table
from duolog.testing.reference import ReferenceEvaluator, SinkRecord, SourceRecord
from topologies import ms

Define = Callable[[Stream, Table], Stream]


def counted(stream: Stream) -> Table:
    return stream.group_by_key().count("n")


def look_up(stream: Stream, table: Table) -> Stream:
    """Append the table's value of the key to the value."""
    (found,) = table.schema.value
    text = coalesce(col(f"_{found.name}").cast("STRING"), "null")
    joined = stream.left_join(table, on=stream.schema.key[0].name, prefix="_")
    return joined.map_values(v=concat(col("v"), "/", text))


def keep(stream: Stream, table: Table) -> Stream:
    """Join, and discard the joined columns."""
    return stream.left_join(table, on="k", prefix="_").map_values("v")


def by_value(stream: Stream) -> Stream:
    """The value, without the appended text, as the new key."""
    return stream.select_key(w=col("v").substring(1, 1))


def counts_then_filter(s: Stream, _: Table) -> Stream:
    counts = counted(s)
    return look_up(s.filter(col("v") != "1"), counts)


def two_counts(s: Stream, _: Table) -> Stream:
    first = look_up(s, counted(s))
    return look_up(first, counted(s))


def filters_in_the_other_order(s: Stream, _: Table) -> Stream:
    joined, grouped = s.filter(col("v") != "9"), s.filter(col("v") != "8")
    return look_up(joined, counted(grouped))


def counts_under_a_new_key(s: Stream, _: Table) -> Stream:
    return look_up(s, s.group_by("v").count("n"))


def filtered_counts_under_a_new_key(s: Stream, _: Table) -> Stream:
    return look_up(s, s.select_key("v").filter(col("v") != "z").group_by_key().count("n"))


def new_key_joins_counts(s: Stream, _: Table) -> Stream:
    counts = counted(s)
    return look_up(by_value(s), counts)


def new_key_joins_its_own_counts(s: Stream, _: Table) -> Stream:
    rekeyed = by_value(s)
    return look_up(rekeyed, counted(rekeyed))


def joined_before_and_after(s: Stream, _: Table) -> Stream:
    counts = counted(s)
    return look_up(by_value(look_up(s, counts)), counts)


def fed_back(s: Stream, t: Table) -> Stream:
    joined = keep(s, t)
    return look_up(joined, joined.group_by("v").count("n"))


def counts_behind_a_join(s: Stream, t: Table) -> Stream:
    return look_up(s, keep(s, t).group_by("v").count("n"))


def repartitioned_meets_itself(s: Stream, t: Table) -> Stream:
    """Records that passed a topic come after those that did not, whatever parts they passed since."""
    joined = keep(s, t)
    late = joined.filter(col("v") != "9").repartition()
    pairs = late.left_join(joined, within=ms(1), prefix="_", eager=True)
    return pairs.map_values(v=concat(col("v"), "/", coalesce(col("_v"), "null")))


CASES: list[tuple[Define, str, str]] = [
    (lambda s, _: look_up(s, counted(s)), "k0 k1 j2 k3", "k:0/1 k:1/2 j:2/1 k:3/3"),
    (
        lambda s, _: look_up(s, counted(s.filter(col("v") != "1"))),
        "k0 k1 k2 k3",
        "k:0/1 k:1/1 k:2/2 k:3/3",
    ),
    (counts_then_filter, "k0 k1 k2 k3", "k:0/1 k:2/3 k:3/4"),
    (two_counts, "k0 k1", "k:0/1/null k:1/2/1"),
    (filters_in_the_other_order, "k0 k1", "k:0/null k:1/1"),
    (new_key_joins_its_own_counts, "k0 k0 j1 j1", "0:0/1 0:0/2 1:1/1 1:1/2"),
    (counts_under_a_new_key, "kk kk kk", "k:k/null k:k/1 k:k/2"),
    (filtered_counts_under_a_new_key, "kk kk kk", "k:k/null k:k/1 k:k/2"),
    (new_key_joins_counts, "kk kk kk", "k:k/1 k:k/2 k:k/3"),
    (fed_back, "kk kk kk", "k:k/null k:k/1 k:k/2"),
    (joined_before_and_after, "kj jk kj jk", "j:j/1/null k:k/1/1 j:j/2/1 k:k/2/2"),
    (repartitioned_meets_itself, "k0 j1", "k:0/0 j:1/1"),
]


def written_by(define: Define, records: list[list[SourceRecord]], *, cache: bool) -> list[str]:
    """Return the records that the topology writes for these micro-batches."""
    topology = Topology("order")
    stream = topology.stream("s", key="k STRING", value="v STRING")
    define(stream, topology.table("t", key="k STRING", value="w STRING")).to("out")
    evaluator = ReferenceEvaluator(topology.build(), cache=cache)
    return [_shown(record) for batch in records for record in evaluator.run(batch)]


@pytest.mark.parametrize(("define", "given", "expected"), CASES)
def test_records_are_processed_in_the_order_of_kafka_streams(
    define: Define, given: str, expected: str
) -> None:
    records = [
        SourceRecord("s", 0, offset, 0, pair[0].encode(), json.dumps({"v": pair[1]}).encode())
        for offset, pair in enumerate(given.split())
    ]

    assert written_by(define, [records], cache=False) == expected.split()
    assert written_by(define, [[record] for record in records], cache=False) == expected.split()


def test_a_join_with_counts_of_another_sub_topology_sees_earlier_records() -> None:
    """They come from two sub-topologies: at equal timestamps, Kafka Streams does not order them."""
    records = [SourceRecord("s", 0, offset, offset, b"k", b'{"v": "k"}') for offset in range(3)]

    found = written_by(counts_behind_a_join, [records], cache=False)

    assert found == ["k:k/null", "k:k/1", "k:k/2"]


def test_timestamps_out_of_order_do_not_separate_results_of_one_record() -> None:
    times = [9, 2, 7, 1]
    records = [
        SourceRecord("s", 0, offset, at, b"k", b'{"v": "x"}') for offset, at in enumerate(times)
    ]

    found = written_by(filters_in_the_other_order, [records], cache=False)

    assert found == ["k:x/null", "k:x/1", "k:x/2", "k:x/3"]


def _shown(record: SinkRecord) -> str:
    return f"{(record.key or b'').decode()}:{json.loads(record.value or b'{}')['v']}"
