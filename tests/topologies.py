"""Hypothesis strategies for small topologies, and for records of their topics.

Two streams and two tables, each keyed by a text, with a text and a number as value. A topology
grows step by step: each takes a stream or a table that is there and makes another one of it.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from duolog import (
    Topology,
    acc,
    array,
    avg,
    coalesce,
    col,
    count,
    hopping,
    lit,
    max_,
    min_,
    row_time,
    session,
    sliding,
    sum_,
    tumbling,
    when,
)
from duolog.dsl.columns import Expr
from duolog.dsl.records import Records
from duolog.dsl.streams import Grouped, Stream, Table
from duolog.plan.nodes import AggregateNode, Node, Repartition, Source, ancestors
from duolog.plan.nodes.aggregate import EMITS
from duolog.plan.schema import BOUNDS
from duolog.plan.types import BIGINT, STRING

STREAMS: Final = ("s1", "s2")
TABLES: Final = ("t1", "t2")
GLOBAL: Final = "g1"
KEY: Final = "k STRING"
VALUE: Final = "a STRING, n BIGINT"
TEXTS: Final = ("x", "y", "z")

Handle = TypeVar("Handle", Stream, Table)


@st.composite
def topologies(
    draw: st.DrawFn,
    steps_max: int = 6,
    stream_joins: bool = False,  # noqa: FBT001, FBT002 - of the strategy
) -> Topology:
    """A topology in which whatever nothing else reads goes to a topic, and some of the rest.

    With `stream_joins` streams are joined with streams, and wait for rows of versioned tables, too: then results
    depend on the stream time of a task.
    """
    grown = _Growth(draw, stream_joins=stream_joins)
    for _ in range(draw(st.integers(1, steps_max))):
        grown.grow()
    grown.finish()
    return grown.topology


class _Growth:
    """A topology on its way."""

    def __init__(self, draw: st.DrawFn, *, stream_joins: bool) -> None:
        self._stream_joins = stream_joins
        self.topology = Topology("random")
        self._draw = draw
        self._streams = [self.topology.stream(t, key=KEY, value=VALUE) for t in STREAMS]
        self._tables = [self._source(t) for t in TABLES]
        self._global = self.topology.global_table(GLOBAL, key=KEY, value=VALUE)
        self._unread: dict[Stream | Table, str] = {}
        self._made = 0

    def _source(self, topic: str) -> Table:
        """A table, versioned or not: how late a version may be is a matter of stream time, too."""
        histories = [None, None, ms(5)] if self._stream_joins else [None]
        history = self._draw(st.sampled_from(histories))
        return self.topology.table(topic, key=KEY, value=VALUE, history=history)

    def grow(self) -> None:
        """Make one more stream or table."""
        self._made += 1
        if self._draw(st.sampled_from([True, True, False])):
            stream = self._of(self._streams)
            made = self._draw(st.sampled_from(self._ways_of_stream()))(stream)
        else:
            table = self._of(self._tables)
            made = self._draw(st.sampled_from(self._ways_of_table()))(table)
        if made is None:
            return
        (self._streams if isinstance(made, Stream) else self._tables).append(made)  # type: ignore[arg-type]
        self._unread[made] = f"out{self._made}"

    def finish(self) -> None:
        """Write what is not read, or was chosen."""
        if not self._unread:
            self._unread[self._of(self._streams)] = "copy"
        for made, topic in self._unread.items():
            made.to(topic)

    def _of(self, handles: list[Handle]) -> Handle:
        # The newest first: Hypothesis prefers what stands in front, and chains are what we want.
        handle = self._draw(st.sampled_from(handles[::-1]))
        if handle in self._unread and self._draw(st.booleans()):
            del self._unread[handle]
        return handle

    def _ways_of_stream(self) -> list[Callable[[Stream], Stream | Table | None]]:
        return [
            self._filter,
            self._project,
            self._select_key,
            self._explode,
            self._split,
            self._merge,
            self._to_table,
            self._repartition,
            self._aggregate,
            self._join,
            self._join_global,
            *([self._join_streams] * 3 if self._stream_joins else []),
        ]

    def _ways_of_table(self) -> list[Callable[[Table], Stream | Table | None]]:
        return [
            self._filter,
            self._project,
            self._aggregate,
            self._join_tables,
            self._suppress,
            lambda table: table.to_stream(),
        ]

    def _filter(self, handle: Handle) -> Handle:
        return handle.filter(self._condition(handle))

    def _condition(self, handle: Stream | Table) -> Expr:
        numbers, texts = _columns(handle)
        conditions = [col(name) > self._draw(st.integers(-2, 2)) for name in numbers[:2]]
        conditions += [col(name) != "x" for name in texts[:2]]
        conditions += [col(name).is_not_null() for name in texts[:2]]
        if _knows_time(handle) and isinstance(handle, Table):
            # Kafka Streams' filter is not told when a null value came.
            conditions.append(row_time() % 2 == 0)
        return self._draw(st.sampled_from(conditions))

    def _project(self, handle: Handle) -> Handle:
        numbers, texts = _columns(handle)
        name = f"c{self._made}"
        computed: list[Expr] = [lit(1).cast("BIGINT")]
        computed += [col(number) * 2 for number in numbers[:2]]
        computed += [when(col(text) == "x", "y").otherwise(col(text)) for text in texts[:2]]
        if _knows_time(handle):
            computed.append(row_time())
        return handle.with_columns(**{name: self._draw(st.sampled_from(computed))})

    def _select_key(self, stream: Stream) -> Stream:
        name = self._draw(st.sampled_from(_columns(stream)[1]))
        if self._draw(st.booleans()):
            return stream.select_key(k=col(name))
        return stream.select_key(name)

    def _explode(self, stream: Stream) -> Stream:
        texts = _columns(stream)[1]
        elements = self._draw(st.lists(st.sampled_from(texts), min_size=1, max_size=3))
        # Where the first column says so there are none at all.
        some = when(col(texts[0]) != "z", array(*map(col, elements)))
        outer = self._draw(st.booleans())
        return stream.explode(some.alias(f"e{self._made}"), outer=outer)

    def _split(self, stream: Stream) -> Stream:
        conditions = {str(n): self._condition(stream) for n in range(self._draw(st.integers(1, 2)))}
        branches = stream.split(conditions, default="rest")
        chosen = self._draw(st.lists(st.sampled_from(list(branches)), unique=True, max_size=2))
        for number, name in enumerate(chosen[1:]):
            branches[name].to(f"branch{self._made}_{number}")
        return branches[chosen[0] if chosen else "rest"]

    def _merge(self, stream: Stream) -> Stream:
        """Of records that come at once: not what a record cache, or a repartition topic, lets go later."""
        alike = [
            other
            for other in self._streams
            if other.schema == stream.schema and not (_waits(stream.node) or _waits(other.node))
        ]
        others = self._draw(st.lists(st.sampled_from(alike), max_size=2)) if alike else []
        return stream.merge(*others)

    def _aggregate(self, handle: Stream | Table) -> Table:
        grouped = self._grouped(handle)
        reduces = _keeps_number(handle) and self._draw(st.integers(0, 3)) == 0
        grouped = self._windowed(handle, grouped, reduces=reduces)
        numbers, texts = _columns(handle)
        results = [count()]
        for name in numbers[:2]:
            results += [sum_(name), avg(name), count(name)]
        if isinstance(handle, Stream):
            results += [min_(name) for name in numbers[:1]] + [max_(name) for name in texts[:1]]
        if _knows_time(handle):
            results.append(sum_(row_time()))
        if reduces:
            return self._reduce(grouped)
        chosen = self._draw(st.lists(st.sampled_from(results), min_size=1, max_size=2))
        return grouped.aggregate(
            *(result.alias(f"r{self._made}_{number}") for number, result in enumerate(chosen))
        )

    def _repartition(self, stream: Stream) -> Stream:
        return stream.filter(col(stream.schema.key[0].name).is_not_null()).repartition()

    def _to_table(self, stream: Stream) -> Table:
        return stream.to_table()

    def _reduce(self, grouped: Grouped) -> Table:
        number = coalesce(col("n"), 1)
        add = coalesce(acc("n"), 0) * 2 + number
        return grouped.reduce({"n": add}, {"n": coalesce(acc("n"), 0) - number})

    def _grouped(self, handle: Stream | Table) -> Grouped:
        texts = _columns(handle)[1]
        name = self._draw(st.sampled_from(texts))
        match self._draw(st.sampled_from(["key", "renamed", "named", "two"])):
            case "key":
                return handle.group_by(*(column.name for column in handle.schema.key))
            case "renamed":
                return handle.group_by(k=col(name))
            case "two" if len(texts) > 1:
                return handle.group_by(*texts[:2])
            case _:
                return handle.group_by(name)

    def _windowed(self, handle: Stream | Table, grouped: Grouped, *, reduces: bool) -> Grouped:
        names = grouped.schema.key
        if isinstance(handle, Table) or any(column in BOUNDS for column in names):
            return grouped
        grace = ms(self._draw(st.integers(0, 4)))
        kinds: list[Any] = [None, tumbling(ms(5), grace=grace), hopping(ms(7), ms(3), grace=grace)]
        if not reduces:
            # A reducer of sessions needs a merger, and the judge reduces in no sliding windows.
            kinds += [session(ms(3), grace=grace), sliding(ms(6), grace=grace)]
        windows = self._draw(st.sampled_from(kinds))
        emit = "on update" if windows in kinds[3:] else self._draw(st.sampled_from(EMITS))
        return grouped.windowed_by(windows, emit=emit) if windows else grouped

    def _join(self, stream: Stream) -> Stream | None:
        fitting = [
            table
            for table in self._tables
            if table.schema.key == stream.schema.key
            and not (table.schema.window or stream.schema.window)
        ]
        if not fitting:
            return None
        table = self._of(fitting)
        prefix = f"j{self._made}_"
        if self._draw(st.booleans()):
            return stream.left_join(table, prefix=prefix)
        waits = table.node.history_ms is not None and self._draw(st.booleans())
        # Kafka Streams' left join fails for a null key that is to wait.
        return stream.join(table, prefix=prefix, grace=ms(3) if waits else None)

    def _join_global(self, stream: Stream) -> Stream:
        on = self._draw(st.sampled_from(_columns(stream)[1]))
        join = self._draw(st.sampled_from([stream.join, stream.left_join]))
        return join(self._global, on=on, prefix=f"j{self._made}_")

    def _join_streams(self, stream: Stream) -> Stream | None:
        fitting = [
            other
            for other in self._streams
            if [column.type for column in other.schema.key]
            == [column.type for column in stream.schema.key]
            and not (other.schema.window or stream.schema.window)
        ]
        if not fitting:
            return None
        time = {
            "before": ms(self._draw(st.integers(-1, 4))),
            "after": ms(self._draw(st.integers(1, 5))),
            "grace": ms(self._draw(st.integers(1, 4))),
            "prefix": f"j{self._made}_",
            "on": [column.name for column in stream.schema.key],
        }
        other = self._of(fitting)
        if self._draw(st.booleans()):
            return stream.join(other, **time)  # type: ignore[arg-type]
        join = self._draw(st.sampled_from([stream.left_join, stream.outer_join]))
        return join(other, **time, eager=self._draw(st.sampled_from([False, False, True])))  # type: ignore[arg-type]

    def _join_tables(self, table: Table) -> Table | None:
        if table.schema.window is not None:
            # What has closed is found as long as it is in Streams' cache: `test_windowed_keys` judges that.
            return None
        if _leaves_on_close(table):
            return None
        prefix = f"j{self._made}_"
        texts = [name for name in _columns(table)[1] if name != table.schema.key[0].name]
        # A record that changes both: which change comes first in Kafka Streams is not told.
        sources = _topics(table)
        by_text = [
            other
            for other in self._tables
            if [of.type for of in other.schema.key] == [STRING]
            and not sources & _topics(other)
            and not _leaves_on_close(other)
        ]
        if texts and by_text and self._draw(st.booleans()):
            join = self._draw(st.sampled_from([table.join, table.left_join]))
            return join(self._of(by_text), on=self._draw(st.sampled_from(texts)), prefix=prefix)
        fitting = [
            other
            for other in self._tables
            if other.schema.key == table.schema.key and not _leaves_on_close(other)
        ]
        join = self._draw(st.sampled_from([table.join, table.left_join, table.outer_join]))
        return join(self._of(fitting), prefix=prefix)

    def _suppress(self, table: Table) -> None:
        """Hold changes back, for a topic: what Streams says of old rows behind it nobody was told."""
        if table.node.history_ms is not None:
            return
        if table.schema.window and not _leaves_on_close(table) and self._draw(st.booleans()):
            held = table.suppress(until="window close")
        else:
            limit = ms(self._draw(st.integers(0, 9)))
            held = table.suppress(limit, max_records=self._draw(st.sampled_from((None, 1, 2))))
        held.to(f"held{self._made}")


def _leaves_on_close(records: Records) -> bool:
    """Tell if rows are gone when they have left: nobody can look for them."""
    return any(
        isinstance(node, AggregateNode) and node.emits_on_close for node in ancestors(records.node)
    )


def _topics(records: Records) -> set[str]:
    return {node.topic for node in ancestors(records.node) if isinstance(node, Source)}


def _keeps_number(handle: Stream | Table) -> bool:
    return any(column.name == "n" and column.type == BIGINT for column in handle.schema.value)


def _waits(node: Node) -> bool:
    return any(isinstance(above, AggregateNode | Repartition) for above in ancestors(node))


def ms(milliseconds: int) -> dt.timedelta:
    return dt.timedelta(milliseconds=milliseconds)


def _columns(handle: Stream | Table) -> tuple[list[str], list[str]]:
    """The names of the numbers and of the texts that records have, the value's first."""
    columns = [*handle.schema.value, *handle.schema.key]
    numbers = [column.name for column in columns if column.type == BIGINT]
    return numbers, [column.name for column in columns if column.type == STRING]


def _knows_time(handle: Stream | Table) -> bool:
    """Tell if the judge knows the time of each row, old ones too: only that of sources' rows."""
    return not handle.node.parents


_rows = st.tuples(st.none() | st.sampled_from(TEXTS), st.none() | st.integers(-3, 3))

RawRecord = tuple[str, str | None, tuple[str | None, int | None] | None, int]
"""Topic, key, row, and a time: its own, or how long after the record before it."""

raw_records: st.SearchStrategy[RawRecord] = st.tuples(
    st.sampled_from((*STREAMS, *TABLES, GLOBAL)),
    st.none() | st.sampled_from(TEXTS),
    st.one_of(_rows, _rows, _rows, st.none()),
    st.integers(0, 9),
)
