"""Cuts a plan into sub-topologies, and orders these in levels.

    airlines ─────────────────┐                      airports ─────┐
                          edge 0 ▼                             edge 2 ▼
    flights ── filter ── edge 1 ► JOIN ── select_key ── edge 3 ► JOIN ── AGGREGATE by dest ── sink
    └─────────────────┘  │           │   └────────────┘│                    │
          ingress        │   level 0                   │     └── group_by ── edge 4 ► AGGREGATE
                         └─────────────────────────────┘       level 1      by carrier ── sink
                                                                                 level 2

Nodes with state (table sources, joins, aggregates) must see all records of one key in one task,
so records are shuffled to their task at an *edge*. There is an edge before a node with state

- where records come from a source and have not been shuffled yet, and
- where their key was changed (`SelectKey`, or `GroupBy` on other keys) since the last edge.

Nodes without state stay with their parent: before the first edge they are the *ingress* of their
source, behind it they belong to the parent's sub-topology. What edges do not part belongs
together, and so do a join and the table that it looks up, as they share a store: a table's
source re-keys by its own key into the sub-topology of its join. These connected parts are the
*sub-topologies*; the level of each is the longest path of edges to it from another. Edges out of
one and the same node into one sub-topology are one edge with several consumers, and every node is
in one place only, so nothing is computed twice.

Within a level sub-topologies do not read each other, so that one operator can run a whole level.

Source: Kafka Streams `InternalTopologyBuilder.makeNodeGroups`; its repartition topics are edges.
"""

from dataclasses import dataclass

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import (
    AggregateNode,
    GroupBy,
    Node,
    Plan,
    SelectKey,
    Sink,
    StreamSource,
    StreamTableJoin,
    TableSource,
    has_store,
)
from duolog.plan.types import Column


@dataclass(frozen=True, eq=False)
class Edge:
    """Records on their way to the tasks of a sub-topology, by the key of `parent`.

    `parent` is the last node before the shuffle. For a table source it is the source itself, as
    an upsert that its store has not seen; then `consumers` is that source again, which turns it
    into a change.
    """

    id: int
    parent: Node
    consumers: tuple[Node, ...]
    origin: int | None
    """The sub-topology that the records leave; None if they come from a source's ingress."""
    target: int

    @property
    def carries_changes(self) -> bool:
        """True if records carry the old row beside the new one."""
        return self.parent.is_table and not isinstance(self.parent, TableSource)

    @property
    def key(self) -> tuple[Column, ...]:
        return self.parent.schema.key


@dataclass(frozen=True, eq=False)
class Ingress:
    """A source and the nodes without state that stand right behind it, before any edge."""

    source: StreamSource | TableSource
    nodes: tuple[Node, ...]
    """In the plan's order, sinks among them; without the source."""


@dataclass(frozen=True, eq=False)
class SubTopology:
    """Nodes that run together in each task, with the stores that they share."""

    id: int
    level: int
    inputs: tuple[Edge, ...]
    """In the order of their rank: at equal timestamps the first goes first."""
    nodes: tuple[Node, ...]
    """In the plan's order; a table source stands where its store is."""

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Sink))

    @property
    def stores(self) -> tuple[str, ...]:
        return tuple(node.store for node in self.nodes if has_store(node))


@dataclass(frozen=True, eq=False)
class Level:
    """Sub-topologies of one depth."""

    subtopologies: tuple[SubTopology, ...]


@dataclass(frozen=True, eq=False)
class Levels:
    """A plan, cut. `edges` and `sinks` stand at the index that is their id."""

    plan: Plan
    levels: tuple[Level, ...]
    ingresses: tuple[Ingress, ...]
    edges: tuple[Edge, ...]
    sinks: tuple[Sink, ...]
    tasks: int

    @property
    def subtopologies(self) -> tuple[SubTopology, ...]:
        return tuple(part for level in self.levels for part in level.subtopologies)

    def successors(self, node: Node) -> tuple[Node | Edge, ...]:
        """Return where records of `node` go next, in order: nodes beside it, and edges.

        An edge stands once, where its first consumer is. A join is no successor of its table.
        For a table source this is what its store forwards; its own edge is not among it.
        """
        leaving = [edge for edge in self.edges if edge.parent is node]
        found: dict[Node | Edge, None] = {}
        for child in self.plan.children(node):
            if isinstance(child, StreamTableJoin) and child.stream is not node:
                continue
            across = [edge for edge in leaving if child in edge.consumers]
            found[across[0] if across else child] = None
        return tuple(found)


def find_levels(plan: Plan, tasks: int = 1) -> Levels:
    """Cut `plan` for `tasks` tasks in each sub-topology.

    Raises:
        StatementError: a table is looked up before and after a change of key, which would need
            a sub-topology that reads itself.
    """
    assert tasks >= 1, tasks
    shuffled = frozenset(node for node in plan.nodes if _needs_edge(node))
    parts, depths = _parts_and_depths(plan, shuffled)
    in_order = dict.fromkeys(parts[node] for node in plan.nodes if parts[node] in depths)
    order = sorted(in_order, key=lambda part: depths[part])
    ids = {part: number for number, part in enumerate(order)}
    place = {node: ids.get(part) for node, part in parts.items()}
    edges = _edges(plan, shuffled, place)
    levels: list[list[SubTopology]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for part in order:
        inputs = tuple(edge for edge in edges if edge.target == ids[part])
        nodes = tuple(node for node in plan.nodes if parts[node] == part)
        levels[depths[part]].append(SubTopology(ids[part], depths[part], inputs, nodes))
    cut = tuple(Level(tuple(subtopologies)) for subtopologies in levels)
    return Levels(plan, cut, _ingresses(plan, parts, depths), edges, plan.sinks, tasks)


Part = int
"""A connected part of the plan, by the index of its first node."""


def _driver(node: Node) -> Node | None:
    """The parent whose records make `node` do something; None for a source."""
    return node.parents[0] if node.parents else None


def _needs_edge(node: Node) -> bool:
    """Tell if the records that drive `node` are shuffled right before it."""
    if isinstance(node, TableSource):
        return True
    if not isinstance(node, StreamTableJoin | AggregateNode):
        return False
    # Walk up to the node where the records were last put with their key.
    above = _driver(node)
    while above is not None:
        if isinstance(above, SelectKey | GroupBy) and above.changes_key:
            return True
        if isinstance(above, StreamTableJoin | AggregateNode | TableSource):
            return False
        above = _driver(above)
    return True


def _parts_and_depths(
    plan: Plan, shuffled: frozenset[Node]
) -> tuple[dict[Node, Part], dict[Part, int]]:
    """Return the part of each node, and the level of each part that has state."""
    for one_edge_a_node in (True, False):
        # Several readers of one node share its edge, unless that closes a circle.
        parts = _parts(plan, shuffled, one_edge_a_node=one_edge_a_node)
        depths = _depths(shuffled, parts)
        if depths is not None:
            return parts, depths
    raise _circle(plan)


def _parts(plan: Plan, shuffled: frozenset[Node], *, one_edge_a_node: bool) -> dict[Node, Part]:
    """Return the part of each node: what no edge parts, and what shares a store."""
    index = {node: number for number, node in enumerate(plan.nodes)}
    leader = list(range(len(plan.nodes)))

    def find(node: Node) -> Part:
        number = index[node]
        while leader[number] != number:
            number = leader[number]
        return number

    def join(one: Node, other: Node) -> None:
        low, high = sorted((find(one), find(other)))
        leader[high] = low

    first_reader: dict[Node, Node] = {}
    for node in plan.nodes:
        driver = _driver(node)
        if driver is not None and node not in shuffled:
            join(node, driver)
        if isinstance(node, StreamTableJoin):
            join(node, node.table)
        if driver is not None and node in shuffled and one_edge_a_node:
            join(node, first_reader.setdefault(driver, node))
    return {node: find(node) for node in plan.nodes}


def _depths(shuffled: frozenset[Node], parts: dict[Node, Part]) -> dict[Part, int] | None:
    """Return the level of each part that has state, or None if one reads itself in the end."""
    writers: dict[Part, set[Part]] = {parts[node]: set() for node in shuffled}
    for node in shuffled:
        driver = _driver(node)
        if driver is not None and parts[driver] in writers:
            writers[parts[node]].add(parts[driver])
    depths = dict.fromkeys(writers, 0)
    for _ in range(len(writers) + 1):
        deeper = {
            part: max((depths[writer] + 1 for writer in writers[part]), default=0)
            for part in writers
        }
        if deeper == depths:
            return depths
        depths = deeper
    return None


def _edges(
    plan: Plan, shuffled: frozenset[Node], place: dict[Node, int | None]
) -> tuple[Edge, ...]:
    """Return the edges. Their ids rank them: tables first, then in the plan's order.

    At equal timestamps a table's row is there before a stream's record looks it up.
    """
    consumers: dict[tuple[Node, int], list[Node]] = {}
    for node in plan.nodes:
        target = place[node]
        if node in shuffled and target is not None:
            consumers.setdefault((_driver(node) or node, target), []).append(node)
    position = {node: number for number, node in enumerate(plan.nodes)}
    ranked = sorted(
        consumers.items(),
        key=lambda item: (item[0][1], not item[0][0].is_table, position[item[0][0]]),
    )
    return tuple(
        Edge(
            number,
            parent,
            tuple(readers),
            None if isinstance(parent, TableSource) else place[parent],
            target,
        )
        for number, ((parent, target), readers) in enumerate(ranked)
    )


def _ingresses(plan: Plan, parts: dict[Node, Part], depths: dict[Part, int]) -> tuple[Ingress, ...]:
    def behind(source: Node) -> tuple[Node, ...]:
        if parts[source] in depths:
            return ()  # a table: all that follows it is in its sub-topology
        return tuple(n for n in plan.nodes if parts[n] == parts[source] and n is not source)

    return tuple(Ingress(source, behind(source)) for source in plan.sources)


def _circle(plan: Plan) -> InvalidPlan:
    joins = [node for node in plan.nodes if isinstance(node, StreamTableJoin)]
    tables = [node.table for node in joins]
    twice = [table.name for table in tables if tables.count(table) > 1] or [t.name for t in tables]
    return InvalidPlan(
        f'table "{twice[0]}" is looked up before and after a change of key',
        detail="Its rows would be needed in two sub-topologies, one of which reads the other.",
        hint="Read the topic as a second table for the second join.",
    )
