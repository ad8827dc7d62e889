"""A plan with the functions of its nodes, its levels and its serdes."""

from duolog.plan.cutting.levels import find_levels
from duolog.plan.expressions.key_functions import PARTITIONS_MAX
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import AggregateNode, Node, Plan, Sink, Source
from duolog.serde.serde import Serde, key_serde, value_serde
from duolog.testing.reference.aggregating import tick_of
from duolog.testing.reference.chosen_topics import topic_chooser
from duolog.testing.reference.metadata import partition_of_record
from duolog.testing.reference.operators import compile_node


class CompiledPlan:
    """A compiled plan: its levels, the function of each node, and the serdes."""

    def __init__(self, plan: Plan, tasks: int) -> None:
        self.levels = find_levels(plan, tasks)
        nodes = self.levels.nodes
        self.runs = {n: compile_node(n, self.levels.looked_up) for n in nodes}
        self.ticks = {
            node: tick_of(node)
            for node in nodes
            if isinstance(node, AggregateNode) and node.idle_ms is not None
        }
        """The tick functions of nodes that close windows without records."""
        self.successors = {node: self.levels.successors(node) for node in nodes}
        self.feeds = {source: self.levels.feeds(source) for source in plan.sources}
        self.serdes: dict[Node, tuple[Serde, Serde]] = {
            node: (
                key_serde(
                    node.key_format.name,
                    node.schema.key,
                    node.schema.window,
                    node.key_format.options,
                ),
                value_serde(node.value_format.name, node.schema.value, node.value_format.options),
            )
            for node in plan.nodes
            if isinstance(node, Source | Sink)
        }
        self.topics = {sink: topic_chooser(sink) for sink in plan.sinks}
        self.partitioners = {
            sink: partition_of_record(sink.partitioner, sink, at_most=PARTITIONS_MAX)
            for sink in plan.sinks
        }
        self.edge_keys = [
            key_serde(internal_key_format(edge.key).name, self.levels.task_key(edge))
            for edge in self.levels.edges
        ]
        self.senders = [
            partition_of_record(
                edge.repartition.partitioner if edge.repartition else None, edge.parent
            )
            for edge in self.levels.edges
        ]
