"""Ways that part and merge again: chained there are more of them than can be gone, and all steps of a start end."""

from collections.abc import Callable

import pytest

from duolog import Topology, col
from duolog.dsl.streams import Stream
from duolog.engine.checkpoint.shape_difference import first_difference
from duolog.engine.json_object import Json
from unit.engine.lowering.shapes import shape_of_topology

End = Callable[[Topology, Stream], object]
# Two ways through each: 2 ** 24 ways in all.
MANY = 24


def diamonds(
    end: End, *, many: int = MANY, first: int = 0, shuffled: bool = False, limit: int = 5
) -> Topology:
    topology = Topology("diamonds")
    stream = topology.stream("numbers", key="k STRING", value="a INT, b INT")
    if shuffled:
        stream = stream.repartition()
    for number in range(many):
        one = stream.filter(col("a") > (limit if number == first else 5))
        stream = one.map_values("b", a=col("a") + 1).merge(stream.filter(col("b") > 5))
    end(topology, stream)
    return topology


def counted(_topology: Topology, stream: Stream) -> None:
    stream.group_by_key().count().to("out")


def kept(_topology: Topology, stream: Stream) -> None:
    stream.to_table().to("out")


def joined(topology: Topology, stream: Stream) -> None:
    names = topology.global_table("names", key="id INT", value="name STRING")
    stream.join(names, on="a").to("out")


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("end", [counted, kept, joined])
def test_shapes_are_computed_per_node_and_not_per_path(
    end: End,
    shuffled: bool,  # noqa: FBT001
) -> None:
    topology = diamonds(end, shuffled=shuffled)
    nodes = len(topology.build().nodes)

    assert len(topology.describe().splitlines()) < 10 * nodes
    assert len(topology.describe("kafka-streams").splitlines()) < 10 * nodes
    assert len(str(shape_of_topology(topology))) < 100_000


@pytest.mark.parametrize("first", [0, MANY // 2, MANY - 1])
def test_what_many_ways_bring_to_a_table_is_compared_and_written_short(first: int) -> None:
    def shape(limit: int) -> Json:
        return shape_of_topology(diamonds(kept, first=first, limit=limit))

    assert first_difference(shape(5), shape(5)) == ""
    assert "has changed" in first_difference(shape(5), shape(6))


def test_few_paths_are_described_one_by_one() -> None:
    (layout,) = shape_of_topology(diamonds(kept, many=2))["stores"].values()

    assert layout["filters"].count("or") == 3
