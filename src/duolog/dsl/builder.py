"""What the handles of one topology share: its nodes in order, their names, its sinks."""

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

    Names count up over the whole topology, as in Kafka Streams: adding an operator in the middle
    renames those after it. A store that must survive such a change is named by its user.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._left_out = 0
        self._place = calling_place()
        self._places: dict[str, str] = {}
        self._renamed: dict[Node, str] = {}
        self.running: Running | None = None
        """The application that runs what was built, while one does."""

    def add(self, kind: str, make: Callable[[str], NodeT], name: str | None = None) -> NodeT:
        """Make a node under the next name, or the one that a user has given, and keep it."""
        if name is not None:
            self._ensure_free(name)
        node = make(name or f"{kind}-{len(self._nodes) + self._left_out + 1}")
        for parent in node.parents:
            self._ensure_not_renamed(parent)
        self._nodes.append(node)
        self._places[node.name] = calling_place()
        return node

    def leave_out(self) -> None:
        """Leave out the next number: a step had it that is not made any more, and stores have the numbers after it."""
        self._left_out += 1

    def rename(self, node: Node, name: str) -> Node:
        """Return `node` under another name, in its place; stores that are named after it go along.

        So do the nodes that were made with it, and theirs.

        Raises:
            StatementError: it is no name, another node has it, or something reads the node already.
        """
        self._ensure_not_renamed(node)
        parts = {part: f"{name}-{_role(part)}" for part in node.parts}
        for called in (name, *parts.values()):
            self._ensure_free(called)
        if any(node in other.parents for other in self._nodes):
            raise InvalidPlan(
                f'"{node}" cannot be called "{name}" any more',
                detail="Something reads it under the name that it has.",
                hint="Name a step where it is made: stream.filter(...).named(...).",
            )
        renamed: dict[Node, Node] = {}
        for part, called in (*parts.items(), (node, name)):
            renamed[part] = self._replaced(part, called, renamed)
        return renamed[node]

    def _replaced(self, node: Node, name: str, others: Mapping[Node, Node]) -> Node:
        """Put `node` under another name in its place; it reads what became of `others`."""
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
                f'"{name}" is no name of an operator',
                hint="Use up to 249 letters, digits, dots, underscores and hyphens.",
            )
        if name in self._places:
            raise InvalidPlan(
                f'two nodes are called "{name}"',
                detail=f"The first one is at {self._places[name]}." if self._places[name] else "",
                hint="Name one differently.",
            )

    def _ensure_not_renamed(self, node: Node) -> None:
        if node in self._renamed:
            raise InvalidPlan(
                f'"{node}" is called "{self._renamed[node]}" now',
                hint="Go on with what named(...) has returned.",
            )

    def nodes(self, kind: type[NodeT]) -> Iterator[NodeT]:
        """Yield the nodes of one kind, in order."""
        return (node for node in self._nodes if isinstance(node, kind))

    def ensure_own(self, handle: object) -> None:
        """Raise a StatementError where this is not a stream or table, or one of another topology."""
        node = getattr(handle, "node", None)
        if not isinstance(node, Node):
            raise InvalidPlan(
                f"{handle!r} is not a stream or a table",
                hint="Give what topology.stream(...) or topology.table(...) has returned.",
            )
        if node not in self._nodes:
            raise InvalidPlan(
                f'"{node}" belongs to another topology',
                hint="Read its topic again in this one.",
            )

    def build(self) -> Plan:
        """Return the plan of all that is written, printed, called or processed. What none needs is left out."""
        sinks = tuple(self.nodes(Sink))
        ends = (*self.nodes(End), *self.nodes(Process))
        needed = {node for end in ends for node in ancestors(end)}
        nodes = tuple(node for node in self._nodes if node in needed)
        return Plan(sinks, nodes, self._places, self._place)


def _role(part: Node) -> str:
    """Return what a part of another node is called behind that one's name: `subscriptions`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(part).__name__).lower()
