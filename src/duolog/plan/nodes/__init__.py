"""Nodes of the logical plan: frozen, typed, each with its parents inside.

    StreamSource ─► Filter ─► SelectKey ─► StreamTableJoin ─► GroupBy ─► AggregateNode ─► Sink
    TableSource ──────────────────────────────┘                              └► ToStream ─► Sink

A node validates itself when it is built, so a plan cannot be invalid. Nodes compare by identity: a
node with two children is computed once, two equal nodes are computed twice.

    node             records                  key, value
    StreamSource     stream                   as declared
    TableSource      table (has a store)      as declared; null key ignored, null value deletes
    Filter           as its parent            as its parent
    Project          as its parent            parent's key, new value; a null value stays null
    SelectKey        stream                   new key; the other columns are the value
    StreamTableJoin  stream                   key of the stream, new value
    GlobalTableSource, GlobalTableJoin: as TableSource and StreamTableJoin, by any key
    JoinSide         table                    key of the left table, new value
    TableJoin        table                    as its sides
    ForeignJoin      table (has a store)      key of the left table, new value; see `foreign_join`
                                              for the nodes before it
    StreamJoinSide   stream (has a store)     key of the left stream, new value
    StreamJoin       stream                   as its sides
    GroupBy          as its parent            new key; the other columns are the value
    AggregateNode    table (has a store)      the group and its window; value = results
    Explode          stream                   parent's key; the elements are value columns
    Split, Branch    stream                   as its parent
    SetHeaders, SetTime  stream               as its parent; other headers, another timestamp
    Merge            stream                   as its parents
    Rename           as its parent            as its parent, with other names
    Repartition      stream                   as its parent
    ToStream         stream                   as its parent
    ToTable          table (has a store)      as its parent; null key ignored, null value deletes
    Suppress         table (has a store)      as its parent
    Process          stream (has stores)      as its parent; a ProcessOutput as declared
    Sink, Print, ForEach: as its parent

A table's records are changes: the old row and the new row, either of which may be null.

Start with `node`, which defines the traits of a node. A new kind of node is a class with these
traits, a row in `engine/lowering/lower.py` and one in `testing/reference/operators.py`. Cutting,
describing and the search for needed columns use only the traits.

Source: Kafka Streams `kstream/internals/graph`.
"""

from duolog.plan.nodes.aggregate import AggregateNode
from duolog.plan.nodes.explode import Explode
from duolog.plan.nodes.for_each import ForEach
from duolog.plan.nodes.foreign_join import (
    Announce,
    Answers,
    ForeignJoin,
    ForeignTable,
    Newest,
    Numbered,
    Subscribe,
    Subscriptions,
)
from duolog.plan.nodes.global_table import GlobalTableJoin, GlobalTableSource
from duolog.plan.nodes.join import StreamTableJoin
from duolog.plan.nodes.keyed import GroupBy, SelectKey
from duolog.plan.nodes.merge import Merge
from duolog.plan.nodes.metadata import SetHeaders, SetTime, ensure_header_names
from duolog.plan.nodes.node import Node, ancestors, driving, scope_of
from duolog.plan.nodes.plan import Plan, plan_of
from duolog.plan.nodes.printed import Print
from duolog.plan.nodes.process import Process, ProcessorRows, ProcessOutput
from duolog.plan.nodes.rename import Rename
from duolog.plan.nodes.repartition import Repartition
from duolog.plan.nodes.split import Branch, Split
from duolog.plan.nodes.stateless import Filter, Project, ToStream
from duolog.plan.nodes.stream_join import StreamJoin, StreamJoinSide
from duolog.plan.nodes.suppress import Suppress
from duolog.plan.nodes.table_join import JoinSide, TableJoin
from duolog.plan.nodes.to_table import ToTable
from duolog.plan.nodes.topics import Sink, Source, StreamSource, TableSource
from duolog.plan.nodes.two_sides import JoinKind

__all__ = [
    "AggregateNode",
    "Announce",
    "Answers",
    "Branch",
    "Explode",
    "Filter",
    "ForEach",
    "ForeignJoin",
    "ForeignTable",
    "GlobalTableJoin",
    "GlobalTableSource",
    "GroupBy",
    "JoinKind",
    "JoinSide",
    "Merge",
    "Newest",
    "Node",
    "Numbered",
    "Plan",
    "Print",
    "Process",
    "ProcessOutput",
    "ProcessorRows",
    "Project",
    "Rename",
    "Repartition",
    "SelectKey",
    "SetHeaders",
    "SetTime",
    "Sink",
    "Source",
    "Split",
    "StreamJoin",
    "StreamJoinSide",
    "StreamSource",
    "StreamTableJoin",
    "Subscribe",
    "Subscriptions",
    "Suppress",
    "TableJoin",
    "TableSource",
    "ToStream",
    "ToTable",
    "ancestors",
    "driving",
    "ensure_header_names",
    "plan_of",
    "scope_of",
]
