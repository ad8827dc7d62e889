"""Nodes of a plan as a query makes them: each with a name of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from duolog.plan.nodes import Node

NodeT = TypeVar("NodeT", bound=Node)


@dataclass
class Steps:
    """Names the nodes of one query: `filter-3` is a filter, and the third node of all."""

    _count: int = field(default=0)

    def add(self, kind: str, make: Callable[[str], NodeT]) -> NodeT:
        """Return the node that `make` makes of its name."""
        self._count += 1
        return make(f"{kind}-{self._count}")


def unused(name: str, taken: frozenset[str] | set[str]) -> str:
    """Return `name`, or one like it that is not among those that are taken."""
    while name in taken:
        name += "'"
    return name
