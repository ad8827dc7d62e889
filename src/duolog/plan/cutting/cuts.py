"""Cuts a plan into parts at its shuffles, and decides which nodes share a part.

A node that depends on keys must see all records of a key in one task. Records are therefore
shuffled before it, unless they have been shuffled since their key was last set. A shuffle is an
*edge*. Nodes that no edge separates belong to one part.

**One edge per key.** Consumers of the same key share an edge if that shuffles no additional
records. The edge then starts at the last node that their paths have in common, and the nodes
between it and the consumers run after the shuffle. A consumer that reads only some of the records
has its own edge, unless another consumer takes all records anyway.

    s ─┬─────────────────────► JOIN        s ══ edge ══►┬─────────────► JOIN
       └─ filter ─ edge ► AGGREGATE    ─▶               └─ filter ─► AGGREGATE

**A join and its table** share a store, so they belong to one part, unless that part would then read
itself. In that case

- the table is stored a second time in the join's part, as a `TableCopy` fed by the table's changes,
  if the table does not depend on the join's part;
- otherwise the join leaves its part: its records cross an edge with the key that they have.

One of the two is always possible, because the plan has no cycle.

**A merge** of streams that were not shuffled is in the ingress of each. If one of the streams was
shuffled, the merge is a part of its own, with an edge from each stream. The exception: if one part
produces all of the streams, with the keys by which their records were shuffled, the merge is in
that part.

**A join of two tables** changes when either table does. Both of its sides are in one part: that of
the tables, or of the table that depends on the other. **A foreign-key join** answers subscriptions
in the part of its right table, or in another part next to a copy of that table.

**A join of two streams** has a store for each side, and both sides read both. If their parts cannot
be merged, both sides leave them over an edge.

Source: Kafka Streams `InternalTopologyBuilder.makeNodeGroups`. Its sub-topologies may read
themselves through a repartition topic; a level cannot.
"""

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import (
    Answers,
    ForeignTable,
    JoinSide,
    Merge,
    Node,
    Plan,
    Process,
    Repartition,
    Source,
    StreamJoin,
    Subscriptions,
    Suppress,
    TableJoin,
    ancestors,
    driving,
)
from duolog.plan.nodes.expiry import ttl_of
from duolog.plan.schema import Schema

Part = int
"""A connected part of the plan, identified by an arbitrary number."""


@dataclass(frozen=True, eq=False)
class TableCopy(Node):
    """A second copy of a table's rows in another sub-topology, for the joins there.

    Created when the plan is cut. Joins read its store, and a join of tables receives its changes.
    """

    name: str
    table: Node
    store: str
    is_table: ClassVar[bool] = True
    by_key: ClassVar[bool] = True

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.table,)

    @property
    def schema(self) -> Schema:
        return self.table.schema

    @property
    def history_ms(self) -> int | None:
        return self.table.history_ms

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @property
    def ttl_ms(self) -> int | None:
        return ttl_of(self.table)

    @property
    def expiry(self) -> str:
        return f"as long as the row of {self.table}, which is kept elsewhere by another key"

    @property
    def action(self) -> str:
        return f"a copy of {self.table}, kept in {self.store}"


@dataclass(frozen=True, eq=False)
class Cut:
    """A plan divided into parts. `nodes` are in the plan's order, followed by copies."""

    plan: Plan
    nodes: tuple[Node, ...]
    crossing: frozenset[Node]
    """The nodes whose records are shuffled directly before them."""
    parts: Mapping[Node, Part]
    depths: Mapping[Part, int]
    """The longest path of edges to each part with state. All other parts are ingress."""
    copies: Mapping[tuple[Node, Node], TableCopy]
    """The copy that a node reads instead of a table, by node and table."""

    @property
    def copied(self) -> frozenset[Node]:
        """The nodes whose stores have a copy. A copy only knows changes forwarded to it."""
        tables = {copy.table for copy in self.copies.values()}
        return frozenset(kept for table in tables for kept in _kept_above(table))

    def has_new_key(self, node: Node) -> bool:
        """Return True if records of `node` have a key by which they have not been shuffled yet.

        A filter after a select_key forwards the new key like the select_key itself.
        """
        return _has_new_key(node, self.crossing)


def cut_plan(plan: Plan) -> Cut:
    """Divide `plan` into parts."""
    cutter = _Cutter(plan)
    for node in plan.nodes:
        if isinstance(node, TableJoin):
            cutter.bring_tables_together(*node.sides)
        elif isinstance(node, StreamJoin):
            cutter.bring_sides_together(*node.sides)
        elif isinstance(node, Answers):
            cutter.bring_answers_together(node.subscriptions, node.foreign_table)
        elif not isinstance(node, JoinSide | Subscriptions):
            for table in node.tables:
                cutter.bring_together(node, table)
    for one, other in _sharing(plan):
        cutter.bring_processors_together(one, other)
    cutter.share_edges()
    cutter.bring_merges_home()
    nodes = (*plan.nodes, *dict.fromkeys(cutter.copies.values()))
    parts = {node: cutter.part(node) for node in nodes}
    depths = _depths(parts, cutter.links(), cutter.crossing)
    return Cut(plan, nodes, frozenset(cutter.crossing), parts, depths, cutter.copies)


def path_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes that drive `node`, from the source on, and the node itself."""
    above = node.driver
    return (node,) if above is None else (*path_of(above), node)


class _Cutter:
    """The parts while they are merged: a union-find structure whose leaders are arbitrary."""

    def __init__(self, plan: Plan) -> None:
        self.merges = _merges_apart(plan)
        self.crossing = _first_crossing(plan, self.merges)
        self.copies: dict[tuple[Node, Node], TableCopy] = {}
        self._leader: dict[Node, Node] = {}
        self._number = {node: number for number, node in enumerate(plan.nodes)}
        for node in plan.nodes:
            self._leader[node] = node if node in self.crossing else node.driver or node
            if isinstance(node, Merge) and node not in self.crossing:
                for stream in node.drivers:
                    self._leader[self._find(stream)] = self._find(node)

    def part(self, node: Node) -> Part:
        return self._number[self._find(node)]

    def bring_together(self, reader: Node, table: Node) -> None:
        """Put `reader` into one part with `table`, or with a copy of it."""
        if self._unite(reader, table):
            return
        if self._reaches(reader, table) and not isinstance(table, Source):
            # The table depends on the reader's part, but not on the reader itself.
            self.crossing.add(reader)
            self._leader[reader] = reader
            united = self._unite(reader, table)
            assert united, f"{reader} and {table} are in a circle"
            return
        self._copy_beside(reader, table)

    def bring_tables_together(self, left: JoinSide, right: JoinSide) -> None:
        """Put both sides of a join into one part with their tables, or with a copy of one.

        If one table depends on the other's part, the join is in the part of the former, which gets
        a copy of the other table.
        """
        if self._unite(left.own, right.own):
            return
        away, home = (left, right) if self._reaches(left.own, right.own) else (right, left)
        copy = self._copy_beside(home, away.own)
        self.copies[away, away.own] = copy
        self._leader[away] = copy

    def bring_answers_together(self, subscriptions: Subscriptions, table: ForeignTable) -> None:
        """Put both nodes that answer subscriptions into one part with their table or its copy."""
        if not self._unite(subscriptions, table):
            copy = self._copy_beside(subscriptions, table.right)
            self.copies[table, table.right] = copy
            self._leader[table] = copy

    def bring_sides_together(self, left: Node, right: Node) -> None:
        """Put two nodes into one part: one of theirs, or a new one that both reach over an edge."""
        leaving = iter((left, right))
        while not self._unite(left, right):
            side = next(leaving)
            self.crossing.add(side)
            self._leader[side] = side

    def bring_processors_together(self, one: Process, other: Process) -> None:
        """Put two processors into one part, because they share a store.

        Raises:
            StatementError: records are shuffled between the two.
        """
        if not self._unite(one, other):
            raise InvalidPlan(
                f'"{one}" and "{other}" cannot share a store',
                detail="Records are shuffled to other tasks between the two.",
                hint="Keep the key between them: process_values(...) does.",
            )

    def share_edges(self) -> None:
        """Unite the consumers of one node, unless that creates a cycle."""
        first: dict[Node, list[Node]] = {}
        for node in [node for node in self._leader if node in self.crossing]:
            for driver in node.drivers or (node,):
                others = first.setdefault(driver, [])
                if not any(self._unite(node, other) for other in others):
                    others.append(node)

    def bring_merges_home(self) -> None:
        """Remove the edges to a merge if one part produces its streams, with unchanged keys."""
        for merge in self.merges:
            home, *others = merge.drivers
            if any(self._find(other) is not self._find(home) for other in others) or any(
                _has_new_key(stream, self.crossing) or _left_its_task(stream)
                for stream in merge.drivers
            ):
                continue
            self.crossing.discard(merge)
            if not self._unite(home, merge):
                self.crossing.add(merge)

    def links(self) -> set[tuple[Part, Part]]:
        """Return the edges between parts. The source itself feeds the copy of its table."""
        return {
            (self.part(driver), self.part(node))
            for node in self.crossing
            for driver in node.drivers
            if not isinstance(driver, Source)
        }

    def _copy_beside(self, reader: Node, table: Node) -> TableCopy:
        known = (copy for copy in self.copies.values() if copy.table is table)
        copy = next((c for c in known if self._find(c) is self._find(reader)), None)
        if copy is None:
            copy = self._copy(table)
            self._unite(reader, copy)
        self.copies[reader, table] = copy
        return copy

    def _copy(self, table: Node) -> TableCopy:
        number = 2 + len({copy for copy in self.copies.values() if copy.table is table})
        store = table.stores[0] if table.stores else f"{table.name}-rows"
        copy = TableCopy(f"{table.name}-copy-{number}", table, f"{store}-{number}")
        self.crossing.add(copy)
        self._leader[copy] = copy
        self._number[copy] = len(self._number)
        return copy

    def _find(self, node: Node) -> Node:
        while (above := self._leader[node]) is not node:
            node = above
        return node

    def _unite(self, one: Node, other: Node) -> bool:
        """Unite two parts, unless one reads the other."""
        if self._find(one) is not self._find(other):
            if self._reaches(one, other) or self._reaches(other, one):
                return False
            self._leader[self._find(other)] = self._find(one)
        return True

    def _reaches(self, one: Node, other: Node) -> bool:
        """Return True if edges lead from the part of `one` to the part of `other`."""
        links = self.links()
        reached: set[Part] = set()
        fresh = {self.part(one)}
        while fresh := {to for start, to in links if start in reached | fresh} - reached:
            reached |= fresh
        return self.part(other) in reached


def _sharing(plan: Plan) -> Iterable[tuple[Process, Process]]:
    """Yield processors that share a store, each with the first one that has it."""
    first: dict[str, Process] = {}
    for node in plan.nodes:
        if isinstance(node, Process):
            for kept in node.kept:
                if first.setdefault(kept.name, node) is not node:
                    yield first[kept.name], node


def _kept_above(table: Node) -> frozenset[Node]:
    """Return the nodes whose stores hold the rows of `table`, or those they are computed from."""
    above = driving(table, lambda one: bool(one.stores) and not isinstance(one, Suppress))
    return frozenset(one for one in above if one.stores)


def _has_new_key(node: Node, crossing: Container[Node]) -> bool:
    above = driving(node, lambda one: one.rekeys or one in crossing)
    return any(one.rekeys for one in above)


def _left_its_task(node: Node) -> bool:
    """Return True if records of `node` are in other tasks than those of their keys."""
    if isinstance(node, Repartition) or node.rekeys:
        return isinstance(node, Repartition) and node.leaves_key_tasks
    return any(map(_left_its_task, node.drivers))


def _merges_apart(plan: Plan) -> list[Merge]:
    """Return the merges that are a part of their own, because one of their streams was shuffled."""
    homes: dict[Node, Node | None] = {}
    apart = []
    for node in plan.nodes:
        above = {homes[driver] for driver in node.drivers}
        if isinstance(node, Merge) and len(above) > 1:
            apart.append(node)
            homes[node] = node
        elif node.by_key or len(above) > 1:
            homes[node] = node
        else:
            homes[node] = above.pop() if above else None
    return apart


def _first_crossing(plan: Plan, merges_apart: Collection[Node]) -> set[Node]:
    """Return the nodes directly after an edge, before the parts are known."""
    ways = {
        node: way
        for node in plan.nodes
        if node.by_key
        and not node.reshuffles
        and (way := _way(node.driver, merges_apart)) is not None
    }
    crossing = {node for node, way in ways.items() if not way}.union(merges_apart)
    crossing |= {node for node in plan.nodes if node.reshuffles}
    tops = {_top(way) for way in ways.values() if way}
    merges = [n for n in plan.nodes if isinstance(n, Merge) and n not in merges_apart]
    consumers: dict[Node, list[Node]] = {}
    for node, way in ways.items():
        if way:
            root = next(above for above in reversed(way) if above in tops)
            consumers.setdefault(root, []).append(node)
    for together in consumers.values():
        first = ways[together[0]]
        leaving = next(above for above in first if all(above in ways[node] for node in together))
        for node in together:
            way = (node, *ways[node])
            downstream = way[: way.index(leaving)]
            # A node after an edge cannot feed a merge in the ingress.
            parted = any(_parts_streams(one, merges) for one in downstream[1:])
            crossing.add(node if parted else downstream[-1])
    return crossing


def _parts_streams(node: Node, merges: Iterable[Merge]) -> bool:
    """Return True if one stream of a merge comes through `node`, and another does not."""
    return any(len({node in ancestors(stream) for stream in merge.drivers}) > 1 for merge in merges)


def _way(above: Node | None, merges_apart: Collection[Node]) -> tuple[Node, ...] | None:
    """Return `above` and its drivers, nearest first, up to the one that set the key or merged.

    Return None if records have been shuffled since.
    """
    way: list[Node] = []
    while above is not None:
        way.append(above)
        if above.rekeys:
            break
        if above.by_key or above in merges_apart:
            return None
        if isinstance(above, Merge):
            return tuple(way) if _is_unshuffled(above, merges_apart) else None
        above = above.driver
    return tuple(way)


def _is_unshuffled(node: Node, merges_apart: Collection[Node]) -> bool:
    """Return True if some records of `node` have not been shuffled since their key was set."""

    def ends(above: Node) -> bool:
        return above.rekeys or above.by_key or above in merges_apart

    return any(
        above.rekeys or (not ends(above) and not above.drivers) for above in driving(node, ends)
    )


def _top(way: tuple[Node, ...]) -> Node:
    """Return the farthest node of a path from which all records reach its end."""
    return next((above for above in way if above.may_drop), way[-1])


def _depths(
    parts: Mapping[Node, Part], links: Iterable[tuple[Part, Part]], crossing: Iterable[Node]
) -> dict[Part, int]:
    depths = {parts[node]: 0 for node in crossing}
    for _ in range(len(depths) + 1):
        deeper = {
            to: depths[start] + 1
            for start, to in links
            if start in depths and depths[start] >= depths[to]
        }
        if not deeper:
            return depths
        depths |= deeper
    raise AssertionError("parts of the plan are in a circle")
