"""The graph of a spec."""

from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.spec_graph import children_of, parents_first, subtopologies_of

SPEC: Json = {
    "nodes": {
        "0": {"kind": "filter", "children": [1]},
        "1": {"kind": "route", "edge": 0, "children": []},
        "2": {"kind": "table", "children": [3]},
        "3": {"kind": "sink", "children": []},
    },
    "edges": [{"id": 0, "node": 2, "subtopology": 0}],
}


def test_a_route_leads_over_its_edge() -> None:
    assert children_of(SPEC["nodes"]["1"], SPEC) == [2]
    assert parents_first(SPEC) == [0, 1, 2, 3]


def test_nodes_before_the_first_edge_are_in_no_sub_topology() -> None:
    assert subtopologies_of(SPEC) == {2: 0, 3: 0}


def test_a_node_that_two_edges_reach_is_in_the_sub_topology_of_the_first() -> None:
    second = {"id": 1, "node": 3, "subtopology": 1}

    assert subtopologies_of(SPEC | {"edges": [*SPEC["edges"], second]}) == {2: 0, 3: 0}
