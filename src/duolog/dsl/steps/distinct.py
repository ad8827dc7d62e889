"""Deduplication of a stream: keeps the first record of each key within a time.

    group by the key ─▶ fold: since when, is this record fresh ─▶ changes ─▶ fresh records in their
    old form

The fold forwards each update immediately, so a record cache neither merges a fresh record with a
duplicate nor drops it.
"""

from typing import Self

from duolog.dsl.expressions.columns import Expr
from duolog.dsl.expressions.elements import free_name
from duolog.dsl.expressions.joined_names import On
from duolog.dsl.expressions.names import named
from duolog.dsl.steps.records import Records
from duolog.plan.aggregates.accumulators import Accumulator
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import (
    AccumulatorRef,
    Call,
    Cast,
    ColumnRef,
    Expression,
    RowTime,
    literal,
)
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    GroupBy,
    Node,
    Project,
    SelectKey,
    SetTime,
    ToStream,
)
from duolog.plan.nodes.node import ensure_some
from duolog.plan.types import BIGINT, BOOLEAN, Type

_LATE: int = 2
"""The lifetime of a key in multiples of `within`: duplicates may be late by up to `within`."""


class Deduplicated(Records):
    """The deduplication of streams: a base class of `Stream`."""

    def distinct(self, *, by: On | None = None, within: Duration, store: str | None = None) -> Self:
        """Keep the first record of each key, and drop later ones within a time of it.

        - The first record is the one that arrives first. A record is a duplicate if its timestamp
          is less than `within` before or after that of the last kept record of its key. A duplicate
          does not extend that time.
        - State is bounded: a key is stored for twice `within`, by stream time. A record that is
          late by more than `within` may be kept although it is a duplicate.
        - Records keep their keys, values, timestamps and headers. A record without a value, or with
          a null in a column of `by`, cannot be compared and is dropped.
        - Results are correct with a record cache, after a restart and, with `exactly_once_v2`,
          after crashes.

        Args:
            by: columns, or expressions with a name, that identify duplicates; by default the key.
            within: the maximum time difference of duplicates.
            store: the name of the store; by default it is derived from its position.

        Raises:
            StatementError: there is no key to compare, or the key has a window.

        Example:
            >>> from duolog import Topology
            >>> bank = Topology("p")
            >>> payment = "id STRING, cents BIGINT"
            >>> payments = bank.stream("payments", key="user STRING", value=payment)
            >>> print(payments.distinct(by="id", within="1 hour").schema)
            key (user STRING) value (id STRING, cents BIGINT)
        """
        within_ms = milliseconds(within, "within")
        if within_ms < 1:
            raise InvalidPlan(
                f"the time of duplicates must be positive, not {within_ms} ms",
                hint='Set the maximum time difference: within="1 hour".',
            )
        if self.schema.window is not None:
            raise InvalidPlan(
                f'cannot deduplicate "{self.node}", whose key has a window',
                hint="Turn the window's bounds into columns first: select_key(...).",
            )
        columns = [column.name for column in self.schema.key]
        given = columns if by is None else [by] if isinstance(by, str | Expr) else by
        keys = named(given, {}, self.schema.names)
        ensure_some(keys, "a comparison of records")
        group = self.builder.add("group-by", lambda name: GroupBy(name, self.node, keys))
        assert isinstance(group, GroupBy)
        return self._as_before(self._marked(group, within_ms, store))

    def _marked(self, group: GroupBy, within_ms: int, store: str | None) -> Node:
        """Return a table with a row for each key: its last record, and whether that was fresh."""
        value = group.schema.value if group.rekeys else self.schema.value
        taken = (*group.schema.names, *self.schema.names)
        since, fresh, time = (free_name(name, taken) for name in ("since", "fresh", "time"))
        apart = Call("ABS", (Call("-", (RowTime(), AccumulatorRef(since))),))
        is_fresh = Call(
            "OR",
            (
                Call("IS_NULL", (AccumulatorRef(since),)),
                Call(">=", (apart, literal(within_ms))),
            ),
        )
        latest = Call("GREATEST", (RowTime(), Call("COALESCE", (AccumulatorRef(since), RowTime()))))
        kept = [
            _accumulator(since, BIGINT, Call("IF", (is_fresh, latest, AccumulatorRef(since)))),
            _accumulator(fresh, BOOLEAN, is_fresh),
            _accumulator(time, BIGINT, RowTime()),
        ]
        kept += [
            _accumulator(
                column.name,
                column.type,
                # Duplicates are dropped, so their columns need not be stored.
                Call("IF", (is_fresh, ColumnRef(column.name), Cast(literal(None), column.type))),
            )
            for column in value
        ]
        results = tuple((one.name, AccumulatorRef(one.name)) for one in kept if one.name != since)
        table = self.builder.add(
            "distinct",
            lambda name: AggregateNode(
                name,
                group,
                store or f"{name}-store",
                tuple(kept),
                results,
                ttl_ms=_LATE * within_ms,
                at_once=True,
            ),
        )
        add = self.builder.add
        changes = add("to-stream", lambda name: ToStream(name, table))
        found = add("filter", lambda name: Filter(name, changes, ColumnRef(fresh)))
        return add("with-time", lambda name: SetTime(name, found, ColumnRef(time)))

    def _as_before(self, marked: Node) -> Self:
        """Return records with the columns of this stream as key and value."""
        before = self.schema
        key = tuple((column.name, ColumnRef(column.name)) for column in before.key)
        value = tuple((column.name, ColumnRef(column.name)) for column in before.value)
        if [column.name for column in marked.schema.key] != [name for name, _ in key]:
            marked_node = marked
            marked = self.builder.add("select-key", lambda name: SelectKey(name, marked_node, key))
        rekeyed = marked
        return self._then("map-values", lambda name: Project(name, rekeyed, value))


def _accumulator(name: str, of: Type, add: Expression) -> Accumulator:
    return Accumulator(name, of, Cast(literal(None), of), add)
