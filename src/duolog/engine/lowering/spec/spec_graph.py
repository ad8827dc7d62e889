"""The graph of a spec: children of nodes, their order, and the sub-topologies they are in."""

from graphlib import TopologicalSorter

from duolog.engine.json_object import Json


def children_of(parent: Json, spec: Json) -> list[int]:
    """Return the children of a node, including those over an edge."""
    if parent.get("kind") == "route":
        return [spec["edges"][parent["edge"]]["node"]]
    children: list[int] = parent["children"]
    return children


def parents_first(spec: Json) -> list[int]:
    sorter = TopologicalSorter[int]()
    for node_id, node in spec["nodes"].items():
        sorter.add(int(node_id))
        for child in children_of(node, spec):
            sorter.add(child, int(node_id))
    return list(sorter.static_order())


def subtopologies_of(spec: Json) -> dict[int, int]:
    """Return the sub-topology of each node; nodes upstream of the first cut have none."""
    found: dict[int, int] = {}
    for edge in spec["edges"]:
        inside = [edge["node"]]
        for node_id in inside:
            node = spec["nodes"][str(node_id)]
            if node_id not in found:
                found[node_id] = edge["subtopology"]
                inside += node["children"]
    return found
