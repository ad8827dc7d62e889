"""Streams, tables, and records in groups: each is made from the others.

    Stream ── group_by ──► Grouped ── count, aggregate ──► Table      windowed_by in between, if wanted
    Stream ◄───────────────────── to_stream ────────────── Table

Source: Kafka Streams `KStream`, `KTable`, `KGroupedStream`, `TimeWindowedKStream`, `KGroupedTable`.
"""

from typing import Self

from duolog.dsl.builder import Builder
from duolog.dsl.expressions.columns import Columns, Expr, Steps, count, named
from duolog.dsl.expressions.joined_names import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.grouping.cogroup_nodes import Side
from duolog.dsl.grouping.cogroups import CoGrouped
from duolog.dsl.grouping.folds import fold_of, results_of
from duolog.dsl.grouping.kept import UNSAID, Kept
from duolog.dsl.grouping.reducing import reducing_fold
from duolog.dsl.grouping.suppressed import Until, WhenFull, suppressed
from duolog.dsl.handles.handles import Groups
from duolog.dsl.joins.global_tables import GlobalTable, global_join
from duolog.dsl.joins.stream_joins import Within, join_streams
from duolog.dsl.joins.table_joins import join_tables
from duolog.dsl.steps.distinct import Deduplicated
from duolog.dsl.steps.metadata import WithMetadata
from duolog.dsl.steps.present_rows import PresentRows
from duolog.dsl.steps.records import Records
from duolog.dsl.steps.rerouted import Rerouted
from duolog.dsl.steps.reshaped import Reshaped
from duolog.plan.aggregates import Fold
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.expressions import ColumnRef, Named
from duolog.plan.literals import PlainValue
from duolog.plan.nodes import (
    AggregateNode,
    GroupBy,
    JoinKind,
    SelectKey,
    StreamTableJoin,
    ToStream,
    ToTable,
)
from duolog.plan.nodes.aggregate import Emit
from duolog.plan.nodes.node import ensure_some
from duolog.plan.schema import Schema
from duolog.plan.windows import Windows


class Stream(Reshaped, Rerouted, Deduplicated, WithMetadata):
    """A stream of records. Each method returns a new stream and leaves this one as it is."""

    def join(
        self,
        other: "Table | GlobalTable | Stream",
        *,
        on: On | None = None,
        prefix: str = "",
        select: Select | None = None,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration | None = None,
        store: str | None = None,
    ) -> "Stream":
        """Join each record with the row of a table, or with the records of a stream, of the same key.

        The value becomes this stream's columns and then the other's. With a table, a record sees the
        row that is there when it comes; a change of the table by itself emits nothing. With a stream,
        each pair of records that are near enough in time makes a result, when the later one of them
        comes; its time is the later one of both. A record without a partner is dropped.

        Args:
            other: keyed by the same types as this stream is, or as `on` is. It may be this stream.
            on: what is matched with the other's key columns, in their order: columns of this
                stream, or expressions with a name. If they are not its key, they become it, as by
                `select_key`; with a global table records keep the key that they have. May be
                left out where both keys have the same names. The last two columns of a windowed
                table's key are a window's start and end.
            prefix: put before the names of the other's columns.
            select: the columns of the new value instead: names or expressions over the columns
                of both, the other's under their prefix.
            within: with a stream: how long before or after a record the other's may be.
            before: the same for earlier records of the other stream only; negative excludes the latest.
            after: the same for later records of the other stream only.
            grace: how long records are kept beyond that for others that are late. Time is what the
                timestamps say, not the clock. With a versioned table: how long a record waits, on disk,
                for rows of its time, until one of this stream in its task is later by so much.
            store: what the names of the stores that keep records begin with.

        Raises:
            StatementError: the keys do not fit, or have other names and `on` is not given, names
                clash, a stream is given without a difference of time, or a table does not know its
                rows for as long as `grace`.

        Example:
            >>> from duolog import Topology
            >>> topology = Topology("shop")
            >>> orders = topology.stream("orders", key="id BIGINT", value="customer STRING")
            >>> customers = topology.table("customers", key="name STRING", value="city STRING")
            >>> print(orders.join(customers, on="customer").schema)
            key (customer STRING) value (id BIGINT, city STRING)
            >>> paid = topology.stream("payments", key="id BIGINT", value="amount BIGINT")
            >>> print(orders.join(paid, within="1 hour", grace="5 minutes").schema)
            key (id BIGINT) value (customer STRING, amount BIGINT)
        """
        time = Within(within, before, after, grace, store)
        return self._join("inner", other, time, on=on, prefix=prefix, select=select)

    def left_join(
        self,
        other: "Table | GlobalTable | Stream",
        *,
        on: On | None = None,
        prefix: str = "",
        select: Select | None = None,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration | None = None,
        store: str | None = None,
        eager: bool = False,
    ) -> "Stream":
        """Do as `join` does, with nulls for the other's columns where there is no match.

        With a stream, a record without a partner is told when none can come any more: when time has
        passed its window and the grace period. The next record tells it, so of streams that stop the
        last ones wait. With `eager` it is told at once instead, and again with each partner that comes.
        """
        time = Within(within, before, after, grace, store, eager)
        return self._join("left", other, time, on=on, prefix=prefix, select=select)

    def outer_join(
        self,
        other: "Stream",
        *,
        on: On | None = None,
        prefix: str = "",
        select: Select | None = None,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration | None = None,
        store: str | None = None,
        eager: bool = False,
    ) -> "Stream":
        """Do as `left_join` does with a stream, for records of both streams without a partner."""
        time = Within(within, before, after, grace, store, eager)
        return self._join("outer", other, time, on=on, prefix=prefix, select=select)

    def group_by(self, /, *keys: str | Expr, **named_keys: Expr | PlainValue) -> "Grouped":
        """Group by columns or expressions, for `count` or `aggregate`.

        A record with a null among them is in no group.
        """
        return _grouped(self, named(keys, named_keys, self.schema.names))

    def to_table(self, store: str | None = None, *, ttl: Duration | None = None) -> "Table":
        """Take each record for the new row of its key: the table of the latest rows.

        A record with a null value deletes the row, one with a null key is ignored.

        Args:
            store: the name of the store that keeps the rows; else it is named after its place.
            ttl: how long a row is kept that is not updated, as for `Topology.table`.

        Example:
            >>> from duolog import Topology, col
            >>> rooms = Topology("rooms").stream("rooms", key="room STRING", value="celsius DOUBLE")
            >>> print(rooms.filter(col("celsius") > 30).to_table("hot-rooms").node.action)
            the latest row of each key, kept in hot-rooms
        """
        ttl_ms = None if ttl is None else milliseconds(ttl, "ttl")
        node = self.builder.add(
            "to-table", lambda name: ToTable(name, self.node, store or f"{name}-store", ttl_ms)
        )
        return Table(self.builder, node)

    def group_by_key(self) -> "Grouped":
        """Group by the key that records have."""
        return self.group_by(*(column.name for column in self.schema.key))

    def _join(
        self,
        kind: JoinKind,
        other: "Table | GlobalTable | Stream",
        time: Within,
        *,
        on: On | None,
        prefix: str,
        select: Select | None,
    ) -> "Stream":
        self.builder.ensure_own(other)
        time.ensure_fits(kind, self.node, other.node)
        if isinstance(other, GlobalTable):
            assert kind != "outer"
            called = "join" if kind == "inner" else "left-join"
            join = global_join(kind, self.node, other.node, on=on, prefix=prefix, select=select)
            return self._then(f"global-{called}", join)
        keyed = self
        if on is None:
            ensure_keys_named_alike(self.node, other.node)
        else:
            keys = named([on] if isinstance(on, str | Expr) else on, {}, self.schema.names)
            ensure_some(keys, "a key")
            by_key = [ColumnRef(column.name) for column in self.schema.key]
            window = other.schema.window
            if [of for _, of in keys] != by_key or self.schema.window != window:
                keyed = self._then(
                    "select-key", lambda name: SelectKey(name, self.node, keys, window)
                )
        if isinstance(other, Stream):
            return join_streams(keyed, other, kind, time, prefix=prefix, select=select)
        return keyed._join_table(kind, other, time, prefix, select)  # noqa: SLF001 - of this class

    def _join_table(
        self, kind: JoinKind, table: "Table", time: Within, prefix: str, select: Select | None
    ) -> "Stream":
        assert kind != "outer"
        scope = JoinedNames(self.node, table.node, prefix)
        values = scope.all_columns() if select is None else scope.select(select)
        return self._then(
            "join" if kind == "inner" else "left-join",
            lambda name: StreamTableJoin(name, self.node, table.node, kind, values, time.grace_ms),
        )


class Table(PresentRows):
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
        """Join each row with a row of `other`: a table of both, with the key of this one.

        It changes whenever either of them does. A row without a match is not in it. By key it keeps
        nothing: a row that is looked up in it is computed from both. By other columns (a foreign key,
        where many rows have one match) it keeps its own rows, of this table once more those columns that
        it reads, by what they match, and a number for each row. A change of a row that a million rows
        match is a million changes of the join.

        Args:
            other: keyed by the same types as what is matched; it may be this table itself.
            on: what is matched with the other table's key columns, in their order: columns of this
                table, or expressions over its key and value. A row with a null among
                them matches nothing. May be left out where both keys have the same names.
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
            >>> shelves = topology.table("shelves", key="item STRING", value="shelf STRING")
            >>> rooms = topology.table("rooms", key="shelf STRING", value="room STRING")
            >>> print(shelves.join(rooms, on="shelf").schema)
            key (item STRING) value (shelf STRING, room STRING)
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
        """Do as `join` does, by key, with all rows of both: nulls where one of them has none."""
        return join_tables(self, other, "outer", on=on, prefix=prefix, select=select)

    def suppress(
        self,
        time_limit: Duration | None = None,
        *,
        until: Until | None = None,
        max_records: int | None = None,
        max_bytes: int | None = None,
        when_full: WhenFull | None = None,
        store: str | None = None,
    ) -> Self:
        """Hold changes back, so that of each key only the last one leaves: one row for many.

        Until its window closes a row of a windowed table waits for its last change; a row that was deleted
        by then is not spoken of. For a time limit the first change of a key starts it, those that follow take
        its place, and the last one leaves. Time is what the records' timestamps say: a row leaves with the first
        change of any key of its task that comes then. In a store it costs each waiting row twice, new and old.

        Args:
            time_limit: how long changes of a key wait.
            until: "window close", in place of a time. The windows say their grace period.
            max_records: how many may wait in one task.
            max_bytes: of how many bytes, keys and headers included.
            when_full: beyond these, "emit" lets what waits for longest leave early, "shut down" ends the
                query. For a time limit "emit" unless given; until a window closes it is "shut down".
            store: the name of the store. Else it is named after its place.

        Raises:
            StatementError: there are no windows, or nobody has said their grace period.

        Example:
            >>> from duolog import Topology, tumbling
            >>> visits = Topology("v").stream("visits", key="user STRING", value="place STRING")
            >>> hourly = visits.group_by("place").windowed_by(tumbling("1 hour", grace="0 s")).count()
            >>> print(hourly.suppress(until="window close").node.action)
            held back until its window closes, 0 ms after its end, kept in suppress-4-store
        """
        limits = {"max_records": max_records, "max_bytes": max_bytes}
        return suppressed(self, time_limit, until=until, **limits, when_full=when_full, store=store)

    def _hint(self, name: str) -> str:
        return "Use to_stream() first." if hasattr(Stream, name) else ""

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


class Grouped(Groups):
    """Records in groups: `count` or `aggregate` makes them a table keyed by the group."""

    def __init__(self, builder: Builder, group: GroupBy, kept: Kept = UNSAID) -> None:
        self._builder = builder
        self._group = group
        self._kept = kept

    @property
    def schema(self) -> Schema:
        """The columns that the records of a group have: the group's key, and the others."""
        return self._group.schema

    def materialized(
        self,
        store: str | None = None,
        *,
        ttl: Duration | None = None,
        retention: Duration | None = None,
    ) -> "Grouped":
        """Name the store of the table that follows, and say how long it keeps rows.

        Args:
            store: its name. Else it is named after the step, or its place.
            ttl: how long a row is kept that is not updated, `"7 days"`: by the timestamps of the
                records, and without a word. A group that comes again begins anew.
            retention: how long a window's row is found in joins, by stream time, from the window's start on, of
                a session from its end; not less than its size and grace period, which it is unless given.
        """
        kept = self._kept.materialized(store, ttl, retention)
        return Grouped(self._builder, self._group, kept)

    def windowed_by(
        self, windows: Windows, *, emit: Emit = "on update", idle: Duration | None = None
    ) -> "Grouped":
        """Aggregate the records of each group in windows of time.

        The table's key is the group's, then `window_start` and `window_end`, BIGINT milliseconds
        as `row_time()`; the end is the first millisecond behind the window. A record that comes
        when all its windows have closed is dropped and counted. Records with a null value are dropped.

        Args:
            windows: what they are. For results on close they say their grace period.
            emit: when a result leaves: with each update, or once, when the window has closed. Then
                nothing is told of it before; whoever looks its row up finds it as it is.
            idle: of results on close: when no record has come to a task for so long, `"30 seconds"` by the wall
                clock, its windows that have ended by the wall clock close without one.

        Raises:
            StatementError: results are wanted on close, and the windows do not say a grace period.

        Example:
            >>> from duolog import Topology, tumbling
            >>> visits = Topology("v").stream("visits", key="user STRING", value="place STRING")
            >>> print(visits.group_by("place").windowed_by(tumbling("1 hour")).count().schema)
            key (place STRING, window_start BIGINT, window_end BIGINT) value (count BIGINT)
        """
        kept = self._kept.windowed(windows, emit, idle)
        return Grouped(self._builder, self._group, kept)

    def count(self, name: str = "count") -> Table:
        """Count the records of each group. The count of a group that was emptied is 0."""
        return self.aggregate(count().alias(name))

    def aggregate(
        self,
        /,
        *results: Expr,
        initializer: Steps | None = None,
        adder: Steps | None = None,
        subtractor: Steps | None = None,
        merger: Steps | None = None,
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

        Steps may be functions in Python, of what is kept and columns: `adder=put`, see `duolog.dsl.grouping.python_folds`.

        Raises:
            StatementError: a column is unknown, types do not fit, or a table's rows cannot be taken back.
        """
        wanted = results_of(self._group, results, named_results, initializer)
        steps = {"subtractor": subtractor, "merger": merger}
        return self._table(fold_of(self._group, wanted, initializer, adder, **steps))

    def reduce(self, adder: Columns, subtractor: Columns | None = None) -> Table:
        """Reduce each group to columns of its records: the first record's, changed by those after it.

        What is not named is not kept. In sessions the adder merges, too: `col(name)` is then what was
        kept of the later session.

        Args:
            adder: a column of the value, and what becomes of it: `acc(name)` is what was kept
                before the record, `col(name)` is the record's. It reads columns that are kept.
            subtractor: the same for a row that is taken back; a grouped table needs it.

        Raises:
            StatementError: a column is unknown or not kept, or types do not fit.

        Example:
            >>> from duolog import Topology, acc, col
            >>> paid = Topology("p").stream("paid", key="who STRING", value="euro BIGINT, at STRING")
            >>> total = paid.group_by_key().reduce({"euro": acc("euro") + col("euro"), "at": col("at")})
            >>> print(total.schema)
            key (who STRING) value (euro BIGINT, at STRING)
        """
        return self._table(reducing_fold(self._group, adder, subtractor))

    def cogroup(self, adder: Columns) -> "CoGrouped[Table]":
        """Begin a common aggregate of several streams, which come by `CoGrouped.cogroup`.

        Args:
            adder: what becomes of what is kept, with a record of this stream: `acc(name)` is what
                was kept before. What it does not name stays.
        """
        return CoGrouped(self._builder, self, (Side.of(self._group, adder),))

    def _in(self, group: GroupBy) -> "Grouped":
        return Grouped(self._builder, group, self._kept)

    def _table(self, folded: Fold) -> Table:
        node = self._builder.add(
            "aggregate",
            lambda name: AggregateNode(
                name,
                self._group,
                self._kept.store or f"{name}-store",
                folded.accumulators,
                folded.results,
                self._kept.windows,
                self._kept.emit,
                self._kept.ttl_ms,
                self._kept.retention_ms,
                idle_ms=self._kept.idle_ms,
            ),
        )
        return Table(self._builder, node)
