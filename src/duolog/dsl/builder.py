"""What the handles of one topology share: its nodes in order, their names, its sinks."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from duolog.core.places import calling_place
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import Node, Plan, Print, Sink, ancestors

if TYPE_CHECKING:
    from duolog.dsl.running import Running

NodeT = TypeVar("NodeT", bound=Node)


class Builder:
    """Collects the nodes of one topology.

    Names count up over the whole topology, as in Kafka Streams: adding an operator in the middle
    renames those after it. A store that must survive such a change is named by its user.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._place = calling_place()
        self._places: dict[str, str] = {}
        self.running: Running | None = None
        """The application that runs what was built, while one does."""

    def add(self, kind: str, make: Callable[[str], NodeT]) -> NodeT:
        """Make a node under the next name, and keep it."""
        node = make(f"{kind}-{len(self._nodes) + 1}")
        self._nodes.append(node)
        self._places[node.name] = calling_place()
        return node

    def nodes(self, kind: type[NodeT]) -> Iterator[NodeT]:
        """Yield the nodes of one kind, in order."""
        return (node for node in self._nodes if isinstance(node, kind))

    def ensure_own(self, node: Node) -> None:
        if node not in self._nodes:
            raise InvalidPlan(
                f'"{node}" belongs to another topology',
                hint="Read its topic again in this one.",
            )

    def build(self) -> Plan:
        """Return the plan of all that is written or printed. What neither needs is left out."""
        sinks = tuple(self.nodes(Sink))
        needed = {node for end in (*sinks, *self.nodes(Print)) for node in ancestors(end)}
        nodes = tuple(node for node in self._nodes if node in needed)
        return Plan(sinks, nodes, self._places, self._place)
