"""The join of two tables by a column of the left one, built from subscriptions and answers.

    left ─► Numbered ─┬─► Subscribe ══ edge ══► Subscriptions ─┐
                      │   to the foreign key's task            ├─► Answers ══ edge ══► ForeignJoin
                      │              right ─► ForeignTable ────┘   back to the key's       ▲ asks
                      └─► Announce ══ edge ════════════════════════════════════════════► Newest

Each row of the left table subscribes to a row of the right one, in the task of the right row. The
subscription is answered immediately, and again whenever the right row changes. An answer carries
the subscribing row and its number. If a newer row of the same key is known in the task of the left
key, the answer is stale and dropped. New rows are announced to that task directly, because a row
may change on both sides at once (a table joined with itself).

Source: Kafka Streams `foreignkeyjoin`, KIP-213, KIP-1104; it compares a hash of the row with a copy
of it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final
from typing import Literal as OneOf

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Named, Scope
from duolog.plan.nodes.expiry import ensure_stays
from duolog.plan.nodes.join import table_names_in
from duolog.plan.nodes.node import (
    Names,
    Node,
    ensure_table,
    names_in,
    needed_of,
    typed_columns,
)
from duolog.plan.schema import Schema
from duolog.plan.types import BIGINT, BOOLEAN, INT, Column, render_columns

ForeignJoinKind = OneOf["inner", "left"]

# Internal columns. A column that represents a user's has its name in it.
NUMBER: Final = Column("(number)", BIGINT)
INSTRUCTION: Final = Column("(instruction)", INT)
OUTCOME: Final = Column("(outcome)", INT)
THERE: Final = Column("(there)", BOOLEAN)


def left_column(column: Column) -> Column:
    return Column(f"(left) {column.name}", column.type)


def right_column(column: Column) -> Column:
    return Column(f"(right) {column.name}", column.type)


@dataclass(frozen=True, eq=False)
class Numbered(Node):
    """The changes of the left table, each with an increasing number and the foreign key of its row.

    `keys` are the foreign key, over the left table's columns; a foreign key with a null is absent.
    """

    name: str
    left: Node
    right: Node
    keys: tuple[Named, ...]
    store: str
    is_table: ClassVar[bool] = False
    keeps_whole_rows: ClassVar[bool] = True  # Detecting a change requires the whole row.
    expiry: ClassVar[str] = "the last number, for good"

    def __post_init__(self) -> None:
        ensure_table(self.left, "join, on the left side,")
        ensure_table(self.right, "join, on the right side,")
        found, wanted = self.foreign_key, self.right.schema.key
        if [column.type for column in found] != [column.type for column in wanted]:
            raise InvalidPlan(
                f'cannot join table "{self.left}" with table "{self.right}"',
                detail=f"The matched columns are ({render_columns(found)}), the key of "
                f'"{self.right}" is ({render_columns(wanted)}).',
                hint="Match columns of the same types: cast one, or change its declaration.",
            )

    @cached_property
    def foreign_key(self) -> tuple[Column, ...]:
        return typed_columns(self.keys, Scope(self.left.schema.columns))

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.left,)

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @cached_property
    def schema(self) -> Schema:
        foreign = (
            Column(f"(foreign {at}) {column.name}", column.type)
            for at, column in enumerate(self.foreign_key)
        )
        return self.left.schema.with_value((*self.left.schema.value, *foreign, NUMBER))

    @property
    def action(self) -> str:
        return f"numbered in {self.store}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return frozenset(parent.schema.names)


@dataclass(frozen=True, eq=False)
class Subscribe(Node):
    """Sends each change of the left table to the task of the right row."""

    name: str
    numbered: Numbered
    kind: ForeignJoinKind
    is_table: ClassVar[bool] = False
    rekeys: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.numbered,)

    @cached_property
    def schema(self) -> Schema:
        left = self.numbered.left.schema
        primary, columns = (map(left_column, part) for part in (left.key, left.value))
        value = (*primary, NUMBER, INSTRUCTION, *columns)
        right = self.numbered.right.schema
        return Schema(right.key, value, right.window)

    @property
    def action(self) -> str:
        numbered = self.numbered
        by = ", ".join(str(of) for _, of in numbered.keys)
        return f"subscriptions to {numbered.right.name} by {by}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return frozenset(parent.schema.names)


@dataclass(frozen=True, eq=False)
class _Answering(Node):
    """The base of nodes that emit answers: the left key, the left row and the right row."""

    name: str
    numbered: Numbered
    is_table: ClassVar[bool] = False
    by_key: ClassVar[bool] = True
    rekeys: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True

    @property
    def right(self) -> Node:
        return self.numbered.right

    @cached_property
    def schema(self) -> Schema:
        left, right = self.numbered.left.schema, self.right.schema
        columns = (*map(left_column, left.value), *map(right_column, right.value))
        return Schema(left.key, (NUMBER, OUTCOME, *columns), left.window)

    def reads(self, parent: Node, needed: Names) -> Names:
        if parent is not self.right:
            left = {left_column(column).name for column in self.numbered.left.schema.value}
            return frozenset(parent.schema.names) - (left - needed)
        columns = parent.schema.value
        return frozenset(of.name for of in columns if right_column(of).name in needed)


@dataclass(frozen=True, eq=False)
class Subscriptions(_Answering):
    """Stores the subscriptions to each row of the right table, and answers new ones immediately."""

    subscribe: Subscribe
    store: str

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.subscribe, self.right)

    @property
    def tables(self) -> tuple[Node, ...]:
        return (self.right,)

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @property
    def expiry(self) -> str:
        return (
            "what the result reads of each left row, until that is deleted or matches another one"
        )

    @property
    def action(self) -> str:
        return f"answered by {self.right.name}, kept in {self.store}"


@dataclass(frozen=True, eq=False)
class ForeignTable(_Answering):
    """Sends each change of the right table as an answer to all subscribers of its row."""

    subscriptions: Subscriptions

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.right,)

    @property
    def action(self) -> str:
        return f"to all in {self.subscriptions.store}"


@dataclass(frozen=True, eq=False)
class Answers(_Answering):
    """The answers of both nodes, on their way back to the left key."""

    subscriptions: Subscriptions
    foreign_table: ForeignTable
    by_key: ClassVar[bool] = False

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.subscriptions, self.foreign_table)

    @property
    def drivers(self) -> tuple[Node, ...]:
        return self.parents

    @property
    def action(self) -> str:
        return f"back to the key of {self.numbered.left.name}"

    def reads(self, parent: Node, needed: Names) -> Names:
        return needed


@dataclass(frozen=True, eq=False)
class Announce(Node):
    """Announces each new row of the left table in the task to which answers return."""

    name: str
    numbered: Numbered
    kind: ForeignJoinKind
    is_table: ClassVar[bool] = False
    rekeys: ClassVar[bool] = (
        True  # The key is the same, but the readers are in another part of the plan.
    )
    may_drop: ClassVar[bool] = True

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.numbered,)

    @property
    def schema(self) -> Schema:
        return self.numbered.schema.with_value((NUMBER, THERE))

    @property
    def action(self) -> str:
        return f"rows of {self.numbered.left.name} that are new"

    def reads(self, parent: Node, needed: Names) -> Names:
        return frozenset(parent.schema.names)


@dataclass(frozen=True, eq=False)
class Newest(Node):
    """Stores the number of the newest left row of each key."""

    name: str
    announce: Announce
    store: str
    is_table: ClassVar[bool] = False
    by_key: ClassVar[bool] = True
    keeps_whole_rows: ClassVar[bool] = True
    expiry: ClassVar[str] = "a number for each left row, until that is deleted"

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.announce,)

    @property
    def schema(self) -> Schema:
        return self.announce.schema

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @property
    def action(self) -> str:
        return f"numbers of the newest, kept in {self.store}"


@dataclass(frozen=True, eq=False)
class ForeignJoin(Node):
    """Turns each answer into a row of the join, unless it is stale: the left row has changed since.

    `values` read the left table's columns by `ColumnRef` and the right one's value columns by
    `TableColumnRef`. Without a right row, "inner" has no row and "left" sees nulls.
    """

    name: str
    answers: Answers
    newest: Newest
    kind: ForeignJoinKind
    values: tuple[Named, ...]
    store: str
    is_table: ClassVar[bool] = True
    by_key: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True
    keeps_whole_rows: ClassVar[bool] = True  # The stored columns must not depend on the readers.
    expiry: ClassVar[str] = "a row for each left row that has a result, until it has none"

    def __post_init__(self) -> None:
        for table in (self.left, self.right):
            ensure_stays(table, "join by a foreign key")
        assert self.schema is not None  # Check types here, where the user made the mistake.

    @property
    def left(self) -> Node:
        return self.answers.numbered.left

    @property
    def right(self) -> Node:
        return self.answers.numbered.right

    @property
    def keys(self) -> tuple[Named, ...]:
        """The foreign key."""
        return self.answers.numbered.keys

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.answers, self.newest)

    @property
    def parts(self) -> tuple[Node, ...]:
        of = self.answers
        asking = of.numbered, self.newest.announce, of.subscriptions.subscribe
        return (*asking, of.subscriptions, of.foreign_table, of, self.newest)

    @property
    def tables(self) -> tuple[Node, ...]:
        return (self.newest,)

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @cached_property
    def schema(self) -> Schema:
        of = self.left.schema
        scope = Scope(of.columns, table_columns=self.right.schema.value)
        return of.with_value(typed_columns(self.values, scope))

    @property
    def action(self) -> str:
        return f"{self.kind} join of {self.left.name} and {self.right.name}, kept in {self.store}"

    def reads(self, parent: Node, needed: Names) -> Names:
        if parent is self.newest:
            return frozenset({NUMBER.name})
        read = needed_of(self.values, needed)
        from_left, from_right = names_in(read), table_names_in(read)
        left = {left_column(of).name for of in self.left.schema.value if of.name in from_left}
        right = {right_column(of).name for of in self.right.schema.value if of.name in from_right}
        return frozenset({NUMBER.name, OUTCOME.name, *left, *right})
