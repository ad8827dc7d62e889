"""Plan GROUP BY: keys of the groups, aggregates, HAVING and select items.

    records ─▶ group (keys) ─▶ aggregate ─▶ HAVING ─▶ the view to project

    GROUP BY a, b                      keys a, b
    aggregates without GROUP BY        one group: the key is the constant ROWKEY
    SELECT DISTINCT a, b               keys a, b, without value columns

After the aggregate, an expression may contain grouping expressions (as written in GROUP BY) and
aggregates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from duolog.ksql.catalog.format_support import SUPPORT, ensure_formats
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.aggregates import (
    aggregates_in,
    bind_aggregate,
    called,
    ensure_merges,
    is_aggregate,
)
from duolog.ksql.expressions.binder import Binder, Bound
from duolog.ksql.expressions.scope import SqlScope, Visible, is_parameter
from duolog.ksql.planning.analysis import Item, error_text, items_of, meaning
from duolog.ksql.planning.key_rules import ensure_key_expressions
from duolog.ksql.planning.keys import new_key, synthetic
from duolog.ksql.planning.projection import GROUPING, View
from duolog.ksql.planning.sources import WINDOW_BOUNDS, KeyColumn, Relation
from duolog.ksql.planning.steps import Steps, unused
from duolog.ksql.planning.windowing import idle_ms, is_final, retention_ms, windows_of
from duolog.ksql.settings import Settings
from duolog.ksql.syntax.nodes import StreamWindow, place_of
from duolog.plan.aggregates import Fold, fold
from duolog.plan.expressions import Aggregate, ColumnRef, Named, Scope, literal, type_of
from duolog.plan.nodes import AggregateNode, Filter, GroupBy, Node, scope_of
from duolog.plan.types import BIGINT, INT, Column, Type

if TYPE_CHECKING:
    from duolog.plan.nodes.aggregate import Emit

_FILLER = ("rows", Aggregate("count"))
"""Stored for groups without an aggregate."""


@dataclass
class Grouping:
    """The aggregation of one SELECT."""

    select: exp.Select
    relation: Relation
    types: Mapping[str, Type]
    steps: Steps
    settings: Settings
    ttl_ms: int | None = None
    """Time after which a group that was not updated is removed."""
    _results: dict[str, tuple[str, Aggregate, Type]] = field(default_factory=dict)
    """By the canonical text of a call: name, aggregate and type of its result."""

    def view(self) -> tuple[View, tuple[Item, ...]]:
        """Return the rows of the groups, and the select items over them.

        Raises:
            SqlError: a select item is neither a grouping expression nor an aggregate.
        """
        self._ensure_clause()
        self._ensure_bounds_are_selected_only()
        self._ensure_ttl()
        items = self._items
        self._ensure_grouped(items)
        source = self.relation.node
        group = self.steps.add("group", lambda name: GroupBy(name, source, self._keys))
        having = self.select.args.get("having")
        calls = aggregates_in(*(item.node for item in items), having)
        self._ensure_kept(calls)
        for call in calls:
            self._add(call, group)
        node: Node = self.steps.add("aggregate", lambda name: self._aggregate(name, group))
        binder = Binder(self._scope_after, self.types, self._over_results)
        if having is not None:
            predicate = Binder(
                self._scope_after.within("HAVING"), self.types, self._over_results
            ).condition(having.this)
            grouped = node
            node = self.steps.add("having", lambda name: Filter(name, grouped, predicate))
        keys = tuple(
            KeyColumn(name, (given,))
            for (name, _), given in zip(self._keys, self._given, strict=True)
        )
        return View(node, binder, self._scope, keys, GROUPING), items

    @property
    def _scope(self) -> SqlScope:
        return self.relation.scope

    @property
    def _is_one_group(self) -> bool:
        """True for aggregates without GROUP BY: all records are in one group."""
        having = self.select.args.get("having")
        ungrouped = self.select.args.get("group") is None
        return ungrouped and bool(aggregates_in(*self.select.expressions, having))

    @property
    def _is_distinct(self) -> bool:
        """True for SELECT DISTINCT without groups; groups are distinct anyway."""
        ungrouped = self.select.args.get("group") is None and not self._is_one_group
        return ungrouped and self.select.args.get("distinct") is not None

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        """Select items. The key of a single group is added, because its name is generated."""
        items = items_of(self.select, Binder(self._scope, self.types))
        if self._is_one_group:
            (key,) = self._given
            if all(meaning(item.node, self._scope) != meaning(key, self._scope) for item in items):
                items = (Item(key.name, key), *items)
        return items

    @cached_property
    def _given(self) -> list[exp.Expression]:
        if self._is_one_group:
            name = synthetic({column.name for column in self._scope.columns})
            return [exp.column(exp.to_identifier(name, quoted=True))]
        if self._is_distinct:
            nodes = {meaning(item.node, self._scope): item.node for item in self._items}
            return list(nodes.values())
        return list(self.select.args["group"].expressions)

    @property
    def _window(self) -> StreamWindow | None:
        found: StreamWindow | None = self.select.args.get("stream_window")
        return found

    @cached_property
    def _keys(self) -> tuple[Named, ...]:
        """Key columns, one for each grouping expression."""
        if self._is_one_group:
            return ((self._given[0].name, literal(0)),)
        binder = Binder(self._scope.within("GROUP BY"), self.types)
        return new_key(self._given, binder, self.relation)

    @cached_property
    def _key_types(self) -> dict[str, Bound]:
        """Column of each grouping expression after the aggregate, by canonical text."""
        if self._is_one_group:
            (key,) = self._given
            return {meaning(key, self._scope): Bound(ColumnRef(key.name), INT)}
        binder = Binder(self._scope.within("GROUP BY"), self.types)
        return {
            meaning(given, self._scope): Bound(ColumnRef(name), binder.bind(given).type)
            for given, (name, _) in zip(self._given, self._keys, strict=True)
        }

    @property
    def _scope_after(self) -> SqlScope:
        """Scope after the aggregate, which includes the window bounds."""
        if self._window is None or len(self.relation.sources) > 1:
            return self._scope
        bounds = (
            Visible(source, name, ColumnRef(bound), BIGINT, pseudo=True)
            for source in self._scope.sources
            for name, bound in WINDOW_BOUNDS.items()
        )
        return self._scope.having(*bounds)

    def _aggregate(self, name: str, group: GroupBy) -> AggregateNode:
        folded = self._folded(group)
        window = self._window
        final = is_final(self.select)
        when: Emit = "on close" if final else "on update"
        return AggregateNode(
            name,
            group,
            f"{name}-store",
            folded.accumulators,
            folded.results,
            None if window is None else windows_of(window, final=final),
            when,
            self.ttl_ms,
            retention_ms=None if window is None else retention_ms(window, final=final),
            idle_ms=None if window is None else idle_ms(window, on_close=final),
            loses=self.settings.strict,
        )

    def _folded(self, group: GroupBy) -> Fold:
        wanted = tuple((name, of) for name, of, _ in self._results.values()) or (_FILLER,)
        return fold(wanted, scope_of(group), undo=group.is_table)

    def _add(self, call: exp.Anonymous, group: GroupBy) -> None:
        """Add the result of an aggregate call; calls with the same meaning share one."""
        means = meaning(call, self._scope)
        if means in self._results:
            return
        found = bind_aggregate(call, Binder(self._scope, self.types), self.settings)
        one = fold((("x", found),), scope_of(group), undo=group.is_table)
        columns = tuple(Column(kept.name, kept.type) for kept in one.accumulators)
        of = type_of(one.results[0][1], Scope(group.schema.key, accumulators=columns))
        taken = {name for name, _ in self._keys} | {name for name, _, _ in self._results.values()}
        name = unused(error_text(call, self._scope), taken)
        self._results[means] = (name, found, of)

    def _over_results(self, node: exp.Expression) -> Bound | None:
        """Bind an expression after the aggregate."""
        if is_aggregate(node):
            name, _, of = self._results[meaning(node, self._scope)]
            return Bound(ColumnRef(name), of)
        found = self._key_types.get(meaning(node, self._scope))
        if found is not None or not isinstance(node, exp.Column) or is_parameter(node):
            return found
        if not self._is_bound(node):
            self._scope_after.within("HAVING").find(node)  # reports unknown columns
            raise SqlError(
                "Non-aggregate HAVING expression not part of GROUP BY: "
                f"[{error_text(node, self._scope)}]",
                at=place_of(node),
                hint="Group by it, or aggregate it: MAX(…), LATEST_BY_OFFSET(…).",
            )
        return found

    def _is_bound(self, node: exp.Expression) -> bool:
        """Return true if a column is a window bound of the group."""
        if not isinstance(node, exp.Column) or node.name not in WINDOW_BOUNDS:
            return False
        return self._scope_after.get(node) is not None

    # Checks.

    def _ensure_clause(self) -> None:
        """Raise a SqlError if records cannot be grouped by the expressions in GROUP BY."""
        group = self.select.args.get("group")
        if group is None:
            return
        if self.settings.refuses:
            ensure_formats(self.relation.sources, "GROUP BY")
        ensure_key_expressions("GROUP BY", group.expressions, self._scope)

    def _ensure_kept(self, calls: Sequence[exp.Anonymous]) -> None:
        """Raise a SqlError if a function cannot aggregate these records."""
        strict = self.settings.strict
        allowed = {"always"} if strict else {"always", "beyond ksqlDB"}
        refused = [call for call in calls if called(call).over_tables not in allowed]
        if refused and self.relation.node.is_table:
            names = dict.fromkeys(called(call).function.name for call in refused)
            raise SqlError(
                f"The aggregation function(s) ({', '.join(names)}) cannot be applied to a table "
                "source, only to a stream source.",
                at=place_of(refused[0]),
            )
        if self._window is not None and self._window.args["kind"] == "SESSION":
            ensure_merges(calls)
        of = self.relation.sources[0].value_format
        parts = [call for call in calls if called(call).keeps_parts]
        if parts and strict and not SUPPORT[of.name].nested:
            raise SqlError(
                "One of the functions used in the statement has an intermediate type that the "
                "value format can not handle. Please remove the function or change the format.",
                at=place_of(parts[0]),
            )

    def _ensure_ttl(self) -> None:
        """Raise a SqlError if TTL is given for groups that cannot have one."""
        if self.ttl_ms is None:
            return
        if self._window is not None:
            raise SqlError(
                "TTL is not allowed for windows: their rows are removed after the windows close.",
                at=place_of(self._window),
                hint="Set RETENTION: WINDOW TUMBLING (SIZE 1 HOUR, RETENTION 7 DAYS).",
            )
        if self.relation.node.is_table:
            raise SqlError(
                "TTL is not allowed for groups of a table: a changed row cannot be subtracted from "
                "a removed group.",
                hint="Group the table's changes: CREATE STREAM … AS CHANGES OF.",
            )

    def _ensure_grouped(self, items: tuple[Item, ...]) -> None:
        """Raise a SqlError if a select item is neither a grouping expression nor an aggregate."""
        stray: dict[str, exp.Expression] = {}
        beside: dict[str, exp.Expression] = {}
        for item in items:
            found = self._stray_in(item.node)
            of_aggregate = bool(aggregates_in(item.node))
            if found and not of_aggregate:
                found = [item.node]
            for node in found:
                Binder(self._scope_after, self.types).bind(
                    node
                )  # reports invalid expressions first
                (beside if of_aggregate else stray).setdefault(error_text(node, self._scope), node)
        if stray:
            raise not_grouped(stray)
        if beside:
            raise SqlError(
                "Column used in aggregate SELECT expression(s) outside of aggregate functions not "
                f"part of GROUP BY: [{', '.join(beside)}]",
                at=place_of(next(iter(beside.values()))),
            )
        having = self.select.args.get("having")
        if self._is_distinct:
            return
        if not aggregates_in(*(item.node for item in items), having):
            raise SqlError(
                "GROUP BY requires aggregate functions in either the SELECT or HAVING clause."
            )

    def _stray_in(self, node: exp.Expression) -> list[exp.Expression]:
        """Return the columns that are neither in a grouping expression nor aggregated."""
        if is_aggregate(node) or meaning(node, self._scope) in self._key_types:
            return []
        if isinstance(node, exp.Column):
            return [] if self._is_bound(node) or is_parameter(node) else [node]
        return [
            stray
            for child in node.iter_expressions()
            if _is_value(child)
            for stray in self._stray_in(child)
        ]

    def _ensure_bounds_are_selected_only(self) -> None:
        """Raise a SqlError if a window bound is grouped by, aggregated or, if strict, in HAVING."""
        if self._window is None:
            return
        having = self.select.args.get("having")
        refused = [*self._given, *aggregates_in(*self.select.expressions, having)]
        if having is not None and self.settings.refuses:
            refused.append(having)
        for node in refused:
            for column in node.find_all(exp.Column):
                if column.name in WINDOW_BOUNDS and self._scope.get(column) is None:
                    raise SqlError(
                        f"Window bounds column {column.name} can only be used in the SELECT clause "
                        "of windowed aggregations and can not be passed to aggregate functions.\n"
                        "See https://github.com/confluentinc/ksql/issues/4397",
                        at=place_of(column),
                    )


def not_grouped(stray: Mapping[str, exp.Expression]) -> SqlError:
    """Return the error of a select item that is neither a grouping expression nor an aggregate."""
    listed = ", ".join(stray)
    return SqlError(
        f"Non-aggregate SELECT expression(s) not part of GROUP BY: {listed}\n"  # noqa: S608
        "Either add the column(s) to the GROUP BY or remove them from the SELECT.",
        at=place_of(next(iter(stray.values()))),
    )


def _is_value(node: exp.Expression) -> bool:
    """Return true if a child node is an expression, not the name of a field or a type."""
    return not isinstance(node, exp.Identifier | exp.DataType)
