"""Streams, tables, and records in groups: each is made from the others.

    Stream ── group_by ──► Grouped ── count, aggregate ──► Table      windowed_by in between, if wanted
    Stream ◄───────────────────── to_stream ────────────── Table

Source: Kafka Streams `KStream`, `KTable`, `KGroupedStream`, `TimeWindowedKStream`, `KGroupedTable`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self
from typing import Literal as OneOf

from duolog.dsl.builder import Builder
from duolog.dsl.columns import Columns, Expr, count, named
from duolog.dsl.elements import (
    Elements,
    element_columns,
    elements_of,
    ensure_still_there,
    of_element,
)
from duolog.dsl.folds import fold_of
from duolog.dsl.joins import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.records import Records
from duolog.dsl.table_joins import join_tables
from duolog.plan.aggregates import Fold
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import ColumnRef, Named, PlainValue
from duolog.plan.nodes import (
    AggregateNode,
    Branch,
    Explode,
    GroupBy,
    Project,
    SelectKey,
    Split,
    StreamTableJoin,
    ToStream,
)
from duolog.plan.schema import Schema
from duolog.plan.windows import Windows


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

    def map(self, /, *columns: str | Expr, key: On, **named_columns: Expr | PlainValue) -> "Stream":
        """Give each record a new key and a new value; a null value stays null.

        Args:
            columns: the new value, as for `map_values`.
            key: the new key, as for `select_key`: columns, or expressions with a name.
            named_columns: more of the value.

        Example:
            >>> from duolog import Topology, col
            >>> flights = Topology("f").stream("f", key="id BIGINT", value="dest STRING, late INT")
            >>> print(flights.map(key="dest", hours=col("late") / 60).schema)
            key (dest STRING) value (hours DOUBLE)
        """
        values = named(columns, named_columns, self.schema.names)
        keyed = self.select_key(*([key] if isinstance(key, str | Expr) else key))
        ensure_still_there(keyed.node, values)
        return keyed._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, keyed.node, values)
        )

    def explode(
        self,
        /,
        *columns: str | Expr,
        into: str | Sequence[str] = (),
        outer: bool = False,
        **named_columns: str | Expr,
    ) -> "Stream":
        """Make a record of each element of an ARRAY, or entry of a MAP; the other columns stay.

        The element stands where the array stood, or behind the others under a name of its own:
        `explode("stops")`, `explode(stop="stops")`. A record without elements is dropped.

        Args:
            columns: the ARRAY or MAP: one column or expression, or one by name.
            into: the name for the element, if another; of a MAP the two for key and value.
            outer: keep a record without elements, with null for the element.
            named_columns: the ARRAY by the name for its element.

        Example:
            >>> from duolog import Topology, col
            >>> lines = Topology("words").stream("lines", value=str)
            >>> print(lines.explode(word=col("value").lower().split()).schema)
            key () value (value STRING, word STRING)
        """
        return self._exploded(elements_of(self.node, columns, named_columns, into), outer)

    def flat_map_values(
        self,
        /,
        *columns: str | Expr,
        into: str | Sequence[str] = (),
        outer: bool = False,
        **named_columns: str | Expr,
    ) -> "Stream":
        """Make a record of each element, as `explode` does, that is the whole new value.

        The fields of a STRUCT become columns.

        Example:
            >>> from duolog import Topology
            >>> orders = Topology("shop").stream(
            ...     "orders", key="id BIGINT", value="items ARRAY<STRUCT<sku STRING, n INT>>"
            ... )
            >>> print(orders.flat_map_values("items").schema)
            key (id BIGINT) value (sku STRING, n INT)
        """
        exploded = self._flat(columns, named_columns, into, outer)
        values = element_columns(exploded.node)
        return exploded._then(  # noqa: SLF001 - of this class
            "map-values", lambda name: Project(name, exploded.node, values)
        )

    def flat_map(
        self,
        /,
        *columns: str | Expr,
        key: On,
        into: str | Sequence[str] = (),
        **named_columns: str | Expr,
    ) -> "Stream":
        """Make a record of each element, with a new value and a new key.

        Args:
            columns: as for `flat_map_values`.
            key: what is the key in the new value: columns, or expressions with a name.
            into: as for `explode`.
            named_columns: as for `explode`.

        Example:
            >>> from duolog import Topology
            >>> orders = Topology("shop").stream(
            ...     "orders", key="id BIGINT", value="items ARRAY<STRUCT<sku STRING, n INT>>"
            ... )
            >>> print(orders.flat_map("items", key="sku").schema)
            key (sku STRING) value (n INT)
        """
        flat = self._flat(columns, named_columns, into, outer=False)
        parts = dict(element_columns(flat.node))
        given = named(
            [key] if isinstance(key, str | Expr) else key, {}, {*parts, *flat.schema.names}
        )
        keys = tuple((name, of_element(expression, parts)) for name, expression in given)
        taken = {name for name, _ in keys}
        values = tuple((name, of) for name, of in parts.items() if name not in taken)
        keyed = flat._then(  # noqa: SLF001 - of this class
            "select-key", lambda name: SelectKey(name, flat.node, keys)
        )
        return keyed._then(  # noqa: SLF001
            "map-values", lambda name: Project(name, keyed.node, values)
        )

    def split(
        self,
        branches: Mapping[str, Expr] | None = None,
        /,
        *,
        default: str | None = None,
        **named_branches: Expr,
    ) -> "dict[str, Stream]":
        """Part the stream: each record goes into the first branch whose condition is true.

        Args:
            branches: conditions by the branch's name, in the order in which they are asked.
            default: the name of the branch for all other records; without it they are dropped.
            named_branches: more of them.

        Example:
            >>> from duolog import Topology, col
            >>> orders = Topology("shop").stream("orders", value="amount BIGINT")
            >>> parts = orders.split(large=col("amount") > 100, default="small")
            >>> print(parts["small"].node.action)
            the others
        """
        wanted = {**(branches or {}), **named_branches}
        if not wanted or default in wanted:
            raise InvalidPlan(
                f'two branches are called "{default}"' if wanted else "a split needs a condition",
                hint='Write split(large=col("amount") > 100, default="small").',
            )
        conditions = tuple(self._predicate(condition) for condition in wanted.values())
        split = self.builder.add("split", lambda name: Split(name, self.node, conditions))
        names = [*wanted, *([] if default is None else [default])]
        return {name: self._branch(split, number) for number, name in enumerate(names)}

    def _exploded(self, elements: Elements, outer: bool) -> "Stream":  # noqa: FBT001
        of, into = elements
        return self._then("explode", lambda name: Explode(name, self.node, of, into, outer))

    def _flat(
        self,
        columns: Sequence[str | Expr],
        by_name: Mapping[str, str | Expr],
        into: str | Sequence[str],
        outer: bool,  # noqa: FBT001
    ) -> "Stream":
        """Explode for what is made of elements alone."""
        return self._exploded(elements_of(self.node, columns, by_name, into, alone=True), outer)

    def _branch(self, split: Split, number: int) -> "Stream":
        return self._then("branch", lambda name: Branch(name, split, number))

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

    def join(
        self, other: Self, *, on: On | None = None, prefix: str = "", select: Select | None = None
    ) -> Self:
        """Join each row with the row of `other` that has the same key: a table of both.

        It changes whenever either of them does. A row that only one of them has is not in it.
        It keeps nothing: a row that is looked up in it is computed from both.

        Args:
            other: keyed by the same types as this table is; it may be this table itself.
            on: the columns of this table's key. May be left out where both keys have the same
                names; the names of this one remain.
            prefix: put before the names of the other table's columns.
            select: the columns of the new value instead: names or expressions over those of both.

        Raises:
            StatementError: the keys do not fit, have other names without `on`, or columns clash.

        Example:
            >>> from duolog import Topology
            >>> topology = Topology("shop")
            >>> prices = topology.table("prices", key="item STRING", value="price BIGINT")
            >>> stock = topology.table("stock", key="item STRING", value="pieces BIGINT")
            >>> print(prices.join(stock).schema)
            key (item STRING) value (price BIGINT, pieces BIGINT)
        """
        return join_tables(self, other, "inner", on=on, prefix=prefix, select=select)

    def left_join(
        self, other: Self, *, on: On | None = None, prefix: str = "", select: Select | None = None
    ) -> Self:
        """Do as `join` does, with all rows of this table: nulls where the other one has none."""
        return join_tables(self, other, "left", on=on, prefix=prefix, select=select)

    def outer_join(
        self, other: Self, *, on: On | None = None, prefix: str = "", select: Select | None = None
    ) -> Self:
        """Do as `join` does, with all rows of both tables: nulls where one of them has none."""
        return join_tables(self, other, "outer", on=on, prefix=prefix, select=select)

    def __getattr__(self, name: str) -> NoReturn:
        hint = ": use to_stream() first" if hasattr(Stream, name) else ""
        raise AttributeError(f"a table has no {name}{hint}")

    def to_pandas(self) -> Any:
        """Return the present rows as a pandas DataFrame, key columns first.

        Of a table of an application that runs in this process, which reads it from a topic or writes
        it to one: what is committed there now.

        Raises:
            StatementError: no application runs it, or no topic has its rows.
            KafkaError: the broker does not answer.
            ConfigError: the library is not installed.
        """
        return self._running().table_of(self.node).to_pandas()

    def to_arrow(self) -> Any:
        """Return the present rows as a pyarrow Table; as `to_pandas`."""
        return self._running().table_of(self.node).to_arrow()

    def to_polars(self) -> Any:
        """Return the present rows as a polars DataFrame; as `to_pandas`."""
        return self._running().table_of(self.node).to_polars()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the present rows as dicts by name, which needs no library; as `to_pandas`."""
        return self._running().table_of(self.node).to_dicts()

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

    def __init__(
        self,
        builder: Builder,
        group: GroupBy,
        store: str | None = None,
        windows: Windows | None = None,
    ) -> None:
        self._builder = builder
        self._group = group
        self._store = store
        self._windows = windows

    @property
    def schema(self) -> Schema:
        """The columns that the records of a group have: the group's key, and the others."""
        return self._group.schema

    def materialized(self, store: str) -> "Grouped":
        """Name the store of the table that follows. Else it is named after its place."""
        return Grouped(self._builder, self._group, store, self._windows)

    def windowed_by(self, windows: Windows) -> "Grouped":
        """Aggregate the records of each group in windows: `tumbling`, `hopping` or `session`.

        The table's key is the group's, then `window_start` and `window_end`, BIGINT milliseconds
        as `row_time()`; the end is the first millisecond behind the window. A record that comes
        when all its windows have closed is dropped and counted. Records with a null value are dropped.

        Example:
            >>> from duolog import Topology, tumbling
            >>> visits = Topology("v").stream("visits", key="user STRING", value="place STRING")
            >>> print(visits.group_by("place").windowed_by(tumbling("1 hour")).count().schema)
            key (place STRING, window_start BIGINT, window_end BIGINT) value (count BIGINT)
        """
        return Grouped(self._builder, self._group, self._store, windows)

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
        merger: Columns | None = None,
        **named_results: Expr | PlainValue,
    ) -> Table:
        """Aggregate each group into a row of results.

            aggregate(flights=count(), mean=avg("dep_delay"), worst=max_("dep_delay"))

        Or say yourself what is kept for a group, how it starts, and what becomes of it with a
        record. `acc(name)` is what was kept before the record; without results, they are what
        is kept. A grouped table needs the subtractor, for rows that change or go; sessions need the
        merger, in which `other(name)` is what was kept of the session that is merged.

            aggregate(
                initializer={"total": lit(0), "last": lit(None)},
                adder={"total": acc("total") + col("amount"), "last": col("place")},
            )

        Raises:
            StatementError: a column is unknown, types do not fit, or `min_` and `max_` are used
                over a grouped table, where they cannot be taken back.
        """
        wanted = named(results, named_results, self._group.schema.names)
        steps = {"subtractor": subtractor, "merger": merger}
        return self._table(fold_of(self._group, wanted, initializer, adder, **steps))

    def _table(self, folded: Fold) -> Table:
        node = self._builder.add(
            "aggregate",
            lambda name: AggregateNode(
                name,
                self._group,
                self._store or f"{name}-store",
                folded.accumulators,
                folded.results,
                self._windows,
            ),
        )
        return Table(self._builder, node)


def _columns(keys: tuple[Named, ...]) -> tuple[Expr, ...]:
    return tuple(Expr(expression, name) for name, expression in keys)
