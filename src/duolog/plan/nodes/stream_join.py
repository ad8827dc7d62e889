"""The join of two streams by their keys, within a time difference: two sides and their union.

    left ──► StreamJoinSide ──┐  stores its records, searches those of the right
                              ├──► StreamJoin
    right ─► StreamJoinSide ──┘  stores its records, searches those of the left

A record is joined when it arrives, with records of the other stream that arrived before it, so the
later record of a pair emits it once. In a left or outer join, a record without a partner is emitted
when its window has closed; if the join is eager, as soon as it arrives.

If a stream is joined with itself, only the left side stores records, before the right side searches
them.

Source: Kafka Streams `KStreamKStreamJoin`, `KStreamJoinWindow`.
"""

from dataclasses import dataclass
from typing import ClassVar

from duolog.plan.errors import InvalidPlan
from duolog.plan.expressions import Named
from duolog.plan.nodes.join import ensure_same_windows, key_hint
from duolog.plan.nodes.node import Node, ensure_stream
from duolog.plan.nodes.two_sides import JoinKind, JoinOfSides, SideOfJoin
from duolog.plan.types import Column, render_columns
from duolog.plan.windows.join_window import JoinWindow


@dataclass(frozen=True, eq=False)
class StreamJoinSide(SideOfJoin):
    """Joins each record of one stream with the records of the other that arrived before it."""

    name: str
    left: Node
    right: Node
    kind: JoinKind
    values: tuple[Named, ...]
    of_left: bool
    window: JoinWindow
    """The window as seen from a left record."""
    eager: bool
    """True if a record without a partner is emitted immediately, even if partners may follow."""
    called: str
    """The prefix of the names of the join's stores."""
    is_table: ClassVar[bool] = False
    keeps_whole_rows: ClassVar[bool] = True  # The stored columns must not depend on the readers.

    def __post_init__(self) -> None:
        ensure_stream(self.left, "join, on the left side,")
        ensure_stream(self.right, "join, on the right side,")
        ensure_same_windows(self.left, self.right)
        keys = self.left.schema.key, self.right.schema.key
        if not keys[0] or [c.type for c in keys[0]] != [c.type for c in keys[1]]:
            raise InvalidPlan(
                f'cannot join stream "{self.left}" with stream "{self.right}" by key',
                detail=f"Their keys are ({render_columns(keys[0])}) and "
                f"({render_columns(keys[1])}).",
                hint=key_hint(*keys),
            )
        assert self.schema is not None

    @property
    def own_window(self) -> JoinWindow:
        """The window as seen from a record of its own stream."""
        return self.window if self.of_left else self.window.reversed

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.own,)

    @property
    def of_itself(self) -> bool:
        """True if a stream is joined with itself."""
        return self.left is self.right

    @property
    def fills(self) -> bool:
        """True if it stores its stream's records; False if the left side has stored them."""
        return self.of_left or not self.of_itself

    @property
    def store(self) -> str:
        """The store of the records of its own stream."""
        return self._store(self.of_left)

    @property
    def other_store(self) -> str:
        """The store of the records of the other stream."""
        return self._store(not self.of_left)

    @property
    def tells_unmatched(self) -> bool:
        """True if records of its own stream without a partner are emitted."""
        return self._tells_unmatched(self.of_left)

    @property
    def unmatched(self) -> str | None:
        """The store of its stream's records without a partner; None if they are not buffered."""
        return self._unmatched(self.of_left)

    @property
    def other_unmatched(self) -> str | None:
        """The same for the other stream."""
        return self._unmatched(not self.of_left)

    @property
    def stores(self) -> tuple[str, ...]:
        own = (self.store,) if self.fills else ()
        return own if self.unmatched is None else (*own, self.unmatched)

    @property
    def expiry(self) -> str:
        waits = (
            "" if self.unmatched is None else "; while they have no partner, until they are emitted"
        )
        return f"records of the last {self.window.kept_ms} ms of its stream{waits}"

    def kept_columns(self, *, of_left: bool) -> tuple[Column, ...]:
        """Return the stored value columns of the left stream's records, or of the right's."""
        stream = self.left if of_left else self.right
        read = self.reads(stream, frozenset(self.schema.names))
        return tuple(column for column in stream.schema.value if column.name in read)

    @property
    def action(self) -> str:
        kept = f", kept in {self.store}" if self.fills else ""
        return f"{self.kind} join with {self.other.name} {self.own_window}{kept}"

    def _store(self, of_left: bool) -> str:  # noqa: FBT001
        return f"{self.called}-{'this' if of_left or self.of_itself else 'other'}"

    def _unmatched(self, of_left: bool) -> str | None:  # noqa: FBT001
        if self.eager or not self._tells_unmatched(of_left):
            return None
        return f"{self.called}-unmatched-{'this' if of_left else 'other'}"

    def _tells_unmatched(self, of_left: bool) -> bool:  # noqa: FBT001
        return self.kind == "outer" or (self.kind == "left" and of_left)


@dataclass(frozen=True, eq=False)
class StreamJoin(JoinOfSides[StreamJoinSide]):
    """The stream that contains the results of both sides."""

    name: str
    sides: tuple[StreamJoinSide, StreamJoinSide]
    is_table: ClassVar[bool] = False

    @property
    def action(self) -> str:
        side = self.sides[0]
        return f"{super().action} {side.window}{', eagerly' if side.eager else ''}"
