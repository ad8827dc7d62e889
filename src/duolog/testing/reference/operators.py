"""The function of each node of a plan, in plain Python: the reference for the engine.

A stream's record has a value; a table's record has the old and the new row. `run` returns the
records that a node forwards.

    shaping        filter, project, explode, split, select the key
    grouping       groups of records; their aggregates are in `aggregating`
    table_joins    joins with the row of a key; joins of streams are in `joining`
    kept_rows      the rows of a table by key, for these joins

Source: Kafka Streams `KTableSource`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from duolog.plan.cutting.cuts import TableCopy
from duolog.plan.nodes import (
    AggregateNode,
    Announce,
    Answers,
    Branch,
    Explode,
    Filter,
    ForEach,
    ForeignJoin,
    ForeignTable,
    GlobalTableJoin,
    GlobalTableSource,
    GroupBy,
    JoinSide,
    Merge,
    Newest,
    Node,
    Numbered,
    Print,
    Process,
    ProcessOutput,
    Project,
    Rename,
    Repartition,
    SelectKey,
    SetHeaders,
    SetTime,
    Sink,
    Split,
    StreamJoin,
    StreamJoinSide,
    StreamSource,
    StreamTableJoin,
    Subscribe,
    Subscriptions,
    Suppress,
    TableJoin,
    TableSource,
    ToStream,
    ToTable,
)
from duolog.testing.reference.calling import called
from duolog.testing.reference.entries import (
    Entry,
    LookedUp,
    Run,
    Stores,
    TimestampedRow,
    after,
    is_null,
)
from duolog.testing.reference.expiry import find, see
from duolog.testing.reference.foreign_joins import (
    announce,
    foreign_join,
    foreign_table,
    newest,
    numbered,
    subscribe,
    subscriptions,
)
from duolog.testing.reference.grouping import aggregated, grouped
from duolog.testing.reference.joining import stream_join_of
from duolog.testing.reference.kept_rows import kept_by
from duolog.testing.reference.metadata import set_headers, set_time
from duolog.testing.reference.shaping import (
    branch,
    exploded,
    filtered,
    pass_on,
    projected,
    select_key,
    split,
    to_stream,
)
from duolog.testing.reference.suppressing import suppress
from duolog.testing.reference.table_joins import join_side, join_with_table
from duolog.testing.reference.versions import versioned_table
from duolog.testing.reference.waiting import waiting


def compile_node(node: Node, looked_up: LookedUp) -> Run:
    """Return the function that runs `node` on one record and the stores of its task."""
    if isinstance(node, StreamTableJoin | GlobalTableJoin):
        join = join_with_table(node, kept_by(looked_up(node, node.table), looked_up))
        if isinstance(node, StreamTableJoin) and node.grace_ms is not None:
            return waiting(node, node.grace_ms, join)
        return join
    if isinstance(node, JoinSide):
        return join_side(node, kept_by(looked_up(node, node.other), looked_up))
    if isinstance(node, Subscriptions):
        return subscriptions(node, kept_by(looked_up(node, node.right), looked_up))
    return _OPERATORS[type(node)](node)


def _table(node: TableSource | TableCopy | ToTable) -> Run:
    if node.history_ms is not None:
        return versioned_table(node.store, node.history_ms)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if is_null(entry.key):
            return []
        see(node, entry, stores)
        store, kept = stores[node.store], find(node, entry.key, stores)
        store.pop(entry.key, None)
        if entry.value is not None:
            store[entry.key] = TimestampedRow(entry.value, entry.timestamp_ms)
        return [after(entry, kept)]

    return run


_OPERATORS: Final[dict[type[Node], Callable[[Any], Run]]] = {
    StreamSource: pass_on,
    TableSource: _table,
    GlobalTableSource: _table,
    TableCopy: _table,
    Filter: filtered,
    Project: projected,
    Rename: pass_on,
    Explode: exploded,
    Split: split,
    ProcessOutput: branch,
    Branch: branch,
    SelectKey: select_key,
    SetHeaders: set_headers,
    SetTime: set_time,
    GroupBy: grouped,
    AggregateNode: aggregated,
    ToStream: to_stream,
    ToTable: _table,
    Print: lambda _node: lambda _entry, _stores: [],
    ForEach: called,
    Suppress: suppress,
    Process: pass_on,
    TableJoin: pass_on,
    Merge: pass_on,
    Numbered: numbered,
    Announce: announce,
    Newest: newest,
    Subscribe: subscribe,
    ForeignTable: foreign_table,
    Answers: pass_on,
    ForeignJoin: foreign_join,
    StreamJoinSide: stream_join_of,
    StreamJoin: pass_on,
    Repartition: pass_on,
    Sink: pass_on,
}
"""One row for each kind of node, except joins, which need the node with their table's rows."""
