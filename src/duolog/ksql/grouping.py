"""GROUP BY: the keys of groups, what is aggregated, and what is selected of both."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from sqlglot import exp

from duolog.ksql.aggregates import AGGREGATES
from duolog.ksql.analysis import Item
from duolog.ksql.binder import Binder, Bound
from duolog.ksql.errors import SqlError
from duolog.ksql.formatting import formatted
from duolog.ksql.nodes import place_of
from duolog.ksql.scope import SqlScope
from duolog.plan.aggregates import Fold, fold
from duolog.plan.expressions import Aggregate, ColumnRef, Expression, Scope, type_of
from duolog.plan.nodes import GroupBy, scope_of
from duolog.plan.types import Column, Type


class Grouping:
    """The aggregation of one SELECT."""

    def __init__(
        self,
        select: exp.Select,
        scope: SqlScope,
        items: Sequence[Item],
        types: Mapping[str, Type],
    ) -> None:
        self._select = select
        self._scope = scope
        self._items = items
        self._types = types
        self._given = select.args["group"].expressions
        self._aggregates: dict[str, tuple[Aggregate, Type]] = {}

    @cached_property
    def keys(self) -> tuple[tuple[str, Expression], ...]:
        """The columns of the key, each with the name of the item that selects it."""
        binder = Binder(self._scope.within("GROUP BY"), self._types)
        found = []
        for number, node in enumerate(self._given):
            named = next((item.name for item in self._items if self._means(item.node, node)), None)
            found.append((named or f"KSQL_COL_{number}", binder.bind(node).expression))
        return tuple(found)

    def fold(self, group: GroupBy) -> Fold:
        """Return what is kept: one result for each aggregate that is selected or asked for in HAVING."""
        binder = Binder(self._scope, self._types, self._rule(group))
        for item in self._items:
            binder.bind(item.node)
        having = self._select.args.get("having")
        if having is not None:
            binder.bind(having.this)
        results = tuple((name, of) for name, (of, _) in self._aggregates.items())
        return fold(results, scope_of(group), undo=group.is_table)

    @property
    def wanted(self) -> tuple[tuple[str, Expression], ...]:
        """The columns that are selected, but for those of the key, over the aggregate's results."""
        binder = Binder(self._scope, self._types, self._over_results)
        keys = {name for name, _ in self.keys}
        return tuple(
            (item.name, binder.bind(item.node).expression)
            for item in self._items
            if item.name not in keys
        )

    def having(self, clause: exp.Having) -> Expression:
        scope = self._scope.within("HAVING")
        return Binder(scope, self._types, self._over_results).condition(clause.this)

    def _rule(self, group: GroupBy):  # type: ignore[no-untyped-def]
        inner = Binder(self._scope, self._types)

        def rule(node: exp.Expression) -> Bound | None:
            if isinstance(node, exp.Anonymous) and str(node.this).upper() in AGGREGATES:
                name = formatted(node)
                if name not in self._aggregates:
                    found = AGGREGATES[str(node.this).upper()](node, inner)
                    of = type_of(
                        fold((("x", found),), scope_of(group), undo=group.is_table).results[0][1],
                        self._scope_of_fold(found, group),
                    )
                    self._aggregates[name] = found, of
                aggregate, of = self._aggregates[name]
                return Bound(aggregate, of)
            return self._key(node)

        return rule

    def _scope_of_fold(self, aggregate: Aggregate, group: GroupBy) -> Scope:
        kept = fold((("x", aggregate),), scope_of(group), undo=group.is_table).accumulators
        columns = tuple(Column(one.name, one.type) for one in kept)
        return Scope(group.schema.key, accumulators=columns)

    def _over_results(self, node: exp.Expression) -> Bound | None:
        if isinstance(node, exp.Anonymous) and str(node.this).upper() in AGGREGATES:
            name = formatted(node)
            return Bound(ColumnRef(name), self._aggregates[name][1])
        return self._key(node)

    def _key(self, node: exp.Expression) -> Bound | None:
        for given, (name, _) in zip(self._given, self.keys, strict=True):
            if self._means(node, given):
                return Bound(ColumnRef(name), Binder(self._scope, self._types).bind(given).type)
        if isinstance(node, exp.Column):
            raise SqlError(
                f"Non-aggregate SELECT expression(s) not part of GROUP BY: {formatted(node)}",
                at=place_of(node),
            )
        return None

    def _means(self, one: exp.Expression, other: exp.Expression) -> bool:
        if isinstance(one, exp.Column) and isinstance(other, exp.Column):
            return self._scope.find(one) == self._scope.find(other)
        return one == other
