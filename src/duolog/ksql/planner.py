"""From a query to nodes of the plan.

source ─▶ WHERE ─▶ PARTITION BY ─▶ select ─▶ sink
source ─▶ WHERE ─▶ GROUP BY ─▶ aggregate ─▶ HAVING ─▶ sink
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from duolog.ksql.analysis import Item, items_of, key_of, output_columns
from duolog.ksql.binder import Binder
from duolog.ksql.catalog import Catalog, SourceInfo, SourceWindow, SqlColumn, SqlFormat
from duolog.ksql.grouping import Grouping
from duolog.ksql.scope import SqlScope
from duolog.ksql.sinks import Target
from duolog.ksql.sources import Relation, SourceReader, plan_format
from duolog.ksql.steps import NodeT, Steps
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    GroupBy,
    Node,
    Plan,
    Project,
    SelectKey,
    Sink,
)
from duolog.plan.nodes.plan import plan_of


@dataclass(frozen=True, slots=True)
class Planned:
    """A query that can run: its plan, and the stream or table that it makes."""

    plan: Plan
    columns: tuple[SqlColumn, ...]
    is_table: bool
    topic: str
    key_format: SqlFormat
    value_format: SqlFormat
    sources: tuple[SourceInfo, ...]
    window: SourceWindow | None = None
    """The window that is in the keys of the result."""


def plan_query(select: exp.Select, catalog: Catalog, target: Target) -> Planned:
    """Return the plan of a persistent query.

    Raises:
        SqlError: it cannot run.
    """
    return _Planner(catalog).plan(select, target)


@dataclass
class _Planner:
    catalog: Catalog
    steps: Steps = field(default_factory=Steps)

    def plan(self, select: exp.Select, target: Target) -> Planned:
        relation = self._relation(select)
        node, scope = relation.node, relation.scope
        node = self._filtered(node, scope, select.args.get("where"), "WHERE")
        items = items_of(select, scope)
        if select.args.get("group"):
            node, columns = self._aggregated(select, node, scope, items)
        else:
            node, columns = self._projected(select, node, scope, items)
        source = relation.sources[0]
        key_format, value_format = target.formats(source, columns)
        sink = self._add(
            "sink",
            lambda name: Sink(
                name, node, target.topic, plan_format(key_format), plan_format(value_format)
            ),
        )
        return Planned(
            plan_of(sink),
            columns,
            node.is_table,
            target.topic,
            key_format,
            value_format,
            relation.sources,
            None if select.args.get("group") else source.window,
        )

    def _relation(self, select: exp.Select) -> Relation:
        used = frozenset(column.name for column in select.find_all(exp.Column))
        reader = SourceReader(self.catalog, self.steps, used)
        return reader.read(select.args["from_"].this)

    # Clauses.

    def _filtered(
        self, node: Node, scope: SqlScope, clause: exp.Where | exp.Having | None, called: str
    ) -> Node:
        if clause is None:
            return node
        predicate = self._binder(scope.within(called)).condition(clause.this)
        return self._add("filter", lambda name: Filter(name, node, predicate))

    def _projected(
        self, select: exp.Select, node: Node, scope: SqlScope, items: tuple[Item, ...]
    ) -> tuple[Node, tuple[SqlColumn, ...]]:
        binder = self._binder(scope)
        partition = select.args.get("partition_by")
        if partition is not None:
            bound = [
                self._binder(scope.within("PARTITION BY")).bind(one)
                for one in partition.expressions
            ]
            keys = key_of(partition.expressions, bound, items)
            unkeyed = node
            node = self._add("select-key", lambda name: SelectKey(name, unkeyed, keys))
        key_names = {column.name for column in node.schema.key}
        values = tuple(
            (item.name, binder.bind(item.node).expression)
            for item in items
            if item.name not in key_names
        )
        read = node
        node = self._add("project", lambda name: Project(name, read, values))
        return node, output_columns(node.schema)

    def _aggregated(
        self, select: exp.Select, node: Node, scope: SqlScope, items: tuple[Item, ...]
    ) -> tuple[Node, tuple[SqlColumn, ...]]:
        grouping = Grouping(select, scope, items, self.catalog.types)
        group = self._add("group", lambda name: GroupBy(name, node, grouping.keys))
        folded = grouping.fold(group)
        aggregate: Node = self._add(
            "aggregate",
            lambda name: AggregateNode(
                name, group, f"{name}-store", folded.accumulators, folded.results
            ),
        )
        having = select.args.get("having")
        if having is not None:
            predicate = grouping.having(having)
            aggregate = self._add("having", lambda name: Filter(name, aggregate, predicate))
        wanted = grouping.wanted
        aggregate = self._add("project", lambda name: Project(name, aggregate, wanted))
        return aggregate, output_columns(aggregate.schema)

    def _binder(self, scope: SqlScope) -> Binder:
        return Binder(scope, self.catalog.types)

    def _add(self, kind: str, make: Callable[[str], NodeT]) -> NodeT:
        return self.steps.add(kind, make)
