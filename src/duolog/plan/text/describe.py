"""Renders a plan as text: its ingresses, levels, sub-topologies, stores and edges.

Source: Kafka Streams `Topology.describe()`, whose terms it uses.
"""

from collections.abc import Iterator
from typing import Final

from duolog.plan.cutting.levels import Edge, Levels, SubTopology
from duolog.plan.nodes import GlobalTableSource, Node, TableSource

_STEP: Final = "  "


def describe(levels: Levels) -> str:
    """Return the levels of a plan as text. Records flow from a line to lines indented below it.

    If several paths merge, the rest is shown once.
    """
    return "\n".join(_lines(levels, set()))


def describe_node(node: Node) -> str:
    """Return one line that describes `node`."""
    return f"{node.name}: {node.action}"


def _lines(levels: Levels, shown: set[Node]) -> Iterator[str]:
    yield "Ingress"
    for ingress in levels.ingresses:
        source = ingress.source
        yield f"{_STEP}{describe_node(source)}"
        feeds = levels.feeds(source)
        if not feeds:
            yield from _below(levels, source, 2, shown)
        for edge in feeds:
            yield f"{_STEP * 2}→ edge {edge.id}"
    for number, level in enumerate(levels.levels):
        yield f"Level {number}"
        for part in level.subtopologies:
            yield from _subtopology(levels, part, shown)


def _subtopology(levels: Levels, part: SubTopology, shown: set[Node]) -> Iterator[str]:
    stores = f", stores {', '.join(part.stores)}" if part.stores else ""
    yield f"{_STEP}Sub-topology {part.id}{stores}"
    for edge in part.inputs:
        yield f"{_STEP * 2}edge {edge.id} from {edge.parent.name}"
        for consumer in edge.consumers:
            yield f"{_STEP * 3}{_consumer(consumer)}"
            yield from _below(levels, consumer, 4, shown)


def _below(levels: Levels, node: Node, depth: int, shown: set[Node]) -> Iterator[str]:
    for successor in levels.successors(node):
        if isinstance(successor, Edge):
            yield f"{_STEP * depth}→ edge {successor.id}"
        elif successor in shown and levels.successors(successor):
            yield f"{_STEP * depth}{successor.name}, as above"
        else:
            shown.add(successor)
            yield f"{_STEP * depth}{describe_node(successor)}"
            yield from _below(levels, successor, depth + 1, shown)


def _consumer(node: Node) -> str:
    if isinstance(node, GlobalTableSource):
        return f"{node.name}: kept in {node.store}, whole in every task"
    if isinstance(node, TableSource):
        return f"{node.name}: kept in {node.store}"
    return describe_node(node)
