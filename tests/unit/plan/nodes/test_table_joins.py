"""Joins of tables: their position in cut plans."""

import pytest

from duolog import Topology, col
from duolog.core.errors import StatementError
from duolog.dsl.streams import Table
from duolog.plan.cutting.levels import Levels, find_levels
from duolog.plan.nodes import Node


def levels_of(topology: Topology) -> Levels:
    return find_levels(topology.build())


def edges_of(levels: Levels) -> list[tuple[str, list[str], int]]:
    return [
        (edge.parent.name, [to.name for to in edge.consumers], edge.target) for edge in levels.edges
    ]


def node_called(name: str, levels: Levels) -> Node:
    return next(node for node in levels.nodes if node.name == name)


def tables(topology: Topology) -> tuple[Table, Table]:
    left = topology.table("prices", key="item STRING", value="price BIGINT")
    return left, topology.table("stock", key="item STRING", value="pieces BIGINT, shelf STRING")


def test_two_tables_and_their_join_are_one_sub_topology_without_an_extra_store() -> None:
    topology = Topology("t")
    left, right = tables(topology)
    left.join(right).to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [("table-1", ["table-1"], 0), ("table-2", ["table-2"], 0)]
    assert levels.subtopologies[0].stores == ("table-1-store", "table-2-store")


def test_successors_of_a_join_follow_both_sides() -> None:
    topology = Topology("t")
    left, right = tables(topology)
    left.outer_join(right).to("out")

    levels = levels_of(topology)

    this, other, join, sink = levels.plan.nodes[2:]
    assert levels.successors(left.node) == (this,)
    assert levels.successors(right.node) == (other,)
    assert levels.successors(this) == levels.successors(other) == (join,)
    assert levels.successors(join) == (sink,)


def test_a_table_is_copied_if_the_other_table_depends_on_its_part() -> None:
    topology = Topology("t")
    prices, stock = tables(topology)
    counted = stock.group_by(item=col("shelf")).count("n")
    stock.left_join(counted).join(prices).to("out")

    levels = levels_of(topology)

    assert edges_of(levels) == [
        ("table-2", ["table-2"], 0),
        ("table-1", ["table-1"], 1),
        ("table-2", ["table-2-copy-2"], 1),
        ("group-by-3", ["aggregate-4"], 1),
    ]
    copy = levels.edges[2].consumers[0]
    assert levels.successors(copy) == (node_called("table-left-join-this-5", levels),)


def test_swapping_the_sides_does_not_change_where_tables_are_stored() -> None:
    topology = Topology("t")
    _, stock = tables(topology)
    counted = stock.group_by(item=col("shelf")).count("n")
    counted.left_join(stock).to("out")

    levels = levels_of(topology)

    copy = next(edge.consumers[0] for edge in levels.edges if edge.target == 1)
    assert copy.name == "table-2-copy-2"
    assert levels.successors(copy) == (node_called("table-left-join-other-6", levels),)


def test_a_copied_join_of_aggregates_makes_both_forward_each_update_at_once() -> None:
    topology = Topology("t")
    events = topology.stream("events", key="k STRING", value="other STRING, n BIGINT")
    one = events.group_by_key().count("ones")
    two = events.filter(col("n") > 0).group_by_key().count("twos")
    joined = one.outer_join(two)
    by_other = events.left_join(joined).select_key("other")
    by_other.left_join(joined, on="other", prefix="of_other_").to("out")

    copied = levels_of(topology).cut.copied

    assert copied == {one.node, two.node}


def test_keys_of_other_types_are_refused() -> None:
    topology = Topology("t")
    left, _ = tables(topology)
    numbers = topology.table("numbers", key="item BIGINT", value="n BIGINT")

    with pytest.raises(StatementError, match="cannot join table") as caught:
        left.join(numbers)

    assert "(item STRING) and (item BIGINT)" in caught.value.detail


def test_each_side_reads_only_the_columns_its_result_needs() -> None:
    topology = Topology("t")
    left, right = tables(topology)
    joined = left.join(right, select={"price": col("price"), "shelf": col("shelf")}).node

    for side in joined.parents:
        assert side.reads(left.node, frozenset({"price", "shelf"})) == {"price"}
        assert side.reads(right.node, frozenset({"price", "shelf"})) == {"shelf"}
        assert side.reads(right.node, frozenset({"price"})) == set()
