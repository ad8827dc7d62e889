"""Streams that are repartitioned independently of their keys, and the steps that may follow."""

from collections.abc import Callable

import pytest

from duolog import Topology, col, offset
from duolog.core.errors import QueryError, StatementError
from duolog.dsl.streams import Stream, Table
from duolog.plan.cutting.levels import find_levels
from duolog.testing.driver import TopologyDriver
from duolog.testing.reference import ReferenceEvaluator, SinkRecord, SourceRecord

TASKS = 3


def orders(topology: Topology) -> Stream:
    return topology.stream("orders", key="id STRING", value="region BIGINT, n BIGINT")


def written(topology: Topology, regions: list[int | None]) -> list[SinkRecord]:
    """Return the results for orders in these regions, with three tasks."""
    rows = [
        SourceRecord("orders", 0, at, at, f"k{at}".encode(), _row(region, at))
        for at, region in enumerate(regions)
    ]
    return ReferenceEvaluator(topology.build(), tasks=TASKS).run(rows)


def _row(region: int | None, n: int) -> bytes:
    return f'{{"region": {"null" if region is None else region}, "n": {n}}}'.encode()


def test_a_partitioner_chooses_the_task_of_a_record() -> None:
    topology = Topology("t")
    orders(topology).repartition(partitioner=col("region")).to("out")

    records = written(topology, [0, 1, 2, 4])

    assert sorted((record.timestamp_ms, record.task) for record in records) == [
        (0, 0),
        (1, 1),
        (2, 2),
        (3, 1),
    ]


def test_one_partition_sends_all_records_to_one_task_in_time_order() -> None:
    topology = Topology("t")
    orders(topology).repartition(partitions=1).to("out")

    records = written(topology, [0] * 9)

    assert {record.task for record in records} == {0}
    assert [record.timestamp_ms for record in records] == list(range(9))


def test_if_a_partitioner_is_null_the_key_determines_the_partition() -> None:
    topology = Topology("t")
    orders(topology).repartition(partitioner=col("region"), partitions=2).to("out")

    records = written(topology, [None] * 20)

    assert {record.task for record in records} == {0, 1}


def test_a_negative_partition_is_an_error_of_its_record() -> None:
    topology = Topology("t")
    orders(topology).repartition(partitioner=col("region")).to("out")

    with pytest.raises(QueryError) as caught:
        TopologyDriver(topology).input_topic("orders").pipe_input("a", {"region": -1, "n": 1})

    assert "the partition is -1" in (caught.value.detail or "")


def test_each_repartition_of_a_stream_has_its_own_edge() -> None:
    topology = Topology("t")
    stream = orders(topology)
    stream.repartition(partitions=1).to("one")
    stream.repartition(partitioner=col("region")).to("two")
    stream.repartition().to("three")

    edges = find_levels(topology.build()).edges

    assert [edge.repartition is None for edge in edges] == [False, False, True]


def test_an_aggregate_may_follow_a_partitioner_of_the_key() -> None:
    topology = Topology("t")
    counted = orders(topology).repartition(partitioner=col("id").length()).group_by_key().count()
    counted.group_by("count").count("n").to("out")

    assert [edge.repartition is None for edge in find_levels(topology.build()).edges] == [
        False,
        True,
    ]


BEHIND: dict[str, Callable[[Topology, Stream], object]] = {
    "count": lambda _, stream: stream.group_by_key().count().to("out"),
    "table": lambda _, stream: stream.to_table().to("out"),
    "join": lambda topology, stream: stream.join(people(topology)).to("out"),
    "joined": lambda topology, stream: (
        orders(topology).join(stream, within="1 s", prefix="o_").to("out")
    ),
    "join far behind": lambda topology, stream: (
        stream.filter(col("n") > 1).merge(stream).join(people(topology)).to("out")
    ),
}


def people(topology: Topology) -> Table:
    return topology.table("people", key="id STRING", value="name STRING")


@pytest.mark.parametrize("what", BEHIND)
def test_steps_that_need_the_key_in_its_task_are_refused_after_a_partitioner(what: str) -> None:
    topology = Topology("t")
    BEHIND[what](topology, orders(topology).repartition(partitioner=col("region")))

    with pytest.raises(StatementError, match='cannot follow "repartition-2"') as caught:
        topology.build()

    assert caught.value.hint == "Send them back first: .repartition(), or group by another key."
    assert "test_repartition.py" in caught.value.place


@pytest.mark.parametrize("what", BEHIND)
def test_any_step_may_follow_another_repartition(what: str) -> None:
    topology = Topology("t")
    BEHIND[what](topology, orders(topology).repartition(partitioner=offset()).repartition())

    assert topology.build().sinks


def test_invalid_partitions_are_refused() -> None:
    stream = orders(Topology("t"))

    with pytest.raises(StatementError, match="is not a partition"):
        stream.repartition(partitioner=col("id"))
    with pytest.raises(StatementError, match="neither an expression over columns"):
        stream.repartition(partitioner=1)  # type: ignore[arg-type]
    with pytest.raises(StatementError, match="into 0 partitions"):
        stream.repartition(partitions=0)
