"""A plan: its sinks and all nodes upstream of them, in order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions.key_functions import KeyFunction
from duolog.plan.nodes.end import End
from duolog.plan.nodes.for_each import ForEach
from duolog.plan.nodes.global_table import ensure_read_once
from duolog.plan.nodes.loops import ensure_no_loop
from duolog.plan.nodes.node import Node
from duolog.plan.nodes.process import Process
from duolog.plan.nodes.repartition import Repartition, ensure_keys_meet
from duolog.plan.nodes.starting import ensure_one_name, ensure_one_start
from duolog.plan.nodes.topics import Sink, Source


@dataclass(frozen=True, eq=False)
class Plan:
    """Sinks, prints and calls, and all nodes upstream of them.

    `nodes` are in the order in which they were created: parents before children. If a node has
    several children, a record is passed to them in this order, each time all the way down.
    """

    sinks: tuple[Sink, ...]
    nodes: tuple[Node, ...]
    places: Mapping[str, str] = field(default_factory=dict)
    """The source line of each node, by name: `topology.py:12`."""
    place: str = ""
    """The source line that created the topology."""

    def __post_init__(self) -> None:
        if not any(isinstance(node, End | Process) for node in self.nodes):
            raise InvalidPlan(
                "the topology writes nothing",
                hint="End it with to(topic), for_each(function), print() or process(...).",
                place=self.place,
            )
        ensure_no_loop(self.sinks, self.places)
        self._ensure_distinct("node", ((node.name, node) for node in self.nodes))
        self._ensure_distinct(
            "store",
            (
                (store, node)
                for node in self.nodes
                for store in node.stores
                if not _is_shared(store, node, self.nodes)
            ),
        )
        ensure_read_once(self.sources)
        ensure_one_start(self.sources, self.places)
        ensure_one_name(self.sources, self.places)
        ensure_keys_meet(self.nodes, self.places)
        position = {node: index for index, node in enumerate(self.nodes)}
        for node in self.nodes:
            assert all(position[parent] < position[node] for parent in node.parents), node.name

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Source))

    @property
    def calls(self) -> tuple[ForEach, ...]:
        """The functions that are called with records."""
        return tuple(node for node in self.nodes if isinstance(node, ForEach))

    @property
    def key_functions(self) -> dict[str, KeyFunction]:
        """The functions that choose partitions, by the names of their nodes."""
        return key_functions_of(self.nodes)

    def children(self, node: Node) -> tuple[Node, ...]:
        """Return the children of `node`, in order."""
        return tuple(child for child in self.nodes if node in child.parents)

    def _ensure_distinct(self, kind: str, named: Iterable[tuple[str, Node]]) -> None:
        first: dict[str, Node] = {}
        for name, node in named:
            if name in first:
                before = self.places.get(first[name].name, "")
                raise InvalidPlan(
                    f'two {kind}s have the name "{name}"',
                    detail=f"The first one is at {before}." if before else "",
                    hint="Rename one of them.",
                    place=self.places.get(node.name, ""),
                )
            first[name] = node


def key_functions_of(nodes: Iterable[Node]) -> dict[str, KeyFunction]:
    """Return the functions that choose partitions, by the names of their nodes."""
    asking = (node for node in nodes if isinstance(node, Sink | Repartition))
    return {
        node.name: node.partitioner for node in asking if isinstance(node.partitioner, KeyFunction)
    }


def _is_shared(store: str, of: Node, nodes: tuple[Node, ...]) -> bool:
    """Return True if an earlier processor declares an equal store."""
    if not isinstance(of, Process):
        return False
    processors = [node for node in nodes if isinstance(node, Process)]
    before = processors[: processors.index(of)]
    alike = [kept for kept in of.kept if kept.name == store]
    return any(kept in node.kept for node in before for kept in alike)


def plan_of(*ends: End) -> Plan:
    """Return the plan of `ends`, with its nodes in depth-first order."""
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in found:
            for parent in node.parents:
                visit(parent)
            found[node] = None

    for end in ends:
        visit(end)
    return Plan(tuple(end for end in ends if isinstance(end, Sink)), tuple(found))
