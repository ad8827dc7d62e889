"""The kernel's operators of a foreign-key join. The kernel's side is `ForeignOperators.java`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from duolog.engine.lowering.operators import Operator


@dataclass(frozen=True, slots=True)
class NumberOperator(Operator):
    """Numbers the changes of a table; `a0` of its values is the number."""

    kind: ClassVar[str] = "number"
    store: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class AnnounceOperator(Operator):
    """Says which number the newest row of a key has; the number is its last column, behind the foreign key."""

    kind: ClassVar[str] = "announce"
    left: bool
    foreign_columns: int


@dataclass(frozen=True, slots=True)
class SubscribeOperator(Operator):
    """Sends subscriptions; `a0` and `a1` of its values are the number and the instruction."""

    kind: ClassVar[str] = "subscribe"
    left: bool
    keys: Sequence[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class SubscriptionsOperator(Operator):
    """Keeps subscriptions, and answers with rows of a table, seen through the steps of `getter`."""

    kind: ClassVar[str] = "subscriptions"
    store: str
    table_store: str
    getter: Sequence[dict[str, Any]]
    right_types: Sequence[str]
    primary_columns: int
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class ForeignTableOperator(Operator):
    """Answers the changes of a table to all that subscribe to its rows."""

    kind: ClassVar[str] = "foreign_table"
    subscriptions: str
    primary_types: Sequence[str]
    left_types: Sequence[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class NewestOperator(Operator):
    """Keeps the number of the newest row of each key."""

    kind: ClassVar[str] = "newest"
    store: str


@dataclass(frozen=True, slots=True)
class ForeignJoinOperator(Operator):
    """Makes upserts of the answers that are not stale."""

    kind: ClassVar[str] = "foreign_join"
    newest: str
    results: str
    left: bool
    values: Sequence[str]
