"""Cogroups of streams: `orders.group_by("customer").cogroup({...}).cogroup(refunds..., {...})`.

Source: Kafka Streams `CogroupedKStream`, `TimeWindowedCogroupedKStream`,
`SessionWindowedCogroupedKStream`.
"""

from typing import Generic, Protocol, Self, TypeVar

from duolog.dsl.builder import Builder
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.names import Columns, named
from duolog.dsl.expressions.texts import ensure_not_kept
from duolog.dsl.grouping.cogroup_nodes import (
    Side,
    cogrouping_fold,
    common_group,
    ensure_same_groups,
)
from duolog.dsl.handles.handles import Groups
from duolog.plan.aggregates import Fold
from duolog.plan.durations import Duration
from duolog.plan.literals import PlainValue
from duolog.plan.nodes import GroupBy
from duolog.plan.nodes.aggregate import Emit
from duolog.plan.windows import Windows

TableT = TypeVar("TableT")
TableT_co = TypeVar("TableT_co", covariant=True)


class InGroups(Protocol[TableT_co]):
    """The part of `Grouped` that a cogroup uses."""

    _group: GroupBy

    def materialized(
        self, store: str | None, *, ttl: Duration | None, retention: Duration | None
    ) -> Self: ...

    def windowed_by(
        self, windows: Windows, *, emit: Emit, idle: Duration | None = None
    ) -> Self: ...

    def _in(self, group: GroupBy) -> Self:
        """Return the same aggregation settings for another group."""
        ...

    def _table(self, folded: Fold) -> TableT_co: ...


class CoGrouped(Groups, Generic[TableT]):
    """Groups of several streams, created by `Grouped.cogroup`: `aggregate` makes one table."""

    def __init__(self, builder: Builder, first: InGroups[TableT], sides: tuple[Side, ...]) -> None:
        ensure_same_groups(sides)
        self._builder = builder
        self._first = first
        self._sides = sides

    def cogroup(self, grouped: InGroups[TableT], adder: Columns) -> "CoGrouped[TableT]":
        """Add the groups of another stream, by a key of the same types.

        Args:
            grouped: the grouped stream.
            adder: new values of accumulators for one of its records; others stay unchanged.
        """
        side = Side.of(grouped._group, adder)  # noqa: SLF001 - as the Protocol says
        return CoGrouped(self._builder, self._first, (*self._sides, side))

    def materialized(
        self,
        store: str | None = None,
        *,
        ttl: Duration | None = None,
        retention: Duration | None = None,
    ) -> "CoGrouped[TableT]":
        """Name the table's store and set its rows' lifetime, as `Grouped.materialized` does."""
        kept = self._first.materialized(store, ttl=ttl, retention=retention)
        return CoGrouped(self._builder, kept, self._sides)

    def windowed_by(
        self, windows: Windows, *, emit: Emit = "on update", idle: Duration | None = None
    ) -> "CoGrouped[TableT]":
        """Aggregate in windows, as `Grouped.windowed_by`. All streams share one stream time."""
        windowed = self._first.windowed_by(windows, emit=emit, idle=idle)
        return CoGrouped(self._builder, windowed, self._sides)

    def aggregate(
        self,
        /,
        *results: Expr,
        initializer: Columns,
        merger: Columns | None = None,
        **named_results: Expr | PlainValue,
    ) -> TableT:
        """Aggregate the records of all streams into one row for each group.

        Args:
            results: expressions over accumulators, `acc(name)`; by default the accumulators
                themselves.
            initializer: the accumulators and their initial values.
            merger: for sessions: the merged accumulators; `other(name)` is the later session's.
            named_results: more results, by name.

        Raises:
            StatementError: an adder names an unknown accumulator, or types do not fit.

        Example:
            >>> from duolog import Topology, acc, col, lit
            >>> shop = Topology("shop")
            >>> order = "customer STRING, paid BIGINT"
            >>> orders = shop.stream("orders", key="id BIGINT", value=order)
            >>> visits = shop.stream("visits", key="customer STRING", value="page STRING")
            >>> both = orders.group_by("customer").cogroup({"paid": acc("paid") + col("paid")})
            >>> both = both.cogroup(visits.group_by_key(), {"pages": acc("pages") + 1})
            >>> print(both.aggregate(initializer={"paid": lit(0), "pages": lit(0)}).schema)
            key (customer STRING) value (paid BIGINT, pages INT)
        """
        ensure_not_kept(named_results, initializer)
        wanted = named(results, named_results, ())
        group = common_group(self._builder, self._sides)
        folded = cogrouping_fold(self._sides, group, wanted, initializer, merger)
        return self._first._in(group)._table(folded)  # noqa: SLF001 - as the Protocol says
