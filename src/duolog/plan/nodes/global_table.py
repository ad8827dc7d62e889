"""Global tables: every task has all rows, so that a stream finds them by any key.

    topic ── GlobalTableSource ══ to every task ══►┐
                                                   ▼
    stream ─────────────────────────────── GlobalTableJoin

Only streams look them up, and a change by itself causes nothing. Between the table and a join there may be projections and new
names, which are computed when a row is looked up: that source has this join alone.

Source: Kafka Streams `GlobalKTable`, `KStreamGlobalKTableJoin`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal as OneOf

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Expression, Named, Scope, type_of
from duolog.plan.nodes.join import table_names_in
from duolog.plan.nodes.node import (
    Names,
    Node,
    driving,
    ensure_stream,
    key_behind,
    names_in,
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
    """A table that each task has whole: each record of a topic is the new row of its key.

    What its topic holds at a start is there before any stream is read.
    """

    @property
    def action(self) -> str:
        return f"global table of topic {self.topic}, {self.topic_columns}"


@dataclass(frozen=True, eq=False)
class GlobalTableJoin(Node):
    """Looks each record of a stream up in a global table, by any key; the record keeps its own.

    `keys` are matched with the table's key columns, in their order, and read the stream's columns.
    `values` read these too, and the table's value columns by `TableColumnRef`. A null stream value
    is dropped. Without a match, or where all of `keys` are null, "inner" drops the record and "left"
    sees nulls.
    """

    name: str
    stream: Node
    table: Node
    kind: OneOf["inner", "left"]
    keys: tuple[Expression, ...]
    values: tuple[Named, ...]
    is_table: bool = field(default=False, init=False)

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
                hint="Give join(..., on=...) an expression for each key column, cast to its type.",
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
        """Any task will do. In front of the first edge there is none: there, that of the key."""
        return not _is_in_task(self.stream)

    @property
    def may_drop(self) -> bool:
        return True

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        of = self.stream.schema
        scope = Scope(of.columns, table_columns=self.table.schema.value, of_record=True)
        return of.with_value(typed_columns(self.values, scope))

    @property
    def action(self) -> str:
        by = ", ".join(map(str, self.keys))
        return f"{self.kind} join with global {self.table.name} by {by}"

    def reads(self, parent: Node, behind: Names) -> Names:
        read = needed_of(self.values, behind)
        if parent is self.stream:
            return names_in([*read, *self.keys]) | key_behind(self, behind)
        return table_names_in(read)


def global_source(table: Node) -> GlobalTableSource | None:
    """Return the global table that `table` is, or is a projection of; None of any other."""
    while isinstance(table, Project | Rename):
        table = table.parent
    return table if isinstance(table, GlobalTableSource) else None


def ensure_read_once(sources: Iterable[Source]) -> None:
    """Raise a StatementError where the topic of a global table is read as something else too."""
    kinds: dict[str, set[bool]] = {}
    for source in sources:
        kinds.setdefault(source.topic, set()).add(isinstance(source, GlobalTableSource))
        if len(kinds[source.topic]) > 1:
            raise InvalidPlan(
                f'topic "{source.topic}" is read as a global table and otherwise too',
                detail="A global table is there before any stream or other table is read.",
                hint="Read it in one way; a stream or table can be joined with itself.",
            )


def _is_in_task(node: Node) -> bool:
    """Tell if records of `node` are in a task of a sub-topology, whichever."""
    above = driving(node, lambda one: one.by_key)
    return all(one.by_key or one.drivers for one in above)
