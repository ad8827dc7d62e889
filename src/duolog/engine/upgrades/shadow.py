"""The part of a new topology that rebuilds stores while the old application runs.

    sources ─▶ sub-topologies of rebuilt stores, and those upstream          the rest is left out
                    └─▶ sinks: only to topics that the old topology does not write

Results that the old topology writes meanwhile are not duplicated: a sink to one of its topics
starts after the upgrade. A topic that was not read before is read only here, so results that depend
on such topics alone are written here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.spec_graph import children_of, subtopologies_of
from duolog.engine.upgrades.comparison import Comparison
from duolog.engine.upgrades.renaming import filled_by

_OF_ALL: Final = ("name", "table", "key_types", "value_types")
"""The fields that nodes of all kinds have."""
_NOTHING: Final[Json] = {"kind": "filter", "predicate": "false", "versioned": False}


@dataclass(frozen=True, slots=True)
class Shadow:
    """A part of a topology, and the stores that it fills."""

    spec: Json
    stores: frozenset[str]
    """The names, in Spark's state, of the stores that are rebuilt."""
    topics: frozenset[str]
    """The topics that it reads."""


def shadow_of(spec: Json, found: Comparison, written: Collection[str] | None) -> Shadow:
    """Return the part that rebuilds the stores that an upgrade cannot keep.

    Args:
        spec: the spec of the new topology.
        found: the comparison of its stores.
        written: the topics that the old topology writes; None if they are unknown.
    """
    graph = _Graph(spec)
    rebuilt = {change.store for change in found.begins_empty}
    while True:
        parts = graph.above({found.subtopologies[store] for store in rebuilt})
        topics = graph.topics_to(parts)
        first_read = topics - set(found.old_topics)
        # After the upgrade these records are not read again.
        also = {
            change.store
            for change in found.of("keeps", "new")
            if first_read & set(change.topics) and change.store not in rebuilt
        }
        if not also:
            break
        rebuilt |= also

    def is_told(number: int) -> bool:
        node = spec["nodes"][str(number)]
        above = graph.leading_to(number)
        of_new_topics = {topic for n in above for topic in graph.sources.get(n, ())} <= first_read
        sink = spec["sinks"][node["sink"]]
        anywhere = node.get("topic") is not None  # Records choose the topic.
        if written is None or anywhere or sink.get("call") or sink["topic"] in written:
            return of_new_topics
        stores = {store for n in above for store in filled_by(spec["nodes"][str(n)])}
        return of_new_topics or bool(stores & rebuilt)

    kept = found.kept.keys() - rebuilt
    in_state = {store for store, part in found.subtopologies.items() if part in parts}
    told = {n for n in graph.of_kind("sink") if is_told(n)}
    return Shadow(graph.pruned(parts, told), frozenset(in_state - kept), frozenset(topics))


class _Graph:
    """A spec as a graph, from its sources downstream."""

    def __init__(self, spec: Json) -> None:
        self._spec = spec
        self._nodes: dict[int, Json] = {int(n): node for n, node in spec["nodes"].items()}
        self._parts = subtopologies_of(spec)
        self._targets = {edge["id"]: edge["subtopology"] for edge in spec["edges"]}
        self._parents: dict[int, set[int]] = {}
        for number, node in self._nodes.items():
            for child in children_of(node, spec):
                self._parents.setdefault(child, set()).add(number)
        self.sources: dict[int, set[str]] = {}
        for source in spec["sources"]:
            for child in source["children"]:
                self.sources.setdefault(child, set()).add(source["topic"])

    def of_kind(self, kind: str) -> list[int]:
        return [number for number, node in self._nodes.items() if node["kind"] == kind]

    def leading_to(self, number: int) -> set[int]:
        """Return a node and everything upstream of it."""
        found, fresh = {number}, [number]
        while fresh:
            more = self._parents.get(fresh.pop(), set()) - found
            found |= more
            fresh += more
        return found

    def above(self, parts: set[int]) -> set[int]:
        """Return sub-topologies, and those whose records reach them."""
        found = set(parts)
        while True:
            more = {
                part
                for route in self._routes_to(found)
                for number in self.leading_to(route)
                if (part := self._parts.get(number)) is not None
            }
            if more <= found:
                return found
            found |= more

    def topics_to(self, parts: set[int]) -> set[str]:
        """Return the topics whose records reach sub-topologies."""
        return {
            topic
            for route in self._routes_to(parts)
            for number in self.leading_to(route)
            for topic in self.sources.get(number, ())
        }

    def pruned(self, parts: set[int], told: set[int]) -> Json:
        """Return the spec without prints, and without paths to other sub-topologies and sinks.

        The other sub-topologies stay, as nodes read each other's stores, but nothing is routed to
        them.
        """
        left_out = set(self.of_kind("print")) | (set(self.of_kind("sink")) - told)
        left_out |= {
            route
            for route in set(self.of_kind("route")) - self._routes_to(parts)
            if self._parts.get(route) in {None, *parts}
        }
        keep = {n for n in self._parts if self._nodes[n].get("store")}
        useful = self._leading_to(told | self._routes_to(parts) | keep, left_out)
        entered = {edge["node"] for edge in self._spec["edges"]}

        def without(node: Json) -> Json:
            kept = [at for at, child in enumerate(node["children"]) if child in useful]
            found = node | {"children": [node["children"][at] for at in kept]}
            if node.get("kind") == "split":
                found["branches"] = [node["branches"][at] for at in kept]
            return found

        def left(number: str, node: Json) -> Json:
            if int(number) in entered - useful:
                # Records may still arrive here, but the output of the node is not read.
                of_all = {part: node[part] for part in _OF_ALL if part in node}
                return of_all | _NOTHING | {"children": []}
            return without(node)

        spec = self._spec | {
            "nodes": {number: left(number, node) for number, node in self._spec["nodes"].items()},
            "sources": [
                read for source in self._spec["sources"] if (read := without(source))["children"]
            ],
        }
        if "ticks" in spec:
            ticks = without(spec.pop("ticks"))
            spec |= {"ticks": ticks} if ticks["children"] else {}
        return spec

    def _leading_to(self, ends: set[int], left_out: set[int]) -> set[int]:
        """Return nodes and everything upstream, without paths through the excluded nodes."""
        found = ends - left_out
        fresh = list(found)
        while fresh:
            more = self._parents.get(fresh.pop(), set()) - found - left_out
            found |= more
            fresh += more
        return found

    def _routes_to(self, parts: set[int]) -> set[int]:
        return {
            number
            for number in self.of_kind("route")
            if self._targets[self._nodes[number]["edge"]] in parts
        }
