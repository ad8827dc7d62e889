"""Lower a plan to the kernel's spec: walk the levels of `plan.cutting.levels` and link the nodes.

    plan ─▶ find_levels ─▶ for each source:        decode ─▶ nodes of its ingress ─▶ routes, sinks
                           for each sub-topology:  edge   ─▶ its nodes            ─▶ routes, sinks

Sources come first and levels in their order, so that the row that arrives at an edge is known
before the edge's readers are lowered. The spec's form is documented in `jvm/README.md`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from duolog.engine.json_object import Json
from duolog.engine.lowering.expressions.python_functions import collecting
from duolog.engine.lowering.nodes.aggregates import lower_aggregate
from duolog.engine.lowering.nodes.foreign_joins import (
    lower_announce,
    lower_answers,
    lower_foreign_join,
    lower_foreign_table,
    lower_newest,
    lower_numbered,
    lower_subscribe,
    lower_subscriptions,
)
from duolog.engine.lowering.nodes.idle import add_ticks
from duolog.engine.lowering.nodes.keys import (
    lower_edge,
    lower_group_by,
    lower_repartition,
    lower_select_key,
)
from duolog.engine.lowering.nodes.metadata import lower_set_headers, lower_set_time
from duolog.engine.lowering.nodes.processors import lower_process, lower_process_output
from duolog.engine.lowering.nodes.required import required_columns
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings, reshape
from duolog.engine.lowering.nodes.sources_and_sinks import (
    lower_for_each,
    lower_print,
    lower_sink,
    lower_source,
)
from duolog.engine.lowering.nodes.stateless import (
    lower_branch,
    lower_explode,
    lower_filter,
    lower_project,
    lower_rename,
    lower_split,
    lower_to_stream,
)
from duolog.engine.lowering.nodes.stream_joins import lower_stream_join, lower_stream_join_side
from duolog.engine.lowering.nodes.suppress import lower_suppress
from duolog.engine.lowering.nodes.tables import (
    lower_join,
    lower_join_side,
    lower_table,
    lower_table_join,
    lower_to_table,
)
from duolog.engine.lowering.spark_sql.sql import spark_types
from duolog.engine.lowering.spec.node_spec import NodeSpec
from duolog.engine.lowering.spec.operators import FilterOperator
from duolog.plan.cutting.cuts import TableCopy
from duolog.plan.cutting.levels import Edge, Levels, SubTopology
from duolog.plan.nodes import (
    AggregateNode,
    Announce,
    Answers,
    Branch,
    Explode,
    Filter,
    ForEach,
    ForeignJoin,
    ForeignTable,
    GlobalTableJoin,
    GlobalTableSource,
    GroupBy,
    JoinSide,
    Merge,
    Newest,
    Node,
    Numbered,
    Print,
    Process,
    ProcessOutput,
    Project,
    Rename,
    Repartition,
    SelectKey,
    SetHeaders,
    SetTime,
    Sink,
    Source,
    Split,
    StreamJoin,
    StreamJoinSide,
    StreamTableJoin,
    Subscribe,
    Subscriptions,
    Suppress,
    TableJoin,
    TableSource,
    ToStream,
    ToTable,
)

Rule = Callable[[Any, Row, Surroundings], Lowered]

RULES: Final[dict[type[Node], Rule]] = {
    TableSource: lower_table,
    GlobalTableSource: lower_table,
    TableCopy: lower_table,
    Filter: lower_filter,
    Project: lower_project,
    Rename: lower_rename,
    Explode: lower_explode,
    Split: lower_split,
    Branch: lower_branch,
    ToStream: lower_to_stream,
    ToTable: lower_to_table,
    SelectKey: lower_select_key,
    SetHeaders: lower_set_headers,
    SetTime: lower_set_time,
    GroupBy: lower_group_by,
    Repartition: lower_repartition,
    StreamTableJoin: lower_join,
    GlobalTableJoin: lower_join,
    JoinSide: lower_join_side,
    TableJoin: lower_table_join,
    Numbered: lower_numbered,
    Announce: lower_announce,
    Subscribe: lower_subscribe,
    Subscriptions: lower_subscriptions,
    ForeignTable: lower_foreign_table,
    Answers: lower_answers,
    Newest: lower_newest,
    ForeignJoin: lower_foreign_join,
    StreamJoinSide: lower_stream_join_side,
    StreamJoin: lower_stream_join,
    AggregateNode: lower_aggregate,
    Suppress: lower_suppress,
    Process: lower_process,
    ProcessOutput: lower_process_output,
    Print: lower_print,
    ForEach: lower_for_each,
    Sink: lower_sink,
}
"""One row for each kind of node."""


def lower(levels: Levels, application_id: str, *, cache_bytes_max: int) -> Json:
    """Return the kernel's spec of a plan that was cut into `levels`."""
    with collecting(application_id) as functions:
        spec = _lower(levels, application_id, cache_bytes_max)
        return spec | functions.spec()


def _lower(levels: Levels, application_id: str, cache_bytes_max: int) -> Json:
    walk = _Walk(levels, Surroundings(levels, required_columns(levels.plan), application_id))
    for index, ingress in enumerate(levels.ingresses):
        walk.lower_ingress(ingress.source, index)
    for subtopology in levels.subtopologies:
        walk.lower_subtopology(subtopology)
    spec: Json = {
        "application_id": application_id,
        "tasks": levels.tasks,
        # One Spark partition for each task: state and records of a task are in the same place.
        "shuffle_partitions": levels.tasks,
        "real_time": False,
        "cache_bytes_max": cache_bytes_max,
        "sources": walk.sources,
        "edges": [walk.edges[edge.id] for edge in levels.edges],
        "levels": [[part.id for part in level.subtopologies] for level in levels.levels],
        "nodes": {number: node.json() for number, node in walk.nodes.items()},
        # Buffered results are flushed in plan order, as Kafka Streams flushes its stores.
        "stores": list(dict.fromkeys(store for node in levels.nodes for store in node.stores)),
        "sinks": [
            *(_output(sink, number) for number, sink in enumerate(levels.sinks)),
            *(_call(node, len(levels.sinks) + n) for n, node in enumerate(levels.plan.calls)),
        ],
    }
    add_ticks(spec, levels)
    return spec


def _output(sink: Sink, number: int) -> Json:
    window = sink.schema.window
    return {"id": number, "topic": sink.topic, "window_bytes": window.bytes if window else 0}


def _call(node: ForEach, number: int) -> Json:
    """Return the sink that represents a function: its topic field is the node's name."""
    return {"id": number, "topic": node.name, "window_bytes": 0, "call": True}


@dataclass(slots=True)
class _Walk:
    levels: Levels
    around: Surroundings
    nodes: dict[str, NodeSpec] = field(default_factory=dict)
    sources: list[Json] = field(default_factory=list)
    edges: dict[int, Json] = field(default_factory=dict)
    arriving: dict[Edge, Row] = field(default_factory=dict)
    lowered: dict[Node, list[int]] = field(default_factory=dict)

    def lower_ingress(self, source: Source, source_id: int) -> None:
        described, row = lower_source(source, source_id, self.around)
        self.sources.append(described)
        feeds = [self._edge(edge, row) for edge in self.levels.feeds(source)]
        described["children"] = feeds or self._successors(source, row)

    def lower_subtopology(self, subtopology: SubTopology) -> None:
        for edge in subtopology.inputs:
            row = self.arriving[edge]
            readers = [first for node in edge.consumers for first in self._node(node, row)]
            self.edges[edge.id]["node"] = self._one_reader(edge, readers)

    def _node(self, node: Node, row: Row) -> list[int]:
        """Add the kernel nodes of `node`, and everything downstream; return the first ones.

        A node with two parents gets the same row from both, and is added once.
        """
        if isinstance(node, Merge):
            return self._merge(node, row)
        if node not in self.lowered:
            self.lowered[node] = self._lower_node(node, row)
        return self.lowered[node]

    def _merge(self, node: Merge, row: Row) -> list[int]:
        """Convert the row of one of the streams to their common form."""
        needed = self.around.needed(node)
        wanted = [column.name for column in node.schema.value if column.name in needed]
        entries, common = reshape(row, node.schema, wanted, f"{node.name}-form")
        if node not in self.lowered:
            self.lowered[node] = self._successors(node, common)
        if not entries:
            return self.lowered[node]
        entries[-1].children += self.lowered[node]
        return self._link(entries)[:1]

    def _lower_node(self, node: Node, row: Row) -> list[int]:
        lowered = RULES[type(node)](node, row, self.around)
        if not lowered.entries:
            return self._successors(node, lowered.row)
        ids = self._link(lowered.entries)
        last = lowered.entries[-1]
        last.children += self._successors(node, lowered.row)
        return ids[:1]

    def _successors(self, node: Node, row: Row) -> list[int]:
        children: list[int] = []
        for successor in self.levels.successors(node):
            if isinstance(successor, Edge):
                children.append(self._edge(successor, row))
            else:
                children += self._node(successor, row)
        return children

    def _edge(self, edge: Edge, row: Row) -> int:
        lowered = lower_edge(edge, row, self.around)
        self.arriving[edge] = lowered.row
        self.edges[edge.id] = {
            "id": edge.id,
            "subtopology": edge.target,
            "queue": edge.queue,
            "rekeyed": edge.rekeyed,
            "key_types": spark_types(lowered.row.key),
            "value_types": spark_types(lowered.row.value),
        }
        return self._link(lowered.entries)[0]

    def _one_reader(self, edge: Edge, readers: list[int]) -> int:
        """Return the node that an edge feeds; several readers share a filter that passes all."""
        if len(readers) == 1:
            return readers[0]
        row = self.arriving[edge]
        everything = row.entry(f"edge-{edge.id}", FilterOperator(predicate="true"))
        everything.children = readers
        return self._link([everything])[0]

    def _link(self, entries: list[NodeSpec]) -> list[int]:
        ids = []
        for entry in entries:
            ids.append(len(self.nodes))
            self.nodes[str(ids[-1])] = entry
        for entry, following in zip(entries, ids[1:], strict=False):
            entry.children.append(following)
        return ids
