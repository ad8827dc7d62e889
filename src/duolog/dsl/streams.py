"""Streams, tables, and records in groups: each is made from the others.

    Stream ── group_by ──► Grouped ── count, aggregate ──► Table
    Stream ◄───────────────────── to_stream ────────────── Table

Source: Kafka Streams `KStream`, `KTable`, `KGroupedStream`, `KGroupedTable`.
"""

from typing import Literal as OneOf

from duolog.dsl.builder import Builder
from duolog.dsl.columns import Columns, Expr, count, named
from duolog.dsl.joins import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.records import Records
from duolog.plan.aggregates import Fold, custom_fold, fold
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import ColumnRef, Named, PlainValue, Scope
from duolog.plan.nodes import AggregateNode, GroupBy, SelectKey, StreamTableJoin, ToStream


class Stream(Records):
    """A stream of records. Each method returns a new stream and leaves this one as it is."""

    def select_key(self, /, *keys: str | Expr, **named_keys: Expr | PlainValue) -> "Stream":
        """Give each record a new key; the old key's columns move into the value.

        Example:
            >>> from duolog import Topology, col
            >>> flights = Topology("f").stream("f", key="carrier STRING", value="dest STRING")
            >>> print(flights.select_key("dest").schema)
            key (dest STRING) value (carrier STRING)
        """
        new = named(keys, named_keys, self.schema.names)
        return self._then("select-key", lambda name: SelectKey(name, self.node, new))

    def join(
        self,
        table: "Table",
        *,
        on: On | None = None,
        prefix: str = "",
        select: Select | None = None,
    ) -> "Stream":
        """Look each record up in `table` by its key; a record without a match is dropped.

        The value becomes the stream's columns and then the table's. A record sees the rows that
        came before it; a change of the table by itself emits nothing.

        Args:
            table: keyed by the same types as this stream is, or as `on` is.
            on: what is matched with the table's key columns, in their order: columns of this
                stream, or expressions with a name. If they are not its key, they become it, as by
                `select_key`. May be left out where both keys have the same names.
            prefix: put before the names of the table's columns.
            select: the columns of the new value instead: names or expressions over the columns
                of both, the table's under their prefix.

        Raises:
            StatementError: the keys do not fit, or have other names and `on` is not given, or
                names clash.

        Example:
            >>> from duolog import Topology
            >>> topology = Topology("shop")
            >>> orders = topology.stream("orders", key="id BIGINT", value="customer STRING")
            >>> customers = topology.table("customers", key="name STRING", value="city STRING")
            >>> print(orders.join(customers, on="customer").schema)
            key (customer STRING) value (id BIGINT, city STRING)
        """
        return self._join("inner", table, on, prefix, select)

    def left_join(
        self,
        table: "Table",
        *,
        on: On | None = None,
        prefix: str = "",
        select: Select | None = None,
    ) -> "Stream":
        """Do as `join` does, with nulls for the table's columns where there is no match."""
        return self._join("left", table, on, prefix, select)

    def group_by(self, /, *keys: str | Expr, **named_keys: Expr | PlainValue) -> "Grouped":
        """Group by columns or expressions, for `count` or `aggregate`.

        A record with a null among them is in no group.
        """
        return _grouped(self, named(keys, named_keys, self.schema.names))

    def group_by_key(self) -> "Grouped":
        """Group by the key that records have."""
        return self.group_by(*(column.name for column in self.schema.key))

    def _join(
        self,
        kind: OneOf["inner", "left"],
        table: "Table",
        on: On | None,
        prefix: str,
        select: Select | None,
    ) -> "Stream":
        self.builder.ensure_own(table.node)
        if on is None:
            ensure_keys_named_alike(self.node, table.node)
            return self._join_by_key(kind, table, prefix, select)
        keys = named([on] if isinstance(on, str | Expr) else on, {}, self.schema.names)
        by_key = [ColumnRef(column.name) for column in self.schema.key]
        keyed = self if [of for _, of in keys] == by_key else self.select_key(*_columns(keys))
        return keyed._join_by_key(kind, table, prefix, select)  # noqa: SLF001 - of this class

    def _join_by_key(
        self, kind: OneOf["inner", "left"], table: "Table", prefix: str, select: Select | None
    ) -> "Stream":
        scope = JoinedNames(self.node, table.node, prefix)
        values = scope.all_columns() if select is None else scope.select(select)
        return self._then(
            "join" if kind == "inner" else "left-join",
            lambda name: StreamTableJoin(name, self.node, table.node, kind, values),
        )


class Table(Records):
    """A table of rows by key. Each method returns a new one and leaves this one as it is."""

    def group_by(self, /, *keys: str | Expr, **named_keys: Expr | PlainValue) -> "Grouped":
        """Group rows by columns or expressions, for `count` or `aggregate`.

        When a row changes, its old form is taken back from its group and its new one added to
        the group where it belongs now. A row with a null among the keys is in no group.
        """
        return _grouped(self, named(keys, named_keys, self.schema.names))

    def to_stream(self) -> Stream:
        """Return the changes as a stream of new rows; a deleted row is a null value."""
        node = self.builder.add("to-stream", lambda name: ToStream(name, self.node))
        return Stream(self.builder, node)


def _grouped(records: Records, keys: tuple[Named, ...]) -> "Grouped":
    """Group records, in the group that there is already if it is the same: it shares its shuffle."""
    builder, node = records.builder, records.node
    known = (
        group
        for group in builder.nodes(GroupBy)
        if group.parent is node and group.keys == keys and group.rekeys
    )
    group = next(known, None)
    return Grouped(
        builder, group or builder.add("group-by", lambda name: GroupBy(name, node, keys))
    )


class Grouped:
    """Records in groups: `count` or `aggregate` makes them a table keyed by the group."""

    def __init__(self, builder: Builder, group: GroupBy, store: str | None = None) -> None:
        self._builder = builder
        self._group = group
        self._store = store

    def materialized(self, store: str) -> "Grouped":
        """Name the store of the table that follows. Else it is named after its place."""
        return Grouped(self._builder, self._group, store)

    def count(self, name: str = "count") -> Table:
        """Count the records of each group. The count of a group that was emptied is 0."""
        return self.aggregate(count().alias(name))

    def aggregate(
        self,
        /,
        *results: Expr,
        initializer: Columns | None = None,
        adder: Columns | None = None,
        subtractor: Columns | None = None,
        **named_results: Expr | PlainValue,
    ) -> Table:
        """Aggregate each group into a row of results.

            aggregate(flights=count(), mean=avg("dep_delay"), worst=max_("dep_delay"))

        Or say yourself what is kept for a group, how it starts, and what becomes of it with a
        record. `acc(name)` is what was kept before the record; without results, they are what
        is kept. A grouped table needs the subtractor, for rows that change or go.

            aggregate(
                initializer={"total": lit(0), "last": lit(None)},
                adder={"total": acc("total") + col("amount"), "last": col("place")},
            )

        Raises:
            StatementError: a column is unknown, types do not fit, or `min_` and `max_` are used
                over a grouped table, where they cannot be taken back.
        """
        wanted = named(results, named_results, self._group.schema.names)
        scope = Scope(self._group.schema.columns)
        if initializer is None and adder is None and subtractor is None:
            folded = fold(wanted, scope, undo=self._group.is_table)
        else:
            folded = self._custom(initializer, adder, subtractor, scope)
            folded = Fold(folded.accumulators, wanted or folded.results)
        return self._table(folded)

    def _custom(
        self,
        initializer: Columns | None,
        adder: Columns | None,
        subtractor: Columns | None,
        scope: Scope,
    ) -> Fold:
        if initializer is None or adder is None:
            raise InvalidPlan("an aggregate of your own needs an initializer and an adder")
        known = self._group.schema.names
        return custom_fold(
            dict(named((), initializer, ())),
            dict(named((), adder, known)),
            None if subtractor is None else dict(named((), subtractor, known)),
            scope,
        )

    def _table(self, folded: Fold) -> Table:
        node = self._builder.add(
            "aggregate",
            lambda name: AggregateNode(
                name,
                self._group,
                self._store or f"{name}-store",
                folded.accumulators,
                folded.results,
            ),
        )
        return Table(self._builder, node)


def _columns(keys: tuple[Named, ...]) -> tuple[Expr, ...]:
    return tuple(Expr(expression, name) for name, expression in keys)
