"""Joins of a stream with a table, and checks shared by all joins."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar
from typing import Literal as OneOf

from duolog.core.windowed_key import WindowedKey
from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Expression, Named, Scope, TableColumnRef, walk
from duolog.plan.nodes.node import (
    Names,
    Node,
    ensure_stream,
    names_in,
    needed_key,
    needed_of,
    typed_columns,
)
from duolog.plan.schema import Schema
from duolog.plan.types import Column, render_columns


@dataclass(frozen=True, eq=False)
class StreamTableJoin(Node):
    """Looks up each record of a stream in a table by its key; changes of the table emit nothing.

    Keys are matched by position, regardless of their names. `values` read the stream's columns by
    `ColumnRef` and the table's value columns by `TableColumnRef`. A record with a null value is
    dropped. Without a match, "inner" drops the record and "left" sees nulls; "left" also emits
    records with a null key, with nulls. In a versioned table, the row at the record's time is
    found.

    With `grace_ms`, records are buffered in a store until stream time exceeds theirs by that much,
    and then joined in timestamp order. A record that arrives later than that is joined immediately.
    """

    name: str
    stream: Node
    table: Node
    kind: OneOf["inner", "left"]
    values: tuple[Named, ...]
    grace_ms: int | None = None
    is_table: ClassVar[bool] = False
    by_key: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ensure_stream(self.stream, "join, on the left side,")
        if not self.table.is_table:
            raise InvalidPlan(f'"{self.table}" is a stream', hint="Join a stream with a table.")
        ensure_same_windows(self.stream, self.table)
        left = [column.type for column in self.stream.schema.key]
        right = [column.type for column in self.table.schema.key]
        if left != right or not left:
            raise InvalidPlan(
                f'cannot join stream "{self.stream}" with table "{self.table}"',
                detail=f"The stream's key is ({render_columns(self.stream.schema.key)}), the "
                f"table's ({render_columns(self.table.schema.key)}).",
                hint=key_hint(self.stream.schema.key, self.table.schema.key),
            )
        if self.grace_ms is not None:
            ensure_history(self.table, self.grace_ms)
        assert self.schema is not None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.stream, self.table)

    @property
    def tables(self) -> tuple[Node, ...]:
        return (self.table,)

    @property
    def stores(self) -> tuple[str, ...]:
        return () if self.grace_ms is None else (f"{self.name}-buffer",)

    @property
    def expiry(self) -> str:
        return "a record until stream time is beyond it by the grace period" if self.stores else ""

    @cached_property
    def schema(self) -> Schema:
        of = self.stream.schema
        scope = Scope(of.columns, table_columns=self.table.schema.value, of_record=True)
        return of.with_value(typed_columns(self.values, scope))

    @property
    def action(self) -> str:
        waits = "" if self.grace_ms is None else f", each record after {self.grace_ms} ms"
        return f"{self.kind} join with {self.table.name}{waits}"

    def reads(self, parent: Node, needed: Names) -> Names:
        read = needed_of(self.values, needed)
        if parent is self.stream:
            return names_in(read) | needed_key(self, needed)
        return table_names_in(read)


def table_names_in(expressions: Iterable[Expression]) -> Names:
    """Return the columns of the joined table that expressions read."""
    parts = (part for expression in expressions for part in walk(expression))
    return frozenset(part.name for part in parts if isinstance(part, TableColumnRef))


def key_hint(left: tuple[Column, ...], right: tuple[Column, ...]) -> str:
    """Return the hint how to give the left side of a join a key of the right side's types.

    Example:
        >>> from duolog.plan.types import BIGINT, STRING
        >>> key_hint((Column("id", STRING),), (Column("id", BIGINT),))
        'Write select_key(id=col("id").cast("BIGINT")) before the join, or declare both keys alike.'
    """
    if not left or len(left) != len(right):
        return "Set the other side's key with select_key(...)."
    keys = (
        f'{has.name}=col("{has.name}")'
        + ("" if has.type == wanted.type else f'.cast("{wanted.type}")')
        for has, wanted in zip(left, right, strict=True)
    )
    return f"Write select_key({', '.join(keys)}) before the join, or declare both keys alike."


def ensure_same_windows(left: Node, right: Node) -> None:
    """Raise a StatementError unless both keys end with bounds of the same windows, or neither."""
    if left.schema.window == right.schema.window:
        return
    windowed = left if left.schema.window is not None else right
    called = f'{"table" if windowed.is_table else "stream"} "{windowed}"'
    hint = "Use the same windows for both, or read them with the same windowed=..."
    if right.schema.window is None:
        hint += ". Or set a key of plain columns: " + (
            'to_stream().select_key(...).to("topic"), and read that.'
            if left.is_table
            else "select_key(...)."
        )
    elif left.schema.window is None and not left.is_table:
        hint += ". For a stream, set `on` to the key columns, start and end of the window."
    both = f"({render_columns(left.schema.key)}) and ({render_columns(right.schema.key)})"
    detail = f"Their keys are {both}."
    if left.schema.window and right.schema.window:
        detail += (
            f" Windows of {_size(left.schema.window)} and {_size(right.schema.window)}: "
            "a row would be joined with a window that has the same start but another end."
        )
    raise InvalidPlan(
        f'cannot join "{left}" with "{right}": '
        + (
            "their windows are of different sizes"
            if left.schema.window and right.schema.window
            else f"the key of {called} is windowed"
        ),
        detail=detail,
        hint=hint,
    )


def _size(window: WindowedKey) -> str:
    return "several sizes" if window.size_ms is None else f"{window.size_ms} ms"


def ensure_history(table: Node, grace_ms: int) -> None:
    """Raise a StatementError if a table's history is shorter than the buffering of records."""
    history_ms = table.history_ms
    if history_ms is None or history_ms < grace_ms:
        kept = "the latest rows" if history_ms is None else f"the rows of the last {history_ms} ms"
        raise InvalidPlan(
            f'a join with table "{table}" cannot wait {grace_ms} ms',
            detail=f"By then, the row of a record's time may be gone: the table stores {kept}.",
            hint="Read its topic as a versioned table: table(..., history=...), at least as long "
            "as grace. Results of aggregates and joins have no versions.",
        )
