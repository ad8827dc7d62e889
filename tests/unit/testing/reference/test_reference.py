import json
from collections.abc import Iterable

import pytest

from duolog import Topology, acc, avg, col, concat, count, lit, max_, min_, sliding, sum_
from duolog.plan.partitioner import partition_of
from duolog.testing.reference import ReferenceEvaluator, SinkRecord, SourceRecord, latest

Given = tuple[str, int, str | None, object]
"""Topic, timestamp, key, and the value as JSON object (None: a null value)."""


def records(given: Iterable[Given], partition: int = 0) -> list[SourceRecord]:
    return [
        SourceRecord(
            topic,
            partition,
            offset,
            timestamp_ms,
            None if key is None else key.encode(),
            None if value is None else json.dumps(value).encode(),
        )
        for offset, (topic, timestamp_ms, key, value) in enumerate(given)
    ]


def shown(written: Iterable[SinkRecord]) -> list[tuple[str | None, object]]:
    return [
        (
            None if record.key is None else record.key.decode(),
            None if record.value is None else json.loads(record.value),
        )
        for record in written
    ]


def evaluate(
    topology: Topology, *given: Given, cache: bool = False
) -> list[tuple[str | None, object]]:
    return shown(ReferenceEvaluator(topology.build(), cache=cache).run(records(given)))


def test_a_table_is_updated_row_by_row() -> None:
    """An event with key bob, another, one with a null value, and one with a null key."""
    topology = Topology("duality")
    topology.table("users", key="name STRING", value="city STRING").to("out")

    found = evaluate(
        topology,
        ("users", 1, "bob", {"city": "Oslo"}),
        ("users", 2, "bob", {"city": "Rome"}),
        ("users", 3, "bob", None),
        ("users", 4, None, {"city": "Bonn"}),
    )

    assert found == [("bob", {"city": "Oslo"}), ("bob", {"city": "Rome"}), ("bob", None)]


def test_a_filter_on_a_table_deletes_a_row_that_no_longer_passes() -> None:
    topology = Topology("filter")
    users = topology.table("users", key="name STRING", value="age BIGINT")
    users.filter(col("age") > 17).to("out")

    found = evaluate(
        topology,
        ("users", 1, "kim", {"age": 17}),
        ("users", 2, "kim", {"age": 18}),
        ("users", 3, "kim", {"age": None}),
        ("users", 4, "kim", {"age": 3}),
        ("users", 5, "lee", None),
    )

    assert found == [("kim", {"age": 18}), ("kim", None)]


def joined(kind: str) -> Topology:
    topology = Topology("join")
    airlines = topology.table("airlines", key="id STRING", value="name STRING")
    flights = topology.stream("flights", key="carrier STRING", value="delay BIGINT")
    join = flights.join if kind == "inner" else flights.left_join
    join(airlines, on="carrier").to("out")
    return topology


JOIN_INPUT: list[Given] = [
    ("flights", 1, "UA", {"delay": 1}),
    ("airlines", 2, "UA", {"name": "United"}),
    ("flights", 3, "UA", {"delay": 2}),
    ("flights", 4, "UA", None),
    ("flights", 5, None, {"delay": 3}),
    ("airlines", 6, "UA", None),
    ("flights", 7, "UA", {"delay": 4}),
]


def test_an_inner_join_uses_the_row_of_its_time_and_drops_unmatched_records() -> None:
    assert evaluate(joined("inner"), *JOIN_INPUT) == [("UA", {"delay": 2, "name": "United"})]


def test_a_left_join_forwards_records_without_match_or_key() -> None:
    assert evaluate(joined("left"), *JOIN_INPUT) == [
        ("UA", {"delay": 1, "name": None}),
        ("UA", {"delay": 2, "name": "United"}),
        (None, {"delay": 3, "name": None}),
        ("UA", {"delay": 4, "name": None}),
    ]


def test_a_join_can_look_up_a_filtered_and_mapped_table() -> None:
    topology = Topology("derived")
    airlines = topology.table("airlines", key="id STRING", value="name STRING")
    big = airlines.filter(col("name") != "Tiny").map_values(label=col("name").upper())
    topology.stream("flights", key="carrier STRING", value="delay BIGINT").left_join(
        big, on="carrier"
    ).to("out")

    found = evaluate(
        topology,
        ("airlines", 1, "UA", {"name": "United"}),
        ("airlines", 1, "TY", {"name": "Tiny"}),
        ("flights", 2, "UA", {"delay": 1}),
        ("flights", 3, "TY", {"delay": 2}),
    )

    assert found == [("UA", {"delay": 1, "label": "UNITED"}), ("TY", {"delay": 2, "label": None})]


def test_at_equal_times_the_table_is_first() -> None:
    found = evaluate(
        joined("inner"), ("flights", 5, "UA", {"delay": 1}), ("airlines", 5, "UA", {"name": "U"})
    )

    assert found == [("UA", {"delay": 1, "name": "U"})]


def test_aggregates_ignore_nulls() -> None:
    topology = Topology("nulls")
    topology.stream("flights", key="carrier STRING", value="delay BIGINT").group_by_key().aggregate(
        n=count(),
        known=count("delay"),
        total=sum_("delay"),
        mean=avg("delay"),
        low=min_("delay"),
        high=max_("delay"),
    ).to("out")

    found = evaluate(
        topology,
        ("flights", 1, "UA", {"delay": None}),
        ("flights", 2, "UA", {"delay": 4}),
        ("flights", 3, "UA", None),
        ("flights", 4, None, {"delay": 9}),
        ("flights", 5, "UA", {"delay": -1}),
    )

    assert [value for _, value in found] == [
        {"n": 1, "known": 0, "total": None, "mean": None, "low": None, "high": None},
        {"n": 2, "known": 1, "total": 4, "mean": 4.0, "low": 4, "high": 4},
        {"n": 3, "known": 2, "total": 3, "mean": 1.5, "low": -1, "high": 4},
    ]


def test_a_result_has_the_latest_timestamp_of_its_records() -> None:
    topology = Topology("time")
    topology.stream("a", key="k STRING", value="x BIGINT").group_by_key().count().to("out")

    given: list[Given] = [("a", 5, "k", {"x": 1}), ("a", 3, "k", {"x": 1})]
    written = ReferenceEvaluator(topology.build()).run(records(given))

    assert [record.timestamp_ms for record in written] == [5, 5]


def by_city() -> Topology:
    topology = Topology("cities")
    users = topology.table("users", key="name STRING", value="city STRING, age BIGINT")
    users.group_by("city").aggregate(users=count(), years=sum_("age")).to("out")
    return topology


def test_a_row_that_moves_leaves_its_old_group_first() -> None:
    found = evaluate(
        by_city(),
        ("users", 1, "bob", {"city": "Oslo", "age": 30}),
        ("users", 2, "eve", {"city": "Oslo", "age": None}),
        ("users", 3, "bob", {"city": "Rome", "age": 31}),
        ("users", 4, "eve", None),
        ("users", 5, "bob", {"city": None, "age": 31}),
    )

    assert found == [
        ("Oslo", {"users": 1, "years": 30}),
        ("Oslo", {"users": 2, "years": 30}),
        ("Oslo", {"users": 1, "years": None}),
        ("Rome", {"users": 1, "years": 31}),
        ("Oslo", {"users": 0, "years": None}),
        ("Rome", {"users": 0, "years": None}),
    ]


def test_a_row_that_changes_within_its_group_is_one_update() -> None:
    found = evaluate(
        by_city(),
        ("users", 1, "bob", {"city": "Oslo", "age": 30}),
        ("users", 2, "bob", {"city": "Oslo", "age": 32}),
    )

    assert found[1:] == [("Oslo", {"users": 1, "years": 32})]


def test_a_custom_aggregate_keeps_its_accumulators() -> None:
    topology = Topology("own")
    topology.stream("a", key="k STRING", value="x BIGINT, y STRING").group_by_key().aggregate(
        initializer={"n": lit(0), "path": lit("")},
        adder={"n": acc("n") + col("x"), "path": concat(acc("path"), col("y"))},
        double=acc("n") * 2,
        path=acc("path"),
    ).to("out")

    found = evaluate(topology, ("a", 1, "k", {"x": 2, "y": "p"}), ("a", 2, "k", {"x": 3, "y": "q"}))

    assert [value for _, value in found] == [
        {"double": 4, "path": "p"},
        {"double": 10, "path": "pq"},
    ]


def test_the_cache_forwards_the_last_update_of_each_key_in_their_order() -> None:
    topology = Topology("cached")
    counts = topology.stream("a", key="k STRING", value="x BIGINT").group_by_key().count("n")
    counts.to("counts")
    counts.group_by("n").count("keys").to("by-count")

    evaluator = ReferenceEvaluator(topology.build(), cache=True)
    keys = ["p", "q", "p", "r", "p"]
    first = evaluator.run(records([("a", at, key, {"x": 1}) for at, key in enumerate(keys)]))
    second = evaluator.run(records([("a", 9, "q", {"x": 1})]))

    assert [(r.key, r.value) for r in first if r.topic == "counts"] == [
        (b"q", b'{"n":1}'),
        (b"r", b'{"n":1}'),
        (b"p", b'{"n":3}'),
    ]
    assert [(r.key, r.value) for r in second if r.topic == "by-count"] == [
        ((1).to_bytes(8, "big"), b'{"keys":1}'),
        ((2).to_bytes(8, "big"), b'{"keys":1}'),
    ]


def test_unreadable_records_are_dropped_and_counted() -> None:
    topology = Topology("bad")
    topology.stream("a", key="k STRING", value="x BIGINT").to("out")
    evaluator = ReferenceEvaluator(topology.build())

    written = evaluator.run(
        [SourceRecord("a", 0, 0, 1, b"k", b"{"), SourceRecord("a", 0, 1, 1, b"k", b'{"x":1}')]
    )

    assert evaluator.dropped == 1
    assert shown(written) == [("k", {"x": 1})]


def test_inputs_are_merged_by_the_timestamp_of_their_next_records() -> None:
    """A late record delays only the records after it in its partition."""
    one: list[Given] = [("a", at, f"one-{at}", {"x": 0}) for at in (5, 1, 7)]
    two: list[Given] = [("a", at, f"two-{at}", {"x": 0}) for at in (4, 5, 6)]
    topology = Topology("order")
    topology.stream("a", key="k STRING", value="x BIGINT").group_by("x").aggregate(
        initializer={"last": lit("")}, adder={"last": col("k")}
    ).to("out")

    written = ReferenceEvaluator(topology.build()).run(
        [*records(two, partition=1), *records(one, partition=0)]
    )

    assert [json.loads(record.value or b"")["last"] for record in written] == [
        "two-4",
        "one-5",
        "one-1",
        "two-5",
        "two-6",
        "one-7",
    ]


@pytest.mark.parametrize("tasks", [1, 2, 5])
def test_a_key_is_written_by_the_task_of_kafkas_partitioner(tasks: int) -> None:
    topology = Topology("tasks")
    topology.stream("a", key="k STRING", value="x BIGINT").group_by_key().count().to("out")
    given: list[Given] = [("a", at, f"key-{at}", {"x": 1}) for at in range(20)]

    written = ReferenceEvaluator(topology.build(), tasks=tasks).run(records(given))

    assert all(record.task == partition_of(record.key or b"", tasks) for record in written)


def test_a_deleted_key_is_not_in_the_latest_table() -> None:
    written = [
        SinkRecord("t", 0, 1, b"a", b"1"),
        SinkRecord("t", 0, 2, b"b", b"2"),
        SinkRecord("t", 0, 3, b"a", None),
    ]

    assert latest(written, "t") == {b"b": b"2"}


@pytest.mark.parametrize("cache", [True, False])
def test_a_sliding_window_changed_twice_by_one_record_is_a_single_window(*, cache: bool) -> None:
    """It starts directly after the previous record, and ends with this one."""
    topology = Topology("windows")
    stream = topology.stream("in", key="k STRING", value="n BIGINT")
    windowed = stream.group_by_key().windowed_by(sliding("12 ms", grace="0 ms"))
    windowed.count("c").group_by("window_start").count("keys").to("out")

    found = evaluate(topology, *(("in", at, "y", {"n": 1}) for at in (46, 51, 64)), cache=cache)

    assert found
    assert all(row in ({"keys": 0}, {"keys": 1}) for _, row in found), found
