"""A largest matching of a bipartite graph: each node is paired at most once.

Source: Hopcroft and Karp (1973), in O(edges · √nodes), without recursion.
"""

from collections import deque
from collections.abc import Iterator, Sequence

_FREE = -1


def largest_matching(edges: Sequence[Sequence[int]], right_count: int) -> list[int]:
    """Return the partner of each node of the left side; -1 for a node without one.

    Args:
        edges: the nodes of the right side that each node of the left side may be paired with.
        right_count: the number of nodes of the right side.

    Example:
        >>> largest_matching([[0, 1], [0]], 2)
        [1, 0]
    """
    matching = _Matching(edges, right_count)
    while matching.measure():
        matching.extend()
    return matching.partner


class _Matching:
    """A matching that grows.

    Attributes:
        partner: the node of the right side that each node of the left side is paired with.
    """

    def __init__(self, edges: Sequence[Sequence[int]], right_count: int) -> None:
        self.partner = [_FREE] * len(edges)
        self._edges = edges
        self._taken = [_FREE] * right_count
        self._layers: dict[int, int] = {}

    def measure(self) -> bool:
        """Find the distance of left nodes from a free one; return False if no path is left."""
        self._layers = {node: 0 for node, other in enumerate(self.partner) if other == _FREE}
        queue, reached = deque(self._layers), False
        while queue:
            node = queue.popleft()
            for right in self._edges[node]:
                left = self._taken[right]
                reached = reached or left == _FREE
                if left != _FREE and left not in self._layers:
                    self._layers[left] = self._layers[node] + 1
                    queue.append(left)
        return reached

    def extend(self) -> None:
        """Pair free left nodes along paths that follow the distances."""
        following = [iter(nodes) for nodes in self._edges]
        for node, other in enumerate(self.partner):
            if other == _FREE:
                self._extend_from(node, following)

    def _extend_from(self, node: int, following: list[Iterator[int]]) -> None:
        path: list[tuple[int, int]] = []
        while True:
            onward = (right for right in following[node] if self._leads_on(right, node))
            right = next(onward, None)
            if right is not None:
                path.append((node, right))
                if self._taken[right] == _FREE:
                    break
                node = self._taken[right]
            elif path:
                del self._layers[node]
                node, _ = path.pop()
            else:
                return
        for left, right in path:
            self.partner[left], self._taken[right] = right, left

    def _leads_on(self, right: int, node: int) -> bool:
        left = self._taken[right]
        return left == _FREE or self._layers.get(left) == self._layers[node] + 1
