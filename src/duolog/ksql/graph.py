"""The graph of an application: topics, streams, tables and queries, and what flows between them.

    topic:orders ─▶ source:ORDERS ─▶ query:CTAS_TOTALS_1 ─▶ source:TOTALS ─▶ topic:TOTALS

The edges are those of `duolog.ksql.lineage`, without columns: a graph is drawn every few seconds.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from duolog.ksql.lineage import edges_of
from duolog.ksql.statements.state import SessionState

Edge = tuple[str, str]
"""The ids of two nodes: kind, colon, name."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by id, and edges between them; `left_out` nodes are not shown."""

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]
    left_out: int = 0

    def around(self, node: str, limit: int) -> "Graph":
        """Return at most `limit` nodes that lead to a node or follow it, the nearest ones first."""
        following: dict[str, set[str]] = defaultdict(set)
        leading: dict[str, set[str]] = defaultdict(set)
        for start, end in self.edges:
            following[start].add(end)
            leading[end].add(start)
        # In turn, so that a limit does not hide one of the directions.
        ways = [_nearest(node, following), _nearest(node, leading)]
        near = list(dict.fromkeys(one for pair in _in_turn(*ways) for one in pair))
        return self._of(near[:limit], len(near))

    def first(self, limit: int) -> "Graph":
        """Return at most `limit` nodes: connected parts one after the other, the largest first."""
        joined: dict[str, set[str]] = defaultdict(set)
        for start, end in self.edges:
            joined[start].add(end)
            joined[end].add(start)
        parts: list[list[str]] = []
        seen: set[str] = set()
        for node in self.nodes:
            if node not in seen:
                parts.append(list(_nearest(node, joined)))
                seen.update(parts[-1])
        parts.sort(key=len, reverse=True)
        return self._of([one for part in parts for one in part][:limit], len(self.nodes))

    def _of(self, kept: list[str], among: int) -> "Graph":
        names = set(kept)
        edges = tuple(edge for edge in self.edges if names.issuperset(edge))
        return Graph(tuple(sorted(names)), edges, among - len(names))


def graph_of(state: SessionState) -> Graph:
    """Return the graph of all streams, tables and queries in the catalog of a session."""
    edges = edges_of(state)
    nodes = {
        *(f"source:{name}" for name in state.catalog.sources),
        *(f"query:{name}" for name in state.queries),
        *(f"topic:{one}" for source in state.catalog.sources.values() for one in source.topics),
    }
    return Graph(tuple(sorted(nodes)), tuple(edges))


def _nearest(start: str, joined: dict[str, set[str]]) -> Iterator[str]:
    """Yield a node and those that can be reached from it, by distance."""
    seen = {start}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        yield node
        for one in sorted(joined.get(node, ())):
            if one not in seen:
                seen.add(one)
                waiting.append(one)


def _in_turn(first: Iterable[str], second: Iterable[str]) -> Iterator[list[str]]:
    one, other = list(first), list(second)
    for number in range(max(len(one), len(other))):
        yield [*one[number : number + 1], *other[number : number + 1]]
