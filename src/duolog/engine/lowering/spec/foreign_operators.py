"""The kinds of nodes of a foreign-key join. The kernel's side is `ForeignOperators.java`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.node_spec import Operator


@dataclass(frozen=True, slots=True)
class NumberOperator(Operator):
    """Numbers the changes of the left table; `a0` in its values is the number (ADR 0043)."""

    kind: ClassVar[str] = "number"
    store: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class AnnounceOperator(Operator):
    """Announces the number of the newest row of a key.

    The last columns of its input are the foreign key, of `foreign_columns` columns, and the number.
    """

    kind: ClassVar[str] = "announce"
    left: bool
    foreign_columns: int


@dataclass(frozen=True, slots=True)
class SubscribeOperator(Operator):
    """Sends subscriptions; `a0` and `a1` in its values are the number and the instruction."""

    kind: ClassVar[str] = "subscribe"
    left: bool
    keys: Sequence[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class SubscriptionsOperator(Operator):
    """Stores subscriptions, and responds with rows of the right table.

    The rows are computed from those of a store by the steps of `getter`.
    """

    kind: ClassVar[str] = "subscriptions"
    store: str
    table_store: str
    getter: Sequence[Json]
    right_types: Sequence[str]
    primary_columns: int
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class ForeignTableOperator(Operator):
    """Sends the changes of a table to all subscribers of its rows."""

    kind: ClassVar[str] = "foreign_table"
    subscriptions: str
    primary_types: Sequence[str]
    left_types: Sequence[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class NewestOperator(Operator):
    """Stores the number of the newest row of each key."""

    kind: ClassVar[str] = "newest"
    store: str


@dataclass(frozen=True, slots=True)
class ForeignJoinOperator(Operator):
    """Converts the responses that are not stale to upserts."""

    kind: ClassVar[str] = "foreign_join"
    newest: str
    results: str
    left: bool
    values: Sequence[str]
