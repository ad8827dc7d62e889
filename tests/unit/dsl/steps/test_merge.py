"""Merged streams in the DSL."""

import pytest

from duolog import Topology, col
from duolog.core.errors import StatementError
from duolog.dsl.streams import Stream
from duolog.plan.cutting.levels import Levels, find_levels
from duolog.testing.driver import TopologyDriver


def streams(topology: Topology) -> tuple[Stream, Stream]:
    one = topology.stream("web", key="id BIGINT", value="item STRING, n INT")
    return one, topology.stream("shop", key="id BIGINT", value="n INT, item STRING")


def levels_of(topology: Topology) -> Levels:
    return find_levels(topology.build())


def test_columns_are_reordered_like_those_of_the_first_stream() -> None:
    topology = Topology("t")
    web, shop = streams(topology)
    web.merge(shop).to("all")

    driver = TopologyDriver(topology)
    driver.input_topic("shop").pipe_input(1, {"n": 2, "item": "pen"})

    assert driver.output_topic("all").read_key_values() == [(1, {"item": "pen", "n": 2})]


def test_different_columns_are_refused_naming_both() -> None:
    web, shop = streams(Topology("t"))

    with pytest.raises(StatementError, match='streams "stream-1" and "map-values-3"') as caught:
        web.merge(shop.map_values("item"))

    assert caught.value.detail == (
        "They are key (id BIGINT) value (item STRING, n INT) and key (id BIGINT) value (item STRING)."
    )


def test_a_stream_of_another_topology_is_refused() -> None:
    web, _ = streams(Topology("t"))
    _, other = streams(Topology("u"))

    with pytest.raises(StatementError, match="belongs to another topology"):
        web.merge(other)


def test_topics_are_merged_without_a_shuffle() -> None:
    topology = Topology("t")
    web, shop = streams(topology)
    web.merge(shop).filter(col("n") > 1).to("all")

    assert levels_of(topology).edges == ()
    assert [len(ingress.nodes) for ingress in levels_of(topology).ingresses] == [3, 4]


def test_topics_that_are_merged_share_an_edge_and_a_queue() -> None:
    topology = Topology("t")
    web, shop = streams(topology)
    web.merge(shop).group_by("item").count().to("counted")
    shop.select_key("item").left_join(web.group_by("item").count()).to("joined")

    edges = levels_of(topology).edges

    by_target = {target: [e.queue for e in edges if e.target == target] for target in (0, 1)}
    assert all(len(set(queues)) == 1 for queues in by_target.values())
    assert sum(edge.parent.name == "group-by-5" for edge in edges) == 1


def test_streams_of_one_part_are_merged_in_it() -> None:
    topology = Topology("t")
    web, _ = streams(topology)
    items = topology.table("items", key="id BIGINT", value="price INT")
    names = topology.table("names", key="id BIGINT", value="price INT")
    both = web.join(items).merge(web.left_join(names))
    both.group_by_key().count().to("counted")

    found = levels_of(topology)

    assert len(found.subtopologies) == 1
    assert not any(consumer is both.node for edge in found.edges for consumer in edge.consumers)


def test_shuffled_and_unshuffled_streams_are_merged_over_edges() -> None:
    topology = Topology("t")
    web, shop = streams(topology)
    counted = web.group_by_key().count("n").to_stream().map_values(n=col("n").cast("INT"))
    both = counted.merge(shop.map_values("n"))
    both.group_by_key().count().to("counted")

    edges = [edge for edge in levels_of(topology).edges if both.node in edge.consumers]

    assert [edge.parent for edge in edges] == list(both.node.parents)
    assert {edge.target for edge in edges} == {1}


def test_a_repartitioned_stream_has_an_edge_of_its_own() -> None:
    topology = Topology("t")
    web, _ = streams(topology)
    spread = web.repartition().named("spread").filter(col("n") > 1)
    spread.to("out")
    spread.group_by_key().count().to("counted")

    found = levels_of(topology)

    assert [[c.name for c in edge.consumers] for edge in found.edges] == [["spread"]]
    assert found.edges[0].rekeyed
    assert len(found.subtopologies) == 1


def test_a_shuffled_stream_is_shuffled_again_by_repartition() -> None:
    topology = Topology("t")
    web, _ = streams(topology)
    counted = web.group_by_key().count("n").to_stream()
    counted.repartition().to("out")

    assert [edge.target for edge in levels_of(topology).edges] == [0, 1]
