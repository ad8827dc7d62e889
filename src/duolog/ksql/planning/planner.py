"""Plan queries: from a SELECT to nodes of the plan.

sources ─▶ WHERE ─▶ PARTITION BY ─▶ table functions ─▶ project, rename ─▶ sink
sources ─▶ WHERE ─▶ GROUP BY ─▶ aggregate ─▶ HAVING ─▶ project, rename ─▶ sink
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from duolog.ksql import settings
from duolog.ksql.catalog.catalog import (
    Catalog,
    SourceInfo,
    SourceWindow,
    SqlColumn,
    SqlFormat,
    TimestampColumn,
)
from duolog.ksql.catalog.format_support import Unsupported
from duolog.ksql.catalog.formats import assumed_format, ensure_readable, plan_format
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.aggregates import aggregates_in
from duolog.ksql.expressions.binder import Binder
from duolog.ksql.planning.analysis import Item, error_text, items_of, renamed
from duolog.ksql.planning.grouping import Grouping, not_grouped
from duolog.ksql.planning.joins import Joiner
from duolog.ksql.planning.nested import NamedQuery, Nested, inner_query, named_queries, only_select
from duolog.ksql.planning.null_values import Presence, with_mark
from duolog.ksql.planning.partitioning import keyed_as_selected, partitioned
from duolog.ksql.planning.projection import Projected, View, project
from duolog.ksql.planning.sinks import Target
from duolog.ksql.planning.sources import (
    WINDOW_BOUNDS,
    Relation,
    SourceReader,
    time_of,
)
from duolog.ksql.planning.statement_text import rewritten
from duolog.ksql.planning.steps import Steps
from duolog.ksql.planning.table_functions import exploded, table_functions_in
from duolog.ksql.planning.unions import branches, united
from duolog.ksql.planning.windowing import source_window
from duolog.ksql.planning.written_headers import ensure_no_headers, with_headers
from duolog.ksql.settings import Settings
from duolog.ksql.syntax.nodes import place_of
from duolog.plan.expressions import Call, Cast, ColumnRef, RowTime, type_of
from duolog.plan.nodes import Filter, Node, Plan, Project, SetTime, Sink, ToStream
from duolog.plan.nodes.expiry import ttl_of
from duolog.plan.nodes.plan import plan_of
from duolog.plan.sql.registry import PREFIX
from duolog.plan.types import BIGINT, INT, TIMESTAMP


@dataclass(frozen=True, slots=True)
class Planned:
    """A query that can run: its plan, and the stream or table that it writes."""

    plan: Plan
    columns: tuple[SqlColumn, ...]
    is_table: bool
    topic: str
    key_format: SqlFormat
    value_format: SqlFormat
    sources: tuple[SourceInfo, ...]
    window: SourceWindow | None = None
    """Window in the keys of the result."""
    ttl_ms: int | None = None
    """Time after which rows of the result are removed if they, or their input, are not updated."""
    selected: tuple[str, ...] = ()
    """Columns in select order, with stars expanded."""
    read_by: Mapping[str, str] = field(default_factory=dict)
    """The stream or table that a source node of the plan reads, by the name of the node."""


def plan_query(select: exp.Select, catalog: Catalog, target: Target) -> Planned:
    """Return the plan of a persistent query.

    Raises:
        SqlError: the query is invalid.
    """
    return _Planner(catalog, target.settings).plan(select, target)


@dataclass
class _Planner:
    catalog: Catalog
    settings: Settings
    steps: Steps = field(default_factory=Steps)
    around: Mapping[str, NamedQuery] = field(default_factory=dict)
    """Queries in WITH that are visible here."""
    _nested: dict[int, Nested] = field(default_factory=dict)
    """Results of subqueries, by the node in FROM or JOIN that reads them."""

    def plan(self, select: exp.Select, target: Target) -> Planned:
        relation, view, items = self._view(select, target)
        timestamp = _time_of(view, items, target)
        view, items, headers = with_headers(select, view, items, target, self.steps)
        keys_only = select.args.get("distinct") is not None
        result = project(view, items, target.name, self.steps, keys_only=keys_only)
        try:
            planned = self._ended(select, relation, result, target, timestamp)
            selected = tuple(item.name for item in items)
            return replace(planned, columns=(*planned.columns, *headers), selected=selected)
        except Unsupported as error:
            begin = target.begin(is_table=result.node.is_table)
            text = rewritten(begin, select, items, view.scope)
            raise SqlError(f"{error.message}\nStatement: {text}") from error

    def _view(self, select: exp.Select, target: Target) -> tuple[Relation, View, tuple[Item, ...]]:
        """Return the sources of a query, the records to project, and the select items."""
        relation = self._relation(select)
        self._ensure_fits(select, relation, persistent=bool(target.name))
        self._ensure_supported(relation, target)
        relation = self._filtered(select, relation)
        if self._groups(select):
            grouping = Grouping(
                select,
                relation,
                self.catalog.types,
                self.steps,
                self.settings,
                target.properties.ttl_ms(),
            )
            return relation, *grouping.view()
        if "TTL" in target.properties:
            raise SqlError(
                "TTL applies to groups, and this query has none.",
                hint="Set it on the table that is read, CREATE TABLE … WITH (TTL = '7 days'): "
                "derived rows are removed with their input.",
            )
        return relation, *self._selected(select, relation)

    def _inner(self, table: exp.Expression, known: Mapping[str, NamedQuery]) -> Nested | None:
        """Return the result of the subquery in FROM or JOIN; None for a stream or table."""
        found = inner_query(table, known)
        if found is None:
            return None
        if id(table) not in self._nested:
            inner = _Planner(self.catalog, self.settings, self.steps, found[0].before)
            self._nested[id(table)] = inner._made(*found)
        return self._nested[id(table)]

    def _made(self, named: NamedQuery, name: str) -> Nested:
        """Return the result of a subquery as a source."""
        parts = branches(named.query)
        if len(parts) > 1:
            known = named_queries(named.query, self.around)
            made: list[tuple[Nested, tuple[str, ...]]] = []
            for part in parts:
                planner = _Planner(self.catalog, self.settings, self.steps, known)
                # Columns are matched by position: later queries may use any names.
                called = made[0][1] if made else ()
                made.append(planner._one_made(NamedQuery(part, named.columns, known), name, called))
            return united(made, named.query, self.steps)
        return self._one_made(named, name)[0]

    def _one_made(
        self, named: NamedQuery, name: str, called: Sequence[str] = ()
    ) -> tuple[Nested, tuple[str, ...]]:
        """Return the result of one SELECT, and its columns in select order.

        If as many names as columns are given in `called`, the columns get these names.
        """
        select = only_select(named.query)
        ensure_no_headers(select)
        relation, view, items = self._view(select, Target(name, settings=self.settings, name=name))
        if named.columns:
            items = renamed(items, named.columns, named.query)
        elif len(items) == len(called):
            items = renamed(items, called, named.query)
        keys_only = select.args.get("distinct") is not None
        result = project(view, items, name, self.steps, keys_only=keys_only)
        first = relation.sources[0]
        info = SourceInfo(
            name,
            "TABLE" if result.node.is_table else "STREAM",
            result.columns,
            first.topic,
            first.key_format,
            first.value_format,
            _window_in_key(select, result.node, relation),
            ttl_ms=ttl_of(result.node) if result.node.is_table else None,
        )
        made = Nested(info, result.node, self._sources(relation))
        return made, tuple(item.name for item in items)

    def _sources(self, relation: Relation) -> tuple[SourceInfo, ...]:
        """Return the catalog's sources of a query and its subqueries, from left to right."""
        inner = {id(one.info): one.sources for one in self._nested.values()}
        return tuple(real for one in relation.sources for real in inner.get(id(one), (one,)))

    def _relation(self, select: exp.Select) -> Relation:
        used = frozenset(column.name for column in select.find_all(exp.Column))
        throws = self.settings.truth(settings.THROW_ON_INVALID_TIME)
        every = any(
            isinstance(part, exp.Star) for item in select.expressions for part in (item, item.this)
        )
        known = named_queries(select, self.around)
        reader = SourceReader(
            self.catalog,
            self.steps,
            used,
            every,
            "fail" if throws else "skip",
            self.settings.strict,
            lambda table: self._inner(table, known),
        )
        if select.args.get("joins"):
            return Joiner(reader, self.steps, self.settings.strict).relation(select)
        return reader.read(select.args["from_"].this)

    def _filtered(self, select: exp.Select, relation: Relation) -> Relation:
        clause = select.args.get("where")
        if clause is None:
            return relation
        if select.args.get("stream_window"):
            _ensure_no_bounds(clause, relation)
        predicate = Binder(relation.scope.within("WHERE"), self.catalog.types).condition(
            clause.this
        )
        marked, condition = Presence(relation, self.steps).where(predicate)
        node = self.steps.add("filter", lambda name: Filter(name, marked.node, condition))
        return replace(relation, node=node)

    def _selected(self, select: exp.Select, relation: Relation) -> tuple[View, tuple[Item, ...]]:
        """Return the records of a query without groups, and its select items."""
        clause = select.args.get("partition_by")
        first: list[exp.Expression] = []
        if clause is not None:
            relation = partitioned(
                relation, clause, self.catalog.types, self.steps, strict=self.settings.refuses
            )
            first = [key.given[0] for key in relation.keys]
        binder = Binder(relation.scope, self.catalog.types)
        items = items_of(select, binder, first)
        if clause is None and self.settings.truth(settings.NEW_PLANNER):
            relation = keyed_as_selected(relation, items, self.steps)
        node = relation.node
        if table_functions_in(*(item.node for item in items)):
            node, binder = exploded(relation, items, binder, self.steps)
        return View(node, binder, relation.scope, relation.keys, relation.keyed_by), items

    def _ended(
        self,
        select: exp.Select,
        relation: Relation,
        result: Projected,
        target: Target,
        timestamp: TimestampColumn | None,
    ) -> Planned:
        """Write the result of a query to its topic."""
        self._ensure_key_format(select, target)
        key_format, value_format = target.formats(relation.sources[0], result.columns)
        sources = self._sources(relation)
        for source in sources:
            ensure_readable(source)
        node = self._timed(result.node, timestamp)
        if target.name:
            formats = plan_format(key_format), plan_format(value_format)
        else:
            of = {role: [c for c in result.columns if c.role == role] for role in ("KEY", "VALUE")}
            formats = (
                assumed_format(key_format, of["KEY"]),
                assumed_format(value_format, of["VALUE"]),
            )
        sink = self.steps.add("sink", lambda name: Sink(name, node, target.topic, *formats))
        return Planned(
            plan_of(sink),
            result.columns,
            result.node.is_table,
            target.topic,
            key_format,
            value_format,
            sources,
            _window_in_key(select, result.node, relation),
            ttl_of(result.node) if result.node.is_table else None,
            read_by=dict(self.steps.sources),
        )

    def _timed(self, node: Node, timestamp: TimestampColumn | None) -> Node:
        if timestamp is None:
            return node
        time = time_of(timestamp, node.schema)
        if type_of(time, node.schema) == TIMESTAMP:
            time = Call(PREFIX + "UNIX_TIMESTAMP", (time,))
        if type_of(time, node.schema) in {INT, BIGINT}:
            time = Cast(time, BIGINT)
        if node.is_table:
            table = node
            node = self.steps.add("changes", lambda name: ToStream(name, table))
        # Deletions keep their timestamp. Rows with a null timestamp are logged and not written, as
        # in ksqlDB.
        values = tuple((column.name, ColumnRef(column.name)) for column in node.schema.value)
        marked, mark = with_mark(node, self.steps)
        kept = Call("CASE", (mark, time, RowTime()))
        timed = self.steps.add("time", lambda name: SetTime(name, marked, kept))
        return self.steps.add("unmarked", lambda name: Project(name, timed, values))

    def _ensure_supported(self, relation: Relation, target: Target) -> None:
        """Raise a SqlError in strict mode if ksqlDB does not support such a persistent query."""
        windowed = any(one.kind == "TABLE" and one.window for one in relation.sources)
        if windowed and target.name and self.settings.strict:
            raise SqlError("KSQL does not support persistent queries on windowed tables.")

    def _ensure_key_format(self, select: exp.Select, target: Target) -> None:
        """Refuse a key format if PARTITION BY NULL removes the key, as ksqlDB does."""
        clause = select.args.get("partition_by")
        if clause is None or not self.settings.refuses:
            return
        given = target.properties.format("KEY")
        removed = all(isinstance(node, exp.Null) for node in clause.expressions)
        if removed and given is not None and given.name != "NONE":
            raise SqlError("Key format specified for stream without key columns.")

    def _groups(self, select: exp.Select) -> bool:
        """Return true if the rows of a query are groups of records."""
        if select.args.get("group") is not None or select.args.get("distinct") is not None:
            return True
        return bool(aggregates_in(*select.expressions, select.args.get("having")))

    def _ensure_fits(self, select: exp.Select, relation: Relation, *, persistent: bool) -> None:
        """Raise a SqlError if clauses of a query contradict each other."""
        calls = aggregates_in(*select.expressions)
        grouped = select.args.get("group") is not None
        if not (persistent and self.settings.strict):
            grouped = self._groups(select)
        if (grouped or calls) and table_functions_in(*select.expressions):
            raise SqlError("Table functions cannot be used with aggregations.")
        if calls and not grouped:
            raise _not_grouped(select, relation, calls)
        window = select.args.get("stream_window")
        if window is not None and not grouped:
            raise SqlError("WINDOW clause requires a GROUP BY clause.", at=place_of(window))
        if window is not None and relation.node.is_table:
            raise SqlError("Windowing not supported for table aggregations.", at=place_of(window))
        if select.args.get("having") is not None and not grouped:
            raise SqlError("HAVING clause requires a GROUP BY clause.")
        emit = select.args.get("emit")
        if emit is not None and emit.this == "FINAL" and window is None:
            raise SqlError("EMIT FINAL is only supported for windowed aggregations.")


def _time_of(view: View, items: tuple[Item, ...], target: Target) -> TimestampColumn | None:
    """Return the column from which rows take their timestamps, one of the select items."""
    if target.sink is not None:
        return target.sink.timestamp
    if target.properties.text("TIMESTAMP") is None:
        return None
    return target.properties.timestamp(
        {item.name: view.binder.bind(item.node).type for item in items}
    )


def _not_grouped(select: exp.Select, relation: Relation, calls: list[exp.Anonymous]) -> SqlError:
    inside = {id(part) for call in calls for part in call.walk()}
    stray = [
        column
        for item in select.expressions
        for column in item.find_all(exp.Column)
        if id(column) not in inside
    ]
    if stray:
        return not_grouped(
            {error_text(column, relation.scope): column for column in reversed(stray)}
        )
    texts = dict.fromkeys(_with_row_time(call, relation) for call in calls)
    kind = "TABLE"
    return SqlError(
        f"CREATE {kind} AS SELECT statement does not support aggregate function "
        f"[{', '.join(texts)}] without a GROUP BY clause."
    )


def _with_row_time(call: exp.Expression, relation: Relation) -> str:
    """Format a call as ksqlDB does, which counts rows by their ROWTIME."""
    text = error_text(call, relation.scope)
    return text.replace("(*)", "(ROWTIME)").replace("()", "(ROWTIME)")


def _ensure_no_bounds(clause: exp.Expression, relation: Relation) -> None:
    for column in clause.find_all(exp.Column):
        if column.name in WINDOW_BOUNDS and relation.scope.get(column) is None:
            raise SqlError(
                f"Error in WHERE expression: Unknown column {column.name}.", at=place_of(column)
            )


def _window_in_key(select: exp.Select, node: Node, relation: Relation) -> SourceWindow | None:
    """Return the window in the keys of a result: the query's own, or that of its source."""
    window = select.args.get("stream_window")
    if window is not None:
        return source_window(window)
    return relation.sources[0].window if node.schema.window is not None else None
