"""Create the plan nodes of a query, with unique names."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from duolog.plan.nodes import Node

NodeT = TypeVar("NodeT", bound=Node)


@dataclass
class Steps:
    """Names the nodes of one query: `filter-3` is a filter, and the third node."""

    _count: int = field(default=0)
    sources: dict[str, str] = field(default_factory=dict)
    """The stream or table that a source node reads, by the name of the node."""

    def add(self, kind: str, make: Callable[[str], NodeT]) -> NodeT:
        """Create a node; `make` gets its name."""
        self._count += 1
        return make(f"{kind}-{self._count}")


def unused(name: str, taken: frozenset[str] | set[str]) -> str:
    """Return `name`, made unique among the `taken` names."""
    while name in taken:
        name += "'"
    return name
