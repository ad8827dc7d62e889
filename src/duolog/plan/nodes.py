"""Nodes of the logical plan: frozen, typed, each with its parents inside.

    StreamSource ──► Filter ──► SelectKey ──► StreamTableJoin ──► GroupBy ──► AggregateNode ──► Sink
    TableSource ─────────────────────────────────┘                                  └► ToStream ──► Sink

A node checks itself when it is made, so a plan cannot be built wrong. Nodes compare by identity:
one node that two others read is computed once, two equal nodes are two.

    node             records                  key, value
    StreamSource     stream                   as declared
    TableSource      table (keeps a store)    as declared; null key ignored, null value deletes
    Filter           as its parent            as its parent
    Project          as its parent            key as its parent's, value anew; null value stays null
    SelectKey        stream                   key anew; the other columns are the value
    StreamTableJoin  stream                   key of the stream, value anew
    GroupBy          as its parent            key anew; the other columns are the value
    AggregateNode    table (keeps a store)    key of the group, value = results
    ToStream         stream                   as its parent
    Sink             as its parent            as its parent

A table's records are changes: the old row and the new one, either of them null.

Source: Kafka Streams `kstream/internals/graph`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal as OneOf
from typing import TypeGuard

from duolog.plan.aggregates import Accumulator
from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import ColumnRef, Expression, Named, Scope, type_of
from duolog.plan.formats import Format
from duolog.plan.schema import Schema
from duolog.plan.types import BOOLEAN, NULL, Column, render_columns


class Node:
    """The base of all nodes: what every node can say of itself."""

    name: str
    schema: Schema
    is_table: bool

    @property
    def parents(self) -> tuple["Node", ...]:
        """The nodes whose records this node reads, the one that drives it first."""
        return ()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class StreamSource(Node):
    """A stream: each record of a topic is an event of its own."""

    name: str
    topic: str
    schema: Schema
    key_format: Format
    value_format: Format
    is_table: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _check_formats(self)


@dataclass(frozen=True, eq=False)
class TableSource(Node):
    """A table: each record of a topic is the new row of its key; a null value deletes it.

    Records with a null key are ignored. `store` keeps the rows.
    """

    name: str
    topic: str
    schema: Schema
    key_format: Format
    value_format: Format
    store: str
    is_table: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if not self.schema.key:
            raise InvalidPlan(f'table "{self.topic}" has no key', hint='Declare one: key="...".')
        _check_formats(self)


@dataclass(frozen=True, eq=False)
class Filter(Node):
    """Keeps the records for which `predicate` is true; null counts as false.

    Of a table's change, old and new are filtered each; nothing goes on if neither is left.
    """

    name: str
    parent: Node
    predicate: Expression

    def __post_init__(self) -> None:
        found = type_of(self.predicate, self.parent.schema)
        if found not in {BOOLEAN, NULL}:
            raise TypeMismatch(f"{self.predicate} is no condition", detail=f"It is a {found}.")

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        return self.parent.schema

    @property
    def is_table(self) -> bool:  # type: ignore[override]
        return self.parent.is_table


@dataclass(frozen=True, eq=False)
class Project(Node):
    """Replaces the value by `values`. A null value stays null."""

    name: str
    parent: Node
    values: tuple[Named, ...]

    def __post_init__(self) -> None:
        assert self.schema is not None  # Types are checked here, where the user made the mistake.

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        of = self.parent.schema
        return Schema(of.key, _columns(self.values, Scope(of.columns)))

    @property
    def is_table(self) -> bool:  # type: ignore[override]
        return self.parent.is_table


class _Keyed(Node):
    """What `SelectKey` and `GroupBy` share: a new key, and the columns that are left as value."""

    parent: Node
    keys: tuple[Named, ...]

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        scope = Scope(self.parent.schema.columns)
        return Schema(_columns(self.keys, scope), _columns(self.values, scope))

    @cached_property
    def values(self) -> tuple[Named, ...]:
        """The parent's columns, old key first, without those whose names the new key takes."""
        taken = {name for name, _ in self.keys}
        names = self.parent.schema.names
        return tuple((name, ColumnRef(name)) for name in names if name not in taken)

    @property
    def changes_key(self) -> bool:
        """False if the new key has the same values as the old one, in the same order."""
        same = [ColumnRef(column.name) for column in self.parent.schema.key]
        return [expression for _, expression in self.keys] != same


@dataclass(frozen=True, eq=False)
class SelectKey(_Keyed):
    """Gives each record of a stream a new key. The old key's columns move into the value."""

    name: str
    parent: Node
    keys: tuple[Named, ...]
    is_table: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _ensure_stream(self.parent, "select a new key for")
        _ensure_some(self.keys, "a key")
        assert self.schema is not None


@dataclass(frozen=True, eq=False)
class GroupBy(_Keyed):
    """Groups by `keys`, for an aggregate. A record with a null among its group keys is dropped.

    A table's change leaves as one change if old and new have the same group key, else as two:
    the old row taken back from its group, then the new row added to its own (KIP-904).
    """

    name: str
    parent: Node
    keys: tuple[Named, ...]

    def __post_init__(self) -> None:
        _ensure_some(self.keys, "a group")
        assert self.schema is not None

    @property
    def is_table(self) -> bool:  # type: ignore[override]
        return self.parent.is_table


@dataclass(frozen=True, eq=False)
class StreamTableJoin(Node):
    """Looks each record of a stream up in a table by its key; a table's changes emit nothing.

    `values` read the stream's columns by `ColumnRef` and the table's value columns by
    `TableColumnRef`. A null stream value is dropped. Without a match, "inner" drops the record
    and "left" sees nulls; "left" also lets a null key through, with nulls.
    """

    name: str
    stream: Node
    table: Node
    kind: OneOf["inner", "left"]
    values: tuple[Named, ...]
    is_table: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _ensure_stream(self.stream, "join, on the left side,")
        if not self.table.is_table:
            raise InvalidPlan(f'"{self.table}" is a stream', hint="Join a stream with a table.")
        left = [column.type for column in self.stream.schema.key]
        right = [column.type for column in self.table.schema.key]
        if left != right or not left:
            raise InvalidPlan(
                f'cannot join stream "{self.stream}" with table "{self.table}"',
                detail=f"The stream's key is ({render_columns(self.stream.schema.key)}), the "
                f"table's ({render_columns(self.table.schema.key)}).",
                hint="Give the stream the table's key with select_key(...).",
            )
        assert self.schema is not None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.stream, self.table)

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        of = self.stream.schema
        scope = Scope(of.columns, table_columns=self.table.schema.value)
        return Schema(of.key, _columns(self.values, scope))


@dataclass(frozen=True, eq=False)
class AggregateNode(Node):
    """Folds the records of each group into a row: a table.

    For a record, `add` of every accumulator (over a table also `subtract`, for the old row)
    gives the new accumulators; all read the ones before. `results` read the new accumulators by
    `AccumulatorRef` and the group's key by `ColumnRef`. Its scope of columns is the group's
    schema. The row's timestamp is the greatest of all records that went into it.
    """

    name: str
    group: GroupBy
    store: str
    accumulators: tuple[Accumulator, ...]
    results: tuple[Named, ...]
    is_table: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        _ensure_some(self.results, "an aggregate")
        scope = Scope(self.group.schema.columns, accumulators=self.accumulator_columns)
        for accumulator in self.accumulators:
            _check_accumulator(accumulator, scope)
            if self.group.is_table and accumulator.subtract is None:
                raise InvalidPlan(
                    f'cannot take rows back from accumulator "{accumulator.name}"',
                    detail=f'"{self.group.parent}" is a table: its rows change.',
                    hint="Give the aggregation a subtractor.",
                )
        assert self.schema is not None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.group,)

    @property
    def accumulator_columns(self) -> tuple[Column, ...]:
        return tuple(Column(kept.name, kept.type) for kept in self.accumulators)

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        key = self.group.schema.key
        scope = Scope(key, accumulators=self.accumulator_columns)
        return Schema(key, _columns(self.results, scope))


@dataclass(frozen=True, eq=False)
class ToStream(Node):
    """The changes of a table as a stream of its new rows; a deleted row is a null value."""

    name: str
    table: Node
    is_table: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not self.table.is_table:
            raise InvalidPlan(f'"{self.table}" is a stream already')

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.table,)

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        return self.table.schema


@dataclass(frozen=True, eq=False)
class Sink(Node):
    """Writes records to a topic; a table's new rows, with a null value for a deleted one.

    `partitions` is for the topic's creation; None leaves it to the number of tasks.
    """

    name: str
    parent: Node
    topic: str
    key_format: Format
    value_format: Format
    partitions: int | None = None

    def __post_init__(self) -> None:
        _check_formats(self)

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        return self.parent.schema

    @property
    def is_table(self) -> bool:  # type: ignore[override]
        return self.parent.is_table


@dataclass(frozen=True, eq=False)
class Plan:
    """Sinks and all that they read.

    `nodes` stand in the order in which they were made: parents before children. Where a record
    goes to several children, it goes to them in this order, each time all the way down.
    """

    sinks: tuple[Sink, ...]
    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        if not self.sinks:
            raise InvalidPlan("the topology writes nothing", hint="End it with to(topic).")
        ensure_distinct_names("node", [node.name for node in self.nodes])
        ensure_distinct_names("store", [node.store for node in self.nodes if has_store(node)])
        position = {node: index for index, node in enumerate(self.nodes)}
        for node in self.nodes:
            assert all(position[parent] < position[node] for parent in node.parents), node.name

    @property
    def sources(self) -> tuple[StreamSource | TableSource, ...]:
        return tuple(node for node in self.nodes if isinstance(node, StreamSource | TableSource))

    def children(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes that read `node`, in order."""
        return tuple(child for child in self.nodes if node in child.parents)


def plan_of(*sinks: Sink) -> Plan:
    """Return the plan of `sinks`, its nodes ordered as a walk from them finds them."""
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in found:
            for parent in node.parents:
                visit(parent)
            found[node] = None

    for sink in sinks:
        visit(sink)
    return Plan(sinks, tuple(found))


def ancestors(node: Node) -> Iterator[Node]:
    """Yield `node` and all that it reads, nearest first."""
    seen = {node}
    waiting = [node]
    for current in waiting:
        yield current
        waiting.extend(parent for parent in current.parents if parent not in seen)
        seen.update(current.parents)


def has_store(node: Node) -> TypeGuard[TableSource | AggregateNode]:
    return isinstance(node, TableSource | AggregateNode)


def ensure_distinct_names(kind: str, names: list[str]) -> None:
    """Raise a StatementError if a name of this `kind` stands twice."""
    for name in names:
        if names.count(name) > 1:
            raise InvalidPlan(f'two {kind}s are called "{name}"', hint="Name one differently.")


def _columns(named: tuple[Named, ...], scope: Scope) -> tuple[Column, ...]:
    columns = tuple(Column(name, type_of(expression, scope)) for name, expression in named)
    for column, (_, expression) in zip(columns, named, strict=True):
        if column.type == NULL:
            raise TypeMismatch(
                f'column "{column.name}" has no type',
                detail=f"It is {expression}.",
                hint="Cast it to the type that it should have.",
            )
    return columns


def _check_formats(node: StreamSource | TableSource | Sink) -> None:
    node.key_format.check(node.schema.key, f'key of "{node.topic}"')
    node.value_format.check(node.schema.value, f'value of "{node.topic}"')


def _check_accumulator(accumulator: Accumulator, scope: Scope) -> None:
    steps = [
        ("initializer", accumulator.initial, Scope(())),
        ("adder", accumulator.add, scope),
        ("subtractor", accumulator.subtract, scope),
    ]
    for step, expression, visible in steps:
        found = NULL if expression is None else type_of(expression, visible)
        if found not in {accumulator.type, NULL}:
            raise TypeMismatch(
                f'the {step} of "{accumulator.name}" gives {found}',
                detail=f"The accumulator is {accumulator.type}; the {step} is {expression}.",
                hint="Cast one of them.",
            )


def _ensure_stream(node: Node, action: str) -> None:
    if node.is_table:
        raise InvalidPlan(f'cannot {action} table "{node}"', hint="Use to_stream() first.")


def _ensure_some(named: tuple[Named, ...], what: str) -> None:
    if not named:
        raise InvalidPlan(f"{what} needs at least one column")
