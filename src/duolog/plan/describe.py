"""A plan as text for people: its ingresses, levels, sub-topologies, stores and edges.

Source: Kafka Streams `Topology.describe()`, whose words these are.
"""

from collections.abc import Iterator
from typing import Final

from duolog.plan.expressions import ColumnRef, Named
from duolog.plan.levels import Edge, Levels, SubTopology
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    GroupBy,
    Node,
    Project,
    SelectKey,
    Sink,
    StreamSource,
    StreamTableJoin,
    TableSource,
)
from duolog.plan.types import quote, render_columns

_STEP: Final = "  "


def describe(levels: Levels) -> str:
    """Return the levels of a plan as text. A record flows from a line to those indented below."""
    return "\n".join(_lines(levels))


def describe_node(node: Node) -> str:
    """Return one line about what `node` does."""
    return f"{node.name}: {_action(node)}"


def _lines(levels: Levels) -> Iterator[str]:
    yield "Ingress"
    for ingress in levels.ingresses:
        source = ingress.source
        yield f"{_STEP}{describe_node(source)}"
        if isinstance(source, StreamSource):
            yield from _below(levels, source, 2)
        for edge in levels.edges:
            if edge.parent is source and isinstance(source, TableSource):
                yield f"{_STEP * 2}→ edge {edge.id}"
    for number, level in enumerate(levels.levels):
        yield f"Level {number}"
        for part in level.subtopologies:
            yield from _subtopology(levels, part)


def _subtopology(levels: Levels, part: SubTopology) -> Iterator[str]:
    stores = f", stores {', '.join(part.stores)}" if part.stores else ""
    yield f"{_STEP}Sub-topology {part.id}{stores}"
    for edge in part.inputs:
        yield f"{_STEP * 2}edge {edge.id} from {edge.parent.name}"
        for consumer in edge.consumers:
            yield f"{_STEP * 3}{_consumer(consumer)}"
            yield from _below(levels, consumer, 4)


def _below(levels: Levels, node: Node, depth: int) -> Iterator[str]:
    for successor in levels.successors(node):
        if isinstance(successor, Edge):
            yield f"{_STEP * depth}→ edge {successor.id}"
        else:
            yield f"{_STEP * depth}{describe_node(successor)}"
            yield from _below(levels, successor, depth + 1)


def _consumer(node: Node) -> str:
    if isinstance(node, TableSource):
        return f"{node.name}: kept in {node.store}"
    return describe_node(node)


def _action(node: Node) -> str:  # noqa: PLR0911 - a table of cases
    match node:
        case StreamSource():
            return f"stream of topic {node.topic}, {_topic_columns(node)}"
        case TableSource():
            return f"table of topic {node.topic}, {_topic_columns(node)}"
        case Filter():
            return f"where {node.predicate}"
        case Project():
            return _named(node.values) or "no columns"
        case SelectKey() | GroupBy():
            return f"by {_named(node.keys)}"
        case StreamTableJoin():
            return f"{node.kind} join with {node.table.name}"
        case AggregateNode():
            return f"{_named(node.results)}, kept in {node.store}"
        case Sink():
            return f"to topic {node.topic}, {_topic_columns(node)}"
        case _:
            return "the table's changes"


def _topic_columns(node: StreamSource | TableSource | Sink) -> str:
    return (
        f"key {node.key_format} ({render_columns(node.schema.key)}) "
        f"value {node.value_format} ({render_columns(node.schema.value)})"
    )


def _named(columns: tuple[Named, ...]) -> str:
    return ", ".join(
        str(of) if of == ColumnRef(name) else f"{quote(name)} = {of}" for name, of in columns
    )
