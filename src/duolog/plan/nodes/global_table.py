"""Global tables: every task stores all rows, so that a stream can look them up by any key.

    topic ── GlobalTableSource ══ to every task ══►┐
                                                   ▼
    stream ─────────────────────────────── GlobalTableJoin

Only streams look them up; a change of a global table triggers nothing. Projections and renames
between the table and a join are computed when a row is looked up, because the source has no other
children.

A join with a global table needs a task, but not the task of its key: it is `by_key` only before the
first edge. Rows of a global table are not ordered by time; they are processed first.

Source: Kafka Streams `GlobalKTable`, `KStreamGlobalKTableJoin`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar
from typing import Literal as OneOf

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Expression, Named, Scope, type_of
from duolog.plan.nodes.join import table_names_in
from duolog.plan.nodes.node import (
    Names,
    Node,
    driving,
    ensure_stream,
    names_in,
    needed_key,
    needed_of,
    typed_columns,
)
from duolog.plan.nodes.rename import Rename
from duolog.plan.nodes.stateless import Project
from duolog.plan.nodes.topics import Source, TableSource
from duolog.plan.schema import Schema
from duolog.plan.types import render_columns


@dataclass(frozen=True, eq=False)
class GlobalTableSource(TableSource):
    """A table of which each task stores all rows: each record of a topic is the new row of its key.

    The rows that are in its topic at a start are loaded before any stream is read.
    """

    @property
    def action(self) -> str:
        return f"global table of topic {self.topic}, {self.topic_columns}"


@dataclass(frozen=True, eq=False)
class GlobalTableJoin(Node):
    """Looks up each record of a stream in a global table, by any key; the record keeps its own key.

    `keys` are matched with the table's key columns in order, and read the stream's columns.
    `values` read these too, and the table's value columns by `TableColumnRef`. A record with a null
    value is dropped. Without a match, or if all of `keys` are null, "inner" drops the record and
    "left" sees nulls.
    """

    name: str
    stream: Node
    table: Node
    kind: OneOf["inner", "left"]
    keys: tuple[Expression, ...]
    values: tuple[Named, ...]
    is_table: ClassVar[bool] = False
    may_drop: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ensure_stream(self.stream, "join, on the left side,")
        assert global_source(self.table) is not None, self.table
        scope = Scope(self.stream.schema.columns, of_record=True)
        given = [type_of(key, scope) for key in self.keys]
        if given != [column.type for column in self.table.schema.key]:
            raise InvalidPlan(
                f'cannot join stream "{self.stream}" with global table "{self.table}"',
                detail=f"{', '.join(map(str, self.keys)) or 'Nothing'} of type "
                f"({', '.join(map(str, given))}) is matched with the table's key "
                f"({render_columns(self.table.schema.key)}).",
                hint="Set join(..., on=...) to one expression per key column, cast to its type.",
            )
        assert self.schema is not None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.stream, self.table)

    @property
    def tables(self) -> tuple[Node, ...]:
        return (self.table,)

    @property
    def by_key(self) -> bool:
        """True if the record is in no task yet; after the first edge any task has the rows."""
        return not _is_in_task(self.stream)

    @cached_property
    def schema(self) -> Schema:
        of = self.stream.schema
        scope = Scope(of.columns, table_columns=self.table.schema.value, of_record=True)
        return of.with_value(typed_columns(self.values, scope))

    @property
    def action(self) -> str:
        by = ", ".join(map(str, self.keys))
        return f"{self.kind} join with global {self.table.name} by {by}"

    def reads(self, parent: Node, needed: Names) -> Names:
        read = needed_of(self.values, needed)
        if parent is self.stream:
            return names_in([*read, *self.keys]) | needed_key(self, needed)
        return table_names_in(read)


def global_source(table: Node) -> GlobalTableSource | None:
    """Return the global table that `table` is, or is projected from; None for other tables."""
    while isinstance(table, Project | Rename):
        table = table.parent
    return table if isinstance(table, GlobalTableSource) else None


def ensure_read_once(sources: Iterable[Source]) -> None:
    """Raise a StatementError if the topic of a global table is also read in another way."""
    kinds: dict[str, set[bool]] = {}
    for source in sources:
        kinds.setdefault(source.topic, set()).add(isinstance(source, GlobalTableSource))
        if len(kinds[source.topic]) > 1:
            raise InvalidPlan(
                f'topic "{source.topic}" is read as a global table and in another way',
                detail="A global table is loaded before any stream or other table is read.",
                hint="Read it in one way. A stream or table can be joined with itself.",
            )


def _is_in_task(node: Node) -> bool:
    """Return True if records of `node` are in some task of a sub-topology."""
    above = driving(node, lambda one: one.by_key)
    return all(one.by_key or one.drivers for one in above)
