"""Streams, tables and grouped records, which are created from each other.

    Stream ── group_by ──► Grouped ── count, aggregate ──► Table
    Stream ◄───────────────────── to_stream ────────────── Table

For windows, call `windowed_by` between `group_by` and the aggregate.

Source: Kafka Streams `KStream`, `KTable`, `KGroupedStream`, `TimeWindowedKStream`, `KGroupedTable`.
"""

from duolog.dsl.builder import Builder
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.joined_names import JoinedNames, On, Select, ensure_keys_named_alike
from duolog.dsl.expressions.names import Columns, Steps, named
from duolog.dsl.expressions.sums import count
from duolog.dsl.grouping.cogroup_nodes import Side
from duolog.dsl.grouping.cogroups import CoGrouped
from duolog.dsl.grouping.folds import fold_of, results_of
from duolog.dsl.grouping.materialization import UNSPECIFIED, Materialization
from duolog.dsl.grouping.reducing import reducing_fold
from duolog.dsl.grouping.suppressed import Suppressed
from duolog.dsl.handles.handles import Groups
from duolog.dsl.joins.global_tables import GlobalTable, global_join
from duolog.dsl.joins.stream_joins import Within, join_streams
from duolog.dsl.joins.table_joins import JoinedTables
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
    """A stream of records. Each method returns a new stream and does not change this one."""

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
        """Join each record with the table row, or the records of a stream, that have the same key.

        The value consists of this stream's columns, then the other's. With a table, a record is
        joined with the row that exists when it arrives; a change of the table emits nothing. With a
        stream, each pair of records that are close enough in time emits a result when the later one
        arrives, with the later of the two timestamps. A record without a partner is dropped.

        Args:
            other: keyed by the same types as this stream, or as `on`. It may be this stream.
            on: the columns, or expressions with a name, that match the other's key columns, in
                order. Unless they are this stream's key, they become it, as by `select_key`; with a
                global table, records keep their key. May be omitted if both keys have the same
                names. The last two columns of a windowed table's key are a window's start and end.
            prefix: a prefix for the names of the other's columns.
            select: the columns of the new value: names or expressions over the columns of both, the
                other's with their prefix.
            within: for a stream: the maximum time difference between a record and the other's.
            before: the same for earlier records of the other stream only; a negative one excludes
                the latest.
            after: the same for later records of the other stream only.
            grace: for how much longer records are stored, for late records of the other stream.
                Time is measured by the timestamps, not by the clock. With a versioned table: how
                long a record is buffered, on disk, for rows of its time, until a record of this
                stream in its task is later by that much.
            store: a prefix for the names of the stores.

        Raises:
            StatementError: the keys do not fit, or have different names and `on` is missing, names
                clash, a join of streams has no time difference, or a table's history is shorter
                than `grace`.

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
        """Join as `join` does, with nulls for the other's columns if there is no match.

        With a stream, a record without a partner is emitted when none can arrive any more: when
        stream time has passed its window and the grace period. A later record triggers this, so the
        last records of idle streams are not emitted. With `eager`, the record is emitted
        immediately, and again with each partner that arrives.
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
        """Join as `left_join` does with a stream, for records of both streams without a partner."""
        time = Within(within, before, after, grace, store, eager)
        return self._join("outer", other, time, on=on, prefix=prefix, select=select)

    def group_by(self, /, *keys: str | Expr, **named_keys: Expr | PlainValue) -> "Grouped":
        """Group by columns or expressions, for `count` or `aggregate`.

        A record with a null among them is in no group.
        """
        return _grouped(self, named(keys, named_keys, self.schema.names))

    def to_table(self, store: str | None = None, *, ttl: Duration | None = None) -> "Table":
        """Interpret each record as the new row of its key: the table of the latest rows.

        A record with a null value deletes the row; a record with a null key is ignored.

        Args:
            store: the name of the store of the rows; by default it is derived from its position.
            ttl: the lifetime of a row that is not updated, as for `Topology.table`.

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
        """Group by the records' key."""
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


class Table(JoinedTables, Suppressed, PresentRows):
    """A table of rows by key. Each method returns a new table and does not change this one."""

    def group_by(self, /, *keys: str | Expr, **named_keys: Expr | PlainValue) -> "Grouped":
        """Group rows by columns or expressions, for `count` or `aggregate`.

        When a row changes, the old row is subtracted from its group and the new one is added to its
        group. A row with a null among the keys is in no group.
        """
        return _grouped(self, named(keys, named_keys, self.schema.names))

    def _hint(self, name: str) -> str:
        return "Use to_stream() first." if hasattr(Stream, name) else ""

    def to_stream(self) -> Stream:
        """Return the changes as a stream of new rows; a deleted row is a null value."""
        node = self.builder.add("to-stream", lambda name: ToStream(name, self.node))
        return Stream(self.builder, node)


def _grouped(records: Records, keys: tuple[Named, ...]) -> "Grouped":
    """Group records; an existing equal group is reused, so that it shares the shuffle."""
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
    """Grouped records: `count` or `aggregate` turns them into a table keyed by the group."""

    def __init__(
        self, builder: Builder, group: GroupBy, materialization: Materialization = UNSPECIFIED
    ) -> None:
        self._builder = builder
        self._group = group
        self._materialization = materialization

    @property
    def schema(self) -> Schema:
        """The columns of the grouped records: the group's key, then the others."""
        return self._group.schema

    def materialized(
        self,
        store: str | None = None,
        *,
        ttl: Duration | None = None,
        retention: Duration | None = None,
    ) -> "Grouped":
        """Name the store of the resulting table, and set the lifetime of its rows.

        Args:
            store: its name; by default it is derived from the step's name or position.
            ttl: the lifetime of a row that is not updated, `"7 days"`, by the records' timestamps.
                Rows expire silently; a group that reappears starts from zero.
            retention: for how long a window's row can be found in joins, by stream time, counted
                from the window's start, or the session's end. At least the size and grace period,
                which is the default.
        """
        materialization = self._materialization.materialized(store, ttl, retention)
        return Grouped(self._builder, self._group, materialization)

    def windowed_by(
        self, windows: Windows, *, emit: Emit = "on update", idle: Duration | None = None
    ) -> "Grouped":
        """Aggregate the records of each group in windows of time.

        The table's key is the group's key, then `window_start` and `window_end`, BIGINT
        milliseconds like `row_time()`; the end is exclusive. A record that arrives after all of its
        windows have closed is dropped and counted. Records with a null value are dropped.

        Args:
            windows: the windows. For results on close they need a grace period.
            emit: when a result is emitted: with each update, or once, when the window has closed.
                In the latter case no earlier result is emitted; a look-up of the row returns its
                current state.
            idle: for results on close: if a task receives no record for this long, `"30 seconds"`
                by the wall clock, windows that have ended by the wall clock are closed.

        Raises:
            StatementError: results are emitted on close, and the windows have no grace period.

        Example:
            >>> from duolog import Topology, tumbling
            >>> visits = Topology("v").stream("visits", key="user STRING", value="place STRING")
            >>> print(visits.group_by("place").windowed_by(tumbling("1 hour")).count().schema)
            key (place STRING, window_start BIGINT, window_end BIGINT) value (count BIGINT)
        """
        materialization = self._materialization.windowed(windows, emit, idle)
        return Grouped(self._builder, self._group, materialization)

    def count(self, name: str = "count") -> Table:
        """Count the records of each group. The count of a group that has become empty is 0."""
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

        Or define the accumulators of a group, their initial values, and their update by a record.
        `acc(name)` is the accumulator before the record; the default results are the accumulators.
        A grouped table requires the subtractor, for rows that change or are deleted; sessions
        require the merger, in which `other(name)` is the accumulator of the session to merge.

            aggregate(
                initializer={"total": lit(0), "last": lit(None)},
                adder={"total": acc("total") + col("amount"), "last": col("place")},
            )

        Steps may be Python functions of the accumulator and of columns: `adder=put`, see
        `duolog.dsl.grouping.python_folds`.

        Raises:
            StatementError: a column is unknown, types do not fit, or a table's rows cannot be
                subtracted.
        """
        wanted = results_of(self._group, results, named_results, initializer)
        steps = {"subtractor": subtractor, "merger": merger}
        return self._table(fold_of(self._group, wanted, initializer, adder, **steps))

    def reduce(self, adder: Columns, subtractor: Columns | None = None) -> Table:
        """Reduce each group to columns of its records: the first record's, changed by later ones.

        Only named columns are stored. For sessions the adder also merges: `col(name)` is then the
        accumulator of the later session.

        Args:
            adder: value columns and their new values: `acc(name)` is the accumulator before the
                record, `col(name)` is the record's column. It may only read stored columns.
            subtractor: the same for a row that is subtracted; a grouped table requires it.

        Raises:
            StatementError: a column is unknown or not stored, or types do not fit.

        Example:
            >>> from duolog import Topology, acc, col
            >>> bank = Topology("p")
            >>> paid = bank.stream("paid", key="who STRING", value="euro BIGINT, at STRING")
            >>> adder = {"euro": acc("euro") + col("euro"), "at": col("at")}
            >>> total = paid.group_by_key().reduce(adder)
            >>> print(total.schema)
            key (who STRING) value (euro BIGINT, at STRING)
        """
        return self._table(reducing_fold(self._group, adder, subtractor))

    def cogroup(self, adder: Columns) -> "CoGrouped[Table]":
        """Start an aggregate of several streams, which are added by `CoGrouped.cogroup`.

        Args:
            adder: new values of accumulators for a record of this stream: `acc(name)` is the
                accumulator before it. Others stay unchanged.
        """
        return CoGrouped(self._builder, self, (Side.of(self._group, adder),))

    def _in(self, group: GroupBy) -> "Grouped":
        return Grouped(self._builder, group, self._materialization)

    def _table(self, folded: Fold) -> Table:
        node = self._builder.add(
            "aggregate",
            lambda name: AggregateNode(
                name,
                self._group,
                self._materialization.store or f"{name}-store",
                folded.accumulators,
                folded.results,
                self._materialization.windows,
                self._materialization.emit,
                self._materialization.ttl_ms,
                self._materialization.retention_ms,
                idle_ms=self._materialization.idle_ms,
            ),
        )
        return Table(self._builder, node)
