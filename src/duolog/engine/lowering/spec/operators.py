"""The kinds of kernel nodes: a class for each, with its own fields.

The kernel's side is `Operator.java` and `JoinOperators.java`, of the same kinds and fields.
`scripts/docs` lists the classes in `jvm/README.md`, with their docstrings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.node_spec import Operator


@dataclass(frozen=True, slots=True)
class FilterOperator(Operator):
    """Keeps the records that satisfy the predicate; the columns of a null value are null.

    Both sides of a table's change are filtered; of a `versioned` table, each version is.
    """

    kind: ClassVar[str] = "filter"
    predicate: str
    versioned: bool = False


@dataclass(frozen=True, slots=True)
class ProjectOperator(Operator):
    """Computes a new value; a null value stays null."""

    kind: ClassVar[str] = "project"
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class SelectKeyOperator(Operator):
    """Gives records of a stream a new key.

    A key of nulls only is a null key, unless `keeps_nulls`.
    """

    kind: ClassVar[str] = "select_key"
    keys: Sequence[str]
    keeps_nulls: bool = False


@dataclass(frozen=True, slots=True)
class PythonOperator(Operator):
    """Calls a Python function with many records of a stream at once.

    `values` read its result as `r0`, as bytes. With `nulls` it is also called with records without
    a value. Only stateless nodes may follow.
    """

    kind: ClassVar[str] = "python"
    function: str
    arguments: str
    values: Sequence[str]
    nulls: bool = False


@dataclass(frozen=True, slots=True)
class ExplodeOperator(Operator):
    """Emits a record of a stream for each element of `arrays`; the first array is the longest."""

    kind: ClassVar[str] = "explode"
    arrays: Sequence[str]
    array_types: Sequence[str]
    outer: bool
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class SplitOperator(Operator):
    """Forwards each record of a stream to the child of the first predicate that holds.

    `branches` has the number of a predicate for each child.
    """

    kind: ClassVar[str] = "split"
    predicates: Sequence[str]
    branches: Sequence[int]


@dataclass(frozen=True, slots=True)
class TableOperator(Operator):
    """Stores rows, and converts upserts to changes; with `history_ms` it keeps earlier versions."""

    kind: ClassVar[str] = "table"
    store: str
    ttl_ms: int | None = None
    history_ms: int | None = None
    bucket_ms: int | None = None


@dataclass(frozen=True, slots=True)
class WaitOperator(Operator):
    """Delays records of a stream by the grace period, and sorts them by time, then `key_bytes`."""

    kind: ClassVar[str] = "wait"
    store: str
    key_bytes: str
    grace_ms: int
    bucket_ms: int


@dataclass(frozen=True, slots=True)
class LookupOperator(Operator):
    """Joins a stream with rows of a table, computed from those of a store by the steps of `getter`.

    Without `keys` a row is looked up by the record's own key.
    """

    kind: ClassVar[str] = "lookup"
    store: str
    getter: Sequence[Json]
    left: bool
    right_types: Sequence[str]
    values: Sequence[str]
    keys: Sequence[str] | None = None
    table_key_types: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class JoinOperator(Operator):
    """Joins the changes of a table with rows of another: one side of a table-table join.

    Both sides have the same children.
    """

    kind: ClassVar[str] = "join"
    store: str
    getter: Sequence[Json]
    needs_own: bool
    needs_other: bool
    right_types: Sequence[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class StreamJoinOperator(Operator):
    """Joins the records of one stream with those of another: one side of a stream-stream join.

    The window is relative to its own records. With `again`, closed records are joined, as in Kafka
    Streams.
    """

    kind: ClassVar[str] = "stream_join"
    store: str
    other_store: str
    fills: bool
    left: bool
    tells_unmatched: bool
    unmatched: str | None
    other_unmatched: str | None
    before_ms: int
    after_ms: int
    grace_ms: int
    kept_ms: int
    again: bool
    key_bytes: str
    right_types: Sequence[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class FoldOperator(Operator):
    """Aggregates by key; over a table it needs `subtract`, over a stream that is null.

    `told_at_once`: without the record cache.
    """

    kind: ClassVar[str] = "fold"
    store: str
    acc_types: Sequence[str]
    init: Sequence[str]
    add: Sequence[str]
    subtract: Sequence[str] | None
    results: Sequence[str]
    told_at_once: bool
    paged: bool
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class WindowFoldOperator(Operator):
    """Aggregates a stream by key and time window: hopping, calendar or unlimited."""

    kind: ClassVar[str] = "window_fold"
    store: str
    acc_types: Sequence[str]
    init: Sequence[str]
    add: Sequence[str]
    results: Sequence[str]
    told_at_once: bool
    on_close: str | None
    longer_ms: int
    lost_ms: int | None
    windows: Json
    """As `lower_windows` writes them."""


@dataclass(frozen=True, slots=True)
class SessionFoldOperator(Operator):
    """Aggregates a stream by key and session; `merge` reads the later session as `r0`, `r1`, …."""

    kind: ClassVar[str] = "session_fold"
    store: str
    acc_types: Sequence[str]
    init: Sequence[str]
    add: Sequence[str]
    merge: Sequence[str]
    results: Sequence[str]
    told_at_once: bool
    on_close: str | None
    longer_ms: int
    gap_ms: int
    grace_ms: int


@dataclass(frozen=True, slots=True)
class SlidingFoldOperator(Operator):
    """Aggregates a stream by key and sliding window."""

    kind: ClassVar[str] = "sliding_fold"
    store: str
    acc_types: Sequence[str]
    init: Sequence[str]
    add: Sequence[str]
    results: Sequence[str]
    told_at_once: bool
    on_close: str | None
    longer_ms: int
    difference_ms: int
    grace_ms: int


@dataclass(frozen=True, slots=True)
class IdleOperator(Operator):
    """Closes idle windows of the node `fold`; its input is `ticks` of the spec (ADR 0061)."""

    kind: ClassVar[str] = "idle"
    fold: int
    store: str
    idle_ms: int


@dataclass(frozen=True, slots=True)
class SuppressOperator(Operator):
    """Delays a table's changes until their window closes, or by `delay_ms`."""

    kind: ClassVar[str] = "suppress"
    store: str
    key_bytes: str
    until_close: bool
    delay_ms: int
    bucket_ms: int
    max_records: int | None
    max_bytes: int | None
    shut_down: bool


@dataclass(frozen=True, slots=True)
class ToStreamOperator(Operator):
    """Converts a table's changes to a stream: the new value, null for a deletion."""

    kind: ClassVar[str] = "to_stream"


@dataclass(frozen=True, slots=True)
class HeadersOperator(Operator):
    """Removes headers from records of a stream, and appends others."""

    kind: ClassVar[str] = "headers"
    clears: bool
    removed: Sequence[str]
    written: Sequence[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class TimeOperator(Operator):
    """Sets the timestamp of records of a stream."""

    kind: ClassVar[str] = "time"
    time: str


@dataclass(frozen=True, slots=True)
class RouteOperator(Operator):
    """Sends records over an edge, under new keys if there are any.

    They go to the task of the key, or of `partition`; with `everywhere` to all tasks. At most
    `partitions` tasks are used, if given.
    """

    kind: ClassVar[str] = "route"
    edge: int
    keys: Sequence[str] | None
    key_bytes: str
    everywhere: bool = False
    partition: str | None = None
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class PrintOperator(Operator):
    """Passes the first records to `Prints`; all of them if there is no limit."""

    kind: ClassVar[str] = "print"
    label: str
    limit: int | None
    key_text: str
    value_text: str


@dataclass(frozen=True, slots=True)
class SinkOperator(Operator):
    """Writes records; a null key or value stays null.

    `topic` and `partition` are computed for each record. If they are null, a record goes to the
    sink's topic, to the partition of its key.
    """

    kind: ClassVar[str] = "sink"
    sink: int
    key_bytes: str
    value_bytes: str
    topic: str | None = None
    partition: str | None = None
