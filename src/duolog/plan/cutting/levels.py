"""Orders the parts of a plan in levels, with the edges between them.

    airlines ─────────────────┐                      airports ─────┐
                          edge 0 ▼                             edge 2 ▼
    flights ── filter ── edge 1 ► JOIN ── select_key ── edge 3 ► JOIN ── AGGREGATE by dest ── sink
    └─────────────────┘  │           │   └────────────┘│                    │
          ingress        │   level 0                   │     └── group_by ── edge 4 ► AGGREGATE
                         └─────────────────────────────┘       level 1      by carrier ── sink
                                                                                 level 2

Records are shuffled to the task of their key at an *edge* (see `cuts`). A node without state stays
with its parent: before the first edge it is part of the *ingress* of its source, after it part of
the parent's sub-topology. A merge of streams is in the ingress of each. The connected parts are the
*sub-topologies*. The level of a sub-topology is the longest path of edges to it from another one.
Every node is in one place only, so nothing is computed twice.

Sub-topologies of one level do not read each other, so one operator can run a whole level.

**Order.** Edges from one topic, or from one sub-topology, into one sub-topology form one *queue*:
the results of one record arrive together, in the order of the plan, and before those of the next
record. As in Kafka Streams, results with a new key arrive after results that kept their key: Kafka
Streams writes the former to a repartition topic, which is read when the record has been processed.
So of two edges, the one whose records would have passed fewer repartition topics comes first.

Source: Kafka Streams `PartitionGroup`, `StreamTask`; its repartition topics are edges.
"""

from dataclasses import dataclass
from itertools import combinations

from duolog.plan.cutting.cuts import Cut, TableCopy, cut_plan, path_of
from duolog.plan.nodes import (
    GlobalTableSource,
    Node,
    Plan,
    Repartition,
    Sink,
    Source,
    TableSource,
)
from duolog.plan.types import Column

_Way = tuple[Node, int, bool, Repartition | None]
"""The records of one edge: last node, target, whether the key is new, chosen Repartition."""


@dataclass(frozen=True, eq=False)
class Edge:
    """Records that are shuffled to the tasks of a sub-topology by the key of `parent`.

    `parent` is the last node before the shuffle. For a table source it is the source itself: the
    edge carries upserts that its store has not seen. `consumers` is then the same source, which
    turns each upsert into a change, or a copy of it.
    """

    id: int
    parent: Node
    consumers: tuple[Node, ...]
    origin: int | None
    """The sub-topology that sends the records; None if they come from a source's ingress."""
    target: int
    queue: int
    """The first edge of its queue. At equal timestamps queues are read in this order."""
    rekeyed: bool
    """True if Kafka Streams would write a repartition topic: a new key, or an explicit request."""

    @property
    def carries_changes(self) -> bool:
        """True if records carry the old row as well as the new one."""
        only_copies = all(isinstance(node, TableCopy) for node in self.consumers)
        return self.parent.is_table and not isinstance(self.parent, TableSource) and not only_copies

    @property
    def repartition(self) -> Repartition | None:
        """The node that chooses the tasks; None if the key does."""
        (first, *_) = self.consumers
        return first if isinstance(first, Repartition) and first.leaves_key_tasks else None

    @property
    def everywhere(self) -> bool:
        """True if every task receives each record: a row of a global table."""
        return isinstance(self.parent, GlobalTableSource)

    @property
    def key(self) -> tuple[Column, ...]:
        """The columns that choose a task; for a windowed key without its window."""
        return self.parent.schema.inner_key


@dataclass(frozen=True, eq=False)
class Ingress:
    """A source, and the nodes without state directly after it, before any edge."""

    source: Source
    nodes: tuple[Node, ...]
    """In the plan's order, including sinks, without the source."""


@dataclass(frozen=True, eq=False)
class SubTopology:
    """Nodes that run together in each task, with the stores that they share."""

    id: int
    level: int
    inputs: tuple[Edge, ...]
    """By rank: at equal timestamps the first input is read first."""
    nodes: tuple[Node, ...]
    """In the plan's order; a table source is in its store's sub-topology, and copies are last."""

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Sink))

    @property
    def stores(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(store for node in self.nodes for store in node.stores))


@dataclass(frozen=True, eq=False)
class Level:
    """Sub-topologies of one depth."""

    subtopologies: tuple[SubTopology, ...]


@dataclass(frozen=True, eq=False)
class Levels:
    """A plan, cut into levels. The index in `edges` and `sinks` is the id."""

    plan: Plan
    levels: tuple[Level, ...]
    ingresses: tuple[Ingress, ...]
    edges: tuple[Edge, ...]
    sinks: tuple[Sink, ...]
    tasks: int
    cut: Cut

    @property
    def subtopologies(self) -> tuple[SubTopology, ...]:
        return tuple(part for level in self.levels for part in level.subtopologies)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The plan's nodes, then the copies of tables."""
        return self.cut.nodes

    def successors(self, node: Node) -> tuple[Node | Edge, ...]:
        """Return the next nodes and edges for records of `node`, in order.

        Each edge occurs once, at the position of its first consumer. A join is not a successor of
        its table. For a table source, these are the successors of its store; the source's own edges
        are not included.
        """
        leaving = {
            consumer: edge
            for edge in self.edges
            if edge.parent is node and edge not in self.feeds(node)
            for consumer in edge.consumers
        }
        children = (child for child in self.nodes if node in self._drivers(child))
        fed = {consumer for edge in self.feeds(node) for consumer in edge.consumers}
        return tuple(
            dict.fromkeys(leaving.get(child, child) for child in children if child not in fed)
        )

    def _drivers(self, node: Node) -> tuple[Node, ...]:
        return tuple(self.looked_up(node, above) for above in node.drivers)

    def feeds(self, node: Node) -> tuple[Edge, ...]:
        """Return the edges that carry the upserts of a table's topic to its store and copies."""
        if not isinstance(node, TableSource):
            return ()
        return tuple(edge for edge in self.edges if edge.parent is node)

    def task_key(self, edge: Edge) -> tuple[Column, ...]:
        """Return an edge's key as it chooses a task, with the columns of its target's first edge.

        Records that meet in a task have keys of the same types, but possibly with different names.
        Some formats write names into a key's bytes, so that equal keys would be sent to different
        tasks.
        """
        types = [column.type for column in edge.key]
        return next(
            other.key
            for other in self.edges
            if other.target == edge.target and [column.type for column in other.key] == types
        )

    def looked_up(self, reader: Node, table: Node) -> Node:
        """Return the node with the rows of `table` for `reader`: the table, or a copy."""
        return self.cut.copies.get((reader, table), table)


def find_levels(plan: Plan, tasks: int = 1) -> Levels:
    """Cut `plan` into levels, for `tasks` tasks in each sub-topology."""
    assert tasks >= 1, tasks
    cut = cut_plan(plan)
    in_order = dict.fromkeys(cut.parts[node] for node in cut.nodes if cut.parts[node] in cut.depths)
    order = sorted(in_order, key=lambda part: cut.depths[part])
    ids = {part: number for number, part in enumerate(order)}
    edges = _edges(cut, {node: ids.get(part) for node, part in cut.parts.items()})
    levels: list[list[SubTopology]] = [[] for _ in range(max(cut.depths.values(), default=-1) + 1)]
    for part in order:
        inputs = tuple(edge for edge in edges if edge.target == ids[part])
        nodes = tuple(node for node in cut.nodes if cut.parts[node] == part)
        depth = cut.depths[part]
        levels[depth].append(SubTopology(ids[part], depth, inputs, nodes))
    together = tuple(Level(tuple(subtopologies)) for subtopologies in levels)
    return Levels(plan, together, _ingresses(cut), edges, plan.sinks, tasks, cut)


def _edges(cut: Cut, place: dict[Node, int | None]) -> tuple[Edge, ...]:
    """Return the edges. Their ids are their rank: tables first, then in processing order.

    So at equal timestamps a table's row is stored before a stream's record looks it up.
    """
    consumers: dict[_Way, list[Node]] = {}
    for node in cut.nodes:
        target = place[node]
        if node in cut.crossing and target is not None:
            rekeyed = _is_rekeyed(cut, node)
            sent_by = node if isinstance(node, Repartition) and node.leaves_key_tasks else None
            for driver in node.drivers or (node,):
                consumers.setdefault((driver, target, rekeyed, sent_by), []).append(node)
    position = {node: number for number, node in enumerate(cut.nodes)}

    def rank(item: tuple[_Way, list[Node]]) -> tuple[object, ...]:
        (parent, target, rekeyed, _), readers = item
        path = path_of(parent)
        way = [position[node] for node in dict.fromkeys((*path, readers[0]))]
        topics = rekeyed + sum(node in cut.crossing and _is_rekeyed(cut, node) for node in path)
        return target, not parent.is_table, topics, way

    first_topics = _first_topics(cut)
    queues: dict[tuple[object, int], int] = {}
    found = []
    for number, ((parent, target, rekeyed, _), readers) in enumerate(
        sorted(consumers.items(), key=rank)
    ):
        origin = None if isinstance(parent, TableSource) else place[parent]
        start = first_topics[_source_of(parent).topic] if origin is None else origin
        queue = queues.setdefault((start, target), number)
        found.append(Edge(number, parent, tuple(readers), origin, target, queue, rekeyed))
    return tuple(found)


def _is_rekeyed(cut: Cut, node: Node) -> bool:
    """Return True if Kafka Streams would write the records before this shuffle to a topic."""
    return node.reshuffles or any(map(cut.has_new_key, node.drivers))


def _first_topics(cut: Cut) -> dict[str, str]:
    """Return, for each topic, the first of the topics that are merged with it in an ingress.

    One edge carries the records of all of them, so that they are one queue.
    """
    sources = cut.plan.sources
    topics = list(dict.fromkeys(source.topic for source in sources))
    merged = {topic: {topic} for topic in topics}
    for one, other in combinations(sources, 2):
        if cut.parts[one] == cut.parts[other] and cut.parts[one] not in cut.depths:
            together = merged[one.topic] | merged[other.topic]
            merged |= dict.fromkeys(together, together)
    return {topic: min(merged[topic], key=topics.index) for topic in topics}


def _source_of(node: Node) -> Source:
    source = path_of(node)[0]
    assert isinstance(source, Source), source
    return source


def _ingresses(cut: Cut) -> tuple[Ingress, ...]:
    def downstream(source: Source) -> tuple[Node, ...]:
        part = cut.parts[source]
        if part in cut.depths:
            return ()  # a table: everything downstream is in its sub-topology
        found: dict[Node, None] = {source: None}
        for node in cut.nodes:
            if cut.parts[node] == part and any(driver in found for driver in node.drivers):
                found[node] = None
        return tuple(found)[1:]

    return tuple(Ingress(source, downstream(source)) for source in cut.plan.sources)
