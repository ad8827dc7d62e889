"""The shared state of a topology's handles: its nodes in order, their names, its sinks."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from duolog.core.places import calling_place
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import Node, Plan, Process, Sink, ancestors
from duolog.plan.nodes.end import End

if TYPE_CHECKING:
    from duolog.dsl.running import Running

NodeT = TypeVar("NodeT", bound=Node)

_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")


class Builder:
    """Collects the nodes of one topology.

    Names are numbered over the whole topology, as in Kafka Streams: an operator added in the middle
    renames those after it. Users name a store that must survive such a change.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._left_out = 0
        self._place = calling_place()
        self._places: dict[str, str] = {}
        self._renamed: dict[Node, str] = {}
        self.running: Running | None = None
        """The running application of this topology, if any."""

    def add(self, kind: str, make: Callable[[str], NodeT], name: str | None = None) -> NodeT:
        """Create a node with the next name, or a user's, and add it."""
        if name is not None:
            self._ensure_free(name)
        node = make(name or f"{kind}-{len(self._nodes) + self._left_out + 1}")
        for parent in node.parents:
            self._ensure_not_renamed(parent)
        self._nodes.append(node)
        self._places[node.name] = calling_place()
        return node

    def leave_out(self) -> None:
        """Skip the number of a removed step: names of later stores contain their own numbers."""
        self._left_out += 1

    def rename(self, node: Node, name: str) -> Node:
        """Give `node` another name at its position, and return the new node.

        Stores that are named after it are renamed, and so are its internal nodes and their stores.

        Raises:
            StatementError: the name is invalid or taken, or the node has children already.
        """
        self._ensure_not_renamed(node)
        parts = {part: f"{name}-{_role(part)}" for part in node.parts}
        for called in (name, *parts.values()):
            self._ensure_free(called)
        if any(node in other.parents for other in self._nodes):
            raise InvalidPlan(
                f'"{node}" cannot be called "{name}" any more',
                detail="Another step reads it under its old name.",
                hint="Name a step directly after creating it: stream.filter(...).named(...).",
            )
        renamed: dict[Node, Node] = {}
        for part, called in (*parts.items(), (node, name)):
            renamed[part] = self._replaced(part, called, renamed)
        return renamed[node]

    def _replaced(self, node: Node, name: str, others: Mapping[Node, Node]) -> Node:
        """Replace a node by one with another name; it reads the replacements in `others`."""
        fields: dict[str, Any] = {
            field: others[value]
            for field, value in vars(node).items()
            if isinstance(value, Node) and value in others
        }
        fields["name"] = name
        if node.stores == (f"{node.name}-store",):
            fields["store"] = f"{name}-store"
        replaced: Node = replace(node, **fields)  # type: ignore[type-var]
        self._nodes[self._nodes.index(node)] = replaced
        self._places[name] = self._places.pop(node.name)
        self._renamed[node] = name
        return replaced

    def _ensure_free(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidPlan(
                f'"{name}" is not a valid name of a step',
                hint="Use up to 249 letters, digits, dots, underscores and hyphens.",
            )
        if name in self._places:
            raise InvalidPlan(
                f'two nodes have the name "{name}"',
                detail=f"The first one is at {self._places[name]}." if self._places[name] else "",
                hint="Rename one of them.",
            )

    def _ensure_not_renamed(self, node: Node) -> None:
        if node in self._renamed:
            raise InvalidPlan(
                f'"{node}" was renamed to "{self._renamed[node]}"',
                hint="Continue with the result of named(...).",
            )

    def nodes(self, kind: type[NodeT]) -> Iterator[NodeT]:
        """Yield the nodes of a class, in order."""
        return (node for node in self._nodes if isinstance(node, kind))

    def ensure_own(self, handle: object) -> None:
        """Raise a StatementError unless `handle` is a stream or table of this topology."""
        node = getattr(handle, "node", None)
        if not isinstance(node, Node):
            raise InvalidPlan(
                f"{handle!r} is not a stream or a table",
                hint="Use the result of topology.stream(...) or topology.table(...).",
            )
        if node not in self._nodes:
            raise InvalidPlan(
                f'"{node}" belongs to another topology',
                hint="Read its topic in this topology.",
            )

    def build(self) -> Plan:
        """Return the plan of all sinks, prints, calls and processors, without unneeded nodes."""
        sinks = tuple(self.nodes(Sink))
        ends = (*self.nodes(End), *self.nodes(Process))
        needed = {node for end in ends for node in ancestors(end)}
        nodes = tuple(node for node in self._nodes if node in needed)
        return Plan(sinks, nodes, self._places, self._place)


def _role(part: Node) -> str:
    """Return the suffix of an internal node's name: `subscriptions`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(part).__name__).lower()
