"""Names that people use for the columns, accumulators and stores of a plan; they are not compared.

`count-3-store` is the aggregate of topic "totals", which keeps count and worst.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from duolog.engine.lowering.nodes.required import needed_values, required_columns
from duolog.plan.cutting.cuts import TableCopy
from duolog.plan.cutting.levels import Levels
from duolog.plan.expressions import AccumulatorRef, Expression, walk
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    Newest,
    Node,
    Numbered,
    Plan,
    Process,
    Project,
    Rename,
    Sink,
    Source,
    StreamJoinSide,
    StreamTableJoin,
    Subscriptions,
    Suppress,
    ToStream,
    ToTable,
)


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the columns of each source and of the accumulators of each store."""

    sources: Sequence[tuple[Sequence[str], Sequence[str]]]
    accumulators: Mapping[str, Sequence[str]]
    stores: Mapping[str, str] = field(default_factory=dict)
    """A description of each store: `aggregate of topic "totals"`."""
    results: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """For the store of an aggregate: each result, and the accumulators that compute it."""
    processors: Mapping[str, str] = field(default_factory=dict)
    """For the store of a processor: its kind, key and value."""

    @classmethod
    def of(cls, levels: Levels) -> "Names":
        required = required_columns(levels.plan)
        sources = [ingress.source for ingress in levels.ingresses]
        aggregates = [node for node in levels.plan.nodes if isinstance(node, AggregateNode)]
        return cls(
            [
                (
                    [column.name for column in source.schema.key],
                    [column.name for column in needed_values(source, required)],
                )
                for source in sources
            ],
            {node.store: [kept.name for kept in node.accumulators] for node in aggregates},
            {store: _called(node, levels.plan) for node in levels.nodes for store in node.stores},
            {
                node.store: {name: _accumulators_in(of) for name, of in node.results}
                for node in aggregates
            },
            {
                kept.name: str(kept)
                for node in levels.plan.nodes
                if isinstance(node, Process)
                for kept in node.kept
            },
        )


def _called(node: Node, plan: Plan) -> str:  # noqa: PLR0911 - a table of cases
    """Return a description of what a store belongs to: by a topic that people know, if any."""
    match node:
        case TableCopy(table=table):
            return f"copy of the {_called(table, plan)}"
        case Source(topic=topic):
            return f'table of topic "{topic}"'
        case ToTable(stream=stream):
            return f"table of stream {stream}"
        case AggregateNode() if topic := _written_to(node, plan):
            return f'aggregate of topic "{topic}"'
        case Suppress(parent=parent):
            return f"suppressed {_called(parent, plan)}"
        case AggregateNode():
            return f"aggregate {node.group.action}"
        case Process():
            return f"processor {node}"
        case Numbered() | Newest() | Subscriptions():
            return _called_for_a_join(node, plan)
        case StreamJoinSide(of_left=of_left):
            return (
                f"{'left' if of_left else 'right'} side of the join of {node.left} and {node.right}"
            )
        case _:
            return f"{'buffer of' if isinstance(node, StreamTableJoin) else 'table'} {node}"


def _called_for_a_join(node: Numbered | Newest | Subscriptions, plan: Plan) -> str:
    """Return a description of a foreign-key join's own store."""
    match node:
        case Numbered():
            return f"numbers of the {_called(node.left, plan)}"
        case Newest():
            return f"newest numbers of the {_called(node.announce.numbered.left, plan)}"
        case Subscriptions():
            return f"subscriptions to the {_called(node.right, plan)}"


def _written_to(node: Node, plan: Plan) -> str:
    """Return the first topic that contains the rows of `node`, or an empty text."""
    for child in plan.children(node):
        if isinstance(child, Sink):
            return child.topic
        passes = isinstance(child, ToStream | Filter | Project | Rename)
        if passes and (topic := _written_to(child, plan)):
            return topic
    return ""


def _accumulators_in(result: Expression) -> list[str]:
    return sorted({part.name for part in walk(result) if isinstance(part, AccumulatorRef)})
