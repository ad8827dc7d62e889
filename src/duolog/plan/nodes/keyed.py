"""Nodes that set a new key: select_key, and group_by before an aggregate."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from duolog.core.windowed_key import WindowedKey
from duolog.plan.expressions import ColumnRef, Named
from duolog.plan.nodes.expiry import ensure_stays
from duolog.plan.nodes.node import (
    Names,
    Node,
    ensure_key,
    ensure_some,
    ensure_stream,
    names_in,
    needed_of,
    render_named,
    scope_of,
    typed_columns,
)
from duolog.plan.schema import Schema


class _Keyed(Node):
    """The base of `SelectKey` and `GroupBy`: a new key, and the remaining columns as value."""

    parent: Node
    keys: tuple[Named, ...]
    window: WindowedKey | None = None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.parent,)

    @cached_property
    def schema(self) -> Schema:
        scope = scope_of(self.parent)
        keys, values = typed_columns(self.keys, scope), typed_columns(self.values, scope)
        return Schema(keys, values, self.window)

    @cached_property
    def values(self) -> tuple[Named, ...]:
        """The parent's columns, old key first, without those whose names are in the new key."""
        taken = {name for name, _ in self.keys}
        names = self.parent.schema.names
        return tuple((name, ColumnRef(name)) for name in names if name not in taken)

    @property
    def rekeys(self) -> bool:
        """False if the new key has the same bytes as the old one; never for a windowed key."""
        if self.parent.schema.window is not None:
            return True
        same = [ColumnRef(column.name) for column in self.parent.schema.key]
        return [expression for _, expression in self.keys] != same

    @property
    def action(self) -> str:
        return f"by {render_named(self.keys)}"

    def reads(self, parent: Node, needed: Names) -> Names:
        keys = names_in(expression for _, expression in self.keys)
        return keys | names_in(needed_of(self.values, needed))


@dataclass(frozen=True, eq=False)
class SelectKey(_Keyed):
    """Sets a new key for each record of a stream. The columns of the old key move into the value.

    Without `keys`, records have no key from here on. With `window`, the last columns of the key are
    the bounds of a window, as in the key of a windowed table. A key whose columns are all null
    counts as no key; with `keeps_nulls` this holds only for keys of one column, as in ksqlDB.
    """

    name: str
    parent: Node
    keys: tuple[Named, ...]
    window: WindowedKey | None = None
    keeps_nulls: bool = False
    is_table: ClassVar[bool] = False

    def __post_init__(self) -> None:
        ensure_stream(self.parent, "select a new key for")
        ensure_key(self.schema)


@dataclass(frozen=True, eq=False)
class GroupBy(_Keyed):
    """Groups records by `keys`, for an aggregate. A record with a null in its group key is dropped.

    If old and new row have the same group key, a table's change is emitted as one change, else as
    two: the old row is removed from its group, then the new row is added to its group (KIP-904).

    A group on the existing key is not a step of the plan: its aggregate reads the group's parent,
    and only takes the column names from the group.
    """

    name: str
    parent: Node
    keys: tuple[Named, ...]
    may_drop: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.parent.is_table:
            ensure_stays(self.parent, "group")
        ensure_some(self.keys, "a group")
        ensure_key(self.schema)

    @property
    def is_table(self) -> bool:
        return self.parent.is_table
