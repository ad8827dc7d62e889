"""The kernel's operators: one class for each kind, with its fields other than the input.

The kernel's side is `Operator.java`, with `JoinOperators` and `ForeignOperators`, of the same kinds
and fields; `jvm/README.md` defines them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Operator:
    """A kind of kernel node."""

    kind: ClassVar[str]


@dataclass(frozen=True, slots=True)
class FilterOperator(Operator):
    """Keeps the records that satisfy the predicate; for a versioned table, tests each version."""

    kind: ClassVar[str] = "filter"
    predicate: str
    versioned: bool = False


@dataclass(frozen=True, slots=True)
class ProjectOperator(Operator):
    """Computes a new value."""

    kind: ClassVar[str] = "project"
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class PythonOperator(Operator):
    """Calls a Python function with many records at once; its results are `r0` of the new value."""

    kind: ClassVar[str] = "python"
    function: str
    arguments: str
    values: Sequence[str]
    nulls: bool = False
    """Whether the function is called with records without a value."""


@dataclass(frozen=True, slots=True)
class ProcessOperator(Operator):
    """Calls a processor in Python; forwards the number of an output, and key and value as JSON."""

    kind: ClassVar[str] = "process"
    function: str
    record: str
    store: str
    stores: Sequence[str]
    waits: bool


@dataclass(frozen=True, slots=True)
class ProcessOutputOperator(Operator):
    """Creates records from what a processor forwards to one of its outputs."""

    kind: ClassVar[str] = "process_output"
    output: int
    keys: Sequence[str]
    key_columns: Sequence[str]
    values: Sequence[str]
    value_columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class PunctuateOperator(Operator):
    """Passes the wall-clock time to the node `process`."""

    kind: ClassVar[str] = "punctuate"
    process: int


@dataclass(frozen=True, slots=True)
class SelectKeyOperator(Operator):
    """Gives records of a stream a new key; a key of nulls only is null, unless these are kept."""

    kind: ClassVar[str] = "select_key"
    keys: Sequence[str]
    keeps_nulls: bool = False


@dataclass(frozen=True, slots=True)
class ExplodeOperator(Operator):
    """Emits a record for each element of `arrays`; the first array is the longest."""

    kind: ClassVar[str] = "explode"
    arrays: Sequence[str]
    array_types: Sequence[str]
    outer: bool
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class SplitOperator(Operator):
    """Forwards each record to one child: `branches` has the branch of each."""

    kind: ClassVar[str] = "split"
    predicates: Sequence[str]
    branches: Sequence[int]


@dataclass(frozen=True, slots=True)
class ToStreamOperator(Operator):
    """Converts a table's changes to a stream."""

    kind: ClassVar[str] = "to_stream"


@dataclass(frozen=True, slots=True)
class TableOperator(Operator):
    """Stores rows, and converts upserts to changes; with a history, keeps earlier versions."""

    kind: ClassVar[str] = "table"
    store: str
    ttl_ms: int | None = None
    history_ms: int | None = None
    bucket_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LookupOperator(Operator):
    """Joins a stream with rows of a store, computed by the steps of `getter`.

    Without `keys` a row is looked up by the record's own key.
    """

    kind: ClassVar[str] = "lookup"
    store: str
    getter: Sequence[dict[str, Any]]
    left: bool
    right_types: Sequence[str]
    values: Sequence[str]
    keys: Sequence[str] | None = None
    table_key_types: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class WaitOperator(Operator):
    """Buffers records of a stream until stream time is beyond them by the grace period."""

    kind: ClassVar[str] = "wait"
    store: str
    key_bytes: str
    grace_ms: int
    bucket_ms: int


@dataclass(frozen=True, slots=True)
class JoinOperator(Operator):
    """Joins the changes of a table with rows of another, computed by the steps of `getter`."""

    kind: ClassVar[str] = "join"
    store: str
    getter: Sequence[dict[str, Any]]
    needs_own: bool
    needs_other: bool
    right_types: Sequence[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class StreamJoinOperator(Operator):
    """Joins the records of one stream with another's; the window is relative to its own records."""

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
    """Aggregates by key; `subtract` is None over a stream."""

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
class HeadersOperator(Operator):
    """Removes headers and appends others."""

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
class PrintOperator(Operator):
    """Prints the first records; without a limit all of them."""

    kind: ClassVar[str] = "print"
    label: str
    limit: int | None
    key_text: str
    value_text: str


@dataclass(frozen=True, slots=True)
class WindowFoldOperator(Operator):
    """Aggregates a stream by key and time window; `windows` as `lower_windows` writes them."""

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
    windows: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SessionFoldOperator(Operator):
    """Aggregates a stream by key and session; `merge` refers to the other session as r0, r1, …."""

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
    """Passes the wall-clock time to the node `fold`, which closes windows without records."""

    kind: ClassVar[str] = "idle"
    fold: int
    store: str
    idle_ms: int


@dataclass(frozen=True, slots=True)
class SuppressOperator(Operator):
    """Buffers changes until their window closes, or for a time."""

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
class RouteOperator(Operator):
    """Sends records over an edge, under new keys if there are any, or each record to every task.

    The task is that of the key, or `partition`; at most `partitions` tasks are used, if given.
    """

    kind: ClassVar[str] = "route"
    edge: int
    keys: Sequence[str] | None
    key_bytes: str
    everywhere: bool = False
    partition: str | None = None
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class SinkOperator(Operator):
    """Writes records; `topic` and `partition`, if given, are computed for each record."""

    kind: ClassVar[str] = "sink"
    sink: int
    key_bytes: str
    value_bytes: str
    topic: str | None = None
    partition: str | None = None
