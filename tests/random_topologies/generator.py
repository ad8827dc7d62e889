"""Build a random topology: each step derives a stream or table from an existing one.

    two streams, two tables (versioned or not), a global table, a stream and a table with windowed
        keys │ up to eight steps: `stream_steps`, `table_steps`, `aggregate_steps` ▼
    unread handles are written to topics, and so are some of the others

Each source is keyed by a text, with a text and a number as value. Steps that the DSL refuses are
not used. Deliberate differences from Kafka Streams are left out here, each with its reason
(`conformance/streams/test_kafka_streams.py` lists them all).
"""

import datetime as dt
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeVar

from duolog import Topology, col, tumbling
from duolog.core.errors import StatementError
from duolog.dsl.expressions.columns import Expr
from duolog.dsl.streams import Stream, Table
from duolog.plan.nodes import (
    AggregateNode,
    Branch,
    Explode,
    Filter,
    ForeignJoin,
    GroupBy,
    Node,
    Project,
    Repartition,
    SelectKey,
    SetHeaders,
    SetTime,
    Source,
    Split,
    StreamJoin,
    TableJoin,
    ancestors,
    driving,
)
from duolog.plan.types import BIGINT, STRING
from duolog.plan.windows import TimeWindows

STREAMS: Final = ("s1", "s2")
TABLES: Final = ("t1", "t2")
GLOBAL: Final = "g1"
WINDOWED: Final = ("w1", "w2")
"""A stream and a table whose keys are windowed."""
WINDOW_MS: Final = 5
KEY: Final = "k STRING"
VALUE: Final = "a STRING, n BIGINT"
TEXTS: Final = ("x", "y", "z")
STREAMS_OFTEN: Final = 0.6
"""How often a step is one of a stream: there are more of them."""
TRIES: Final = 4
"""The number of retries for a step that does not fit."""
HEADER: Final = "number"
"""The header that most records have."""

Handle = TypeVar("Handle", Stream, Table)
Any_ = TypeVar("Any_")
Step = Callable[["TopologyGenerator", Handle], Stream | Table | None]
"""Derives a stream or a table; returns None if nothing can be derived, or if the result went to a topic."""
Steps = Sequence[tuple[int, Step[Handle]]]
"""Steps with their relative frequencies."""

_AT_THE_SOURCE: Final = (
    Source,
    Filter,
    Project,
    Explode,
    Split,
    Branch,
    SelectKey,
    SetHeaders,
    SetTime,
)

_CROSSING: Final = (SelectKey, GroupBy, Repartition, ForeignJoin)


class TopologyGenerator:
    """A topology under construction.

    Args:
        rng: makes the choices; each step may have its own.
        alone: True if each record is a micro-batch of its own, without a record cache.
        places: True if all records of a topic are in one partition, as in Streams' driver.
        late: True if timestamps decrease within a micro-batch.
    """

    def __init__(self, rng: Random, *, alone: bool, places: bool, late: bool = False) -> None:
        self.rng = rng
        self.alone = alone
        self.places = places
        self.late = late
        self.number = 0
        self.has_own_times = False
        """Whether a stream's records have other times than their topic says."""
        self.has_calendar = False
        self.leaves_on_close = False
        self.topology = Topology("random")
        self.streams: list[Stream] = self._streams()
        self.tables: list[Table] = [self._table(name) for name in TABLES]
        self.rows = self.topology.global_table(GLOBAL, key=KEY, value=VALUE)
        windows = tumbling(ms(WINDOW_MS), grace=ms(4))
        stream, table = WINDOWED
        of = {"key": KEY, "value": VALUE, "windowed": windows}
        self.streams.insert(0, self.topology.stream(stream, **of))  # type: ignore[arg-type]
        self.tables.insert(0, self.topology.table(table, **of))  # type: ignore[arg-type]
        self._unread: dict[Stream | Table, str] = {}
        self._topics = 0
        self._taken: list[Stream | Table] = []

    def _streams(self) -> list[Stream]:
        """Two streams, or one of both topics."""
        if self.maybe(8):
            return [self.topology.stream(STREAMS, key=KEY, value=VALUE)]
        return [self._stream(name) for name in STREAMS]

    def _stream(self, name: str) -> Stream:
        """A stream; where records come one by one, also with timestamps of their own, as order follows them."""
        of = {"key": KEY, "value": VALUE}
        if self.alone and self.maybe(8):
            self.has_own_times = True
            time = self.rng.choice([col("n") * 3, col("n") + 4])
            return self.topology.stream(name, **of, timestamp=time, invalid_timestamp="skip")  # type: ignore[arg-type]
        return self.topology.stream(name, **of)  # type: ignore[arg-type]

    def _table(self, name: str) -> Table:
        """A table; versioned only where records come one by one, as how late one may be is a matter of time.

        Now and then its rows live for a while only, which only the reference evaluator supports.
        """
        history = ms(self.rng.choice([5, 40])) if self.alone and self.maybe(3) else None
        ttl = ms(self.rng.choice([5, 40])) if history is None and self.maybe(12) else None
        return self.topology.table(name, key=KEY, value=VALUE, history=history, ttl=ttl)

    def add_step(self, stream_steps: Steps[Stream], table_steps: Steps[Table]) -> None:
        """Make one more stream or table, unless what was chosen does not fit."""
        self.number += 1
        for _ in range(TRIES):
            self._taken.clear()
            made = self._tried(stream_steps, table_steps)
            if made is not None and made.schema.value:
                break
        else:
            return
        for handle in self._taken:
            self._unread.pop(handle, None)
        if isinstance(made, Stream):
            self.streams.append(made)
        else:
            self.tables.append(made)
        self._unread[made] = f"out{self.number}"

    def finish(self) -> Topology:
        """Write what is not read, or was chosen."""
        if not self._unread:
            self._unread[self.streams[-1]] = "copy"
        for made, topic in self._unread.items():
            made.to(topic)
        return self.topology

    def _tried(
        self, stream_steps: Steps[Stream], table_steps: Steps[Table]
    ) -> Stream | Table | None:
        try:
            if self.rng.random() < STREAMS_OFTEN:
                return self._one_step(stream_steps, self.streams)
            return self._one_step(table_steps, self.tables)
        except StatementError:
            return None

    def _one_step(self, steps: Steps[Handle], handles: list[Handle]) -> Stream | Table | None:
        handle = self.take(handles)
        (way,) = self.rng.choices([way for _, way in steps], [often for often, _ in steps])
        return way(self, handle)

    def take(self, handles: Sequence[Handle]) -> Handle:
        """Return one of these, the newest most often: chains are what we want."""
        (handle,) = self.rng.choices(handles, [number + 1 for number in range(len(handles))])
        if self.maybe(2):
            self._taken.append(handle)
        return handle

    def maybe(self, one_of: int) -> bool:
        """Return True with a probability of 1 to `one_of`."""
        return self.rng.randrange(one_of) == 0

    def few(self, of: Sequence[Any_], most: int, least: int = 1) -> list[Any_]:
        """Return some of these, each once, in any order."""
        return self.rng.sample(of, min(len(of), self.rng.randint(least, most)))

    def ms(self, least: int, most: int) -> dt.timedelta:
        return ms(self.rng.randint(least, most))

    def may_meet(
        self, one: Stream | Table, other: Stream | Table, *, under_new_key: bool = False
    ) -> bool:
        """Return True if Streams defines the order in which records of both sides meet, `one` under another key or not.

        It is undefined for one record that arrives over two internal topics with equal times; and a
        table that is grouped by its own key crosses such a topic in Streams, but not here. Rows that
        are emitted on close, or that a record cache sends over an edge, arrive late in Streams, and
        here by their time among the other records of a micro-batch. If timestamps decrease, records
        that end on one of two paths delay nothing in Streams. Older rows that a record releases follow
        it over an internal topic in Streams, and are ordered by their own time here.
        """
        late = leaves_on_close(one) or leaves_on_close(other)
        late |= _comes_from_cache(one.node) or _comes_from_cache(other.node)
        if late and not self.alone:
            return False
        if not sources(one) & sources(other):
            return True
        steps, others = _crossings(one.node), _crossings(other.node)
        if self.late and (under_new_key or steps != others):
            return False
        if any(map(_leaves_later, steps ^ others)):
            return False
        back = any(isinstance(node, GroupBy) and not node.rekeys for node in steps ^ others)
        if isinstance(one, Table) and isinstance(other, Table) and steps == others:
            return not back
        crossed = under_new_key or bool(steps)
        return (one is other and not under_new_key) or (not back and not (crossed and others))

    def topic(self, name: str) -> str:
        """Return the name of one more result topic."""
        self._topics += 1
        return f"{name}{self._topics}"

    @property
    def prefix(self) -> str:
        """Prefix of the columns of the other side of a join."""
        return f"j{self.number}_"

    def condition(self, handle: Stream | Table) -> Expr:
        numbers, texts = columns(handle)
        found = [col(name) > self.rng.randint(-2, 2) for name in numbers[:2]]
        found += [col(name) != "x" for name in texts[:2]]
        found += [col(name).is_not_null() for name in texts[:2]]
        condition = self.rng.choice(found)
        if not self.maybe(4):
            return condition
        other = self.rng.choice(found)
        return condition & other if self.maybe(2) else condition | ~other


def ms(milliseconds: int) -> dt.timedelta:
    return dt.timedelta(milliseconds=milliseconds)


def columns(handle: Stream | Table) -> tuple[list[str], list[str]]:
    """The names of the numbers and of the texts that records have, the value's first."""
    found = [*handle.schema.value, *handle.schema.key]
    numbers = [column.name for column in found if column.type == BIGINT]
    return numbers, [column.name for column in found if column.type == STRING]


def sources(records: Stream | Table) -> set[str]:
    """The topics that records come from."""
    return sources_of(records.node)


def sources_of(node: Node) -> set[str]:
    return {above.topic for above in ancestors(node) if isinstance(above, Source)}


def _crossings(node: Node) -> set[Node]:
    """Return the nodes with internal topics upstream of `node`."""
    found = {above for above in ancestors(node) if isinstance(above, _CROSSING)}
    groups = {
        above.group
        for above in ancestors(node)
        if isinstance(above, AggregateNode) and (above.group.is_table or above.group.rekeys)
    }
    return found | groups


def _leaves_later(crossing: Node) -> bool:
    """Return True if a record that crosses an edge may be older than the record that caused it."""
    return any(
        (isinstance(above, AggregateNode) and above.emits_on_close)
        or (
            isinstance(above, StreamJoin)
            and above.sides[0].kind != "inner"
            and not above.sides[0].eager
        )
        for above in ancestors(crossing)
    )


def _comes_from_cache(node: Node) -> bool:
    """Return True if records of `node` crossed an edge downstream of an aggregate."""
    return any(has_aggregate(parent) for one in _crossings(node) for parent in one.parents)


def has_aggregate(node: Node) -> bool:
    return any(isinstance(above, AggregateNode) for above in ancestors(node))


def changes_twice(table: Table) -> bool:
    """Return True if one record may change a row twice, to the same row: Streams emits it twice."""
    return any(
        isinstance(node, TableJoin) and sources_of(node.left) & sources_of(node.right)
        for node in ancestors(table.node)
    )


def joins_aggregates(table: Table) -> bool:
    """Return True if a side of an upstream join is an aggregate, whose changes a record cache delays."""
    return any(
        isinstance(node, TableJoin) and (has_aggregate(node.left) or has_aggregate(node.right))
        for node in ancestors(table.node)
    )


def has_new_key(node: Node) -> bool:
    """Return True if Streams would write records to a topic before it needs them by key."""
    ends = (*_CROSSING, AggregateNode)
    above = driving(node, lambda one: isinstance(one, ends))
    return any(isinstance(one, SelectKey) for one in above)


def leaves_on_close(records: Stream | Table) -> bool:
    """Return True if rows are deleted when they are emitted: lookups do not find them."""
    return any(
        isinstance(node, AggregateNode) and node.emits_on_close for node in ancestors(records.node)
    )


def finds_closed(generator: TopologyGenerator, records: Stream | Table) -> bool:
    """Return True if rows of closed windows are found here as in Streams.

    There they are as long as they happen to be in its cache, and else for as long as a retention
    says.
    """
    windowed = [
        node
        for node in ancestors(records.node)
        if isinstance(node, AggregateNode) and node.windows is not None
    ]
    return generator.alone and all(
        isinstance(node.windows, TimeWindows) and node.retention_ms is not None for node in windowed
    )


def waits(stream: Stream) -> bool:
    """Return True if records of a stream arrive from a flushed record cache, or through a repartition topic."""
    return any(
        isinstance(node, AggregateNode | Repartition | StreamJoin)
        for node in ancestors(stream.node)
    )


def is_at_the_source(node: Node) -> bool:
    """Return True if a record has the place of its topic: after a repartition topic Streams reports that topic's place."""
    return all(
        isinstance(above, _AT_THE_SOURCE) and not above.is_table for above in ancestors(node)
    )


def knows_time(handle: Stream | Table) -> bool:
    """Return True if the oracle knows the time of each row, old ones too: for tables, only for rows of sources."""
    return isinstance(handle, Stream) or not handle.node.parents
