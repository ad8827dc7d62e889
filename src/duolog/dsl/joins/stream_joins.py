"""The nodes of a join of two streams by key, within a time difference.

Source: Kafka Streams `KStream.join`, `JoinWindows`, `StreamJoined`.
"""

from dataclasses import dataclass, fields
from typing import TypeVar

from duolog.dsl.expressions.joined_names import JoinedNames, Select
from duolog.dsl.steps.records import Records
from duolog.plan.cutting.joining import StreamJoinOptions
from duolog.plan.cutting.joining import join_streams as plan_join
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import JoinKind, Node
from duolog.plan.nodes.join import ensure_history
from duolog.plan.windows.join_window import JoinWindow

StreamT = TypeVar("StreamT", bound=Records)


@dataclass(frozen=True, slots=True)
class Within:
    """The time and store arguments of `join`, by their names."""

    within: Duration | None = None
    before: Duration | None = None
    after: Duration | None = None
    grace: Duration | None = None
    store: str | None = None
    eager: bool = False

    @property
    def grace_ms(self) -> int | None:
        return None if self.grace is None else milliseconds(self.grace, "grace")

    def ensure_fits(self, kind: JoinKind, stream: Node, other: Node) -> None:
        """Raise a StatementError if the arguments do not suit this kind of join with `other`."""
        if not other.is_table:
            self.window(stream, other)
            return
        if self.grace_ms is not None:
            ensure_history(other, self.grace_ms)
        given = [
            part.name
            for part in fields(self)
            if part.name != "grace" and getattr(self, part.name) not in {None, False}
        ]
        if given:
            raise InvalidPlan(
                f'a join with table "{other}" has no {given[0]}',
                detail="A record is joined with the row of its key that exists when it arrives.",
                hint=f"Remove {given[0]}=, or join the table's changes: to_stream().",
            )
        if kind == "outer":
            raise InvalidPlan(
                f'a stream has no outer join with table "{other}"',
                detail="A change of the table emits nothing.",
                hint="Use left_join(...), or join the table's changes: to_stream().",
            )

    def window(self, left: Node, right: Node) -> JoinWindow:
        """Return the window of a join of two streams."""
        if self.within is None and self.before is None and self.after is None:
            raise InvalidPlan(
                f'a join of stream "{left}" with stream "{right}" needs a time difference',
                detail="Each record is stored for later records of the other stream, for a limited "
                "time.",
                hint='Set the maximum time difference of two records: within="5 minutes". '
                "To look up the latest row of a key, read the other topic with table(...).",
            )
        both = "0 ms" if self.within is None else self.within
        return JoinWindow(
            milliseconds(both if self.before is None else self.before, "before"),
            milliseconds(both if self.after is None else self.after, "after"),
            self.grace_ms or 0,
        )


def join_streams(
    stream: StreamT,
    other: StreamT,
    kind: JoinKind,
    time: Within,
    *,
    prefix: str,
    select: Select | None,
) -> StreamT:
    """Add the nodes of a join of two streams by key, and return the resulting stream."""
    builder, left, right = stream.builder, stream.node, other.node
    window = time.window(left, right)
    names = JoinedNames(left, right, prefix)
    values = names.all_columns() if select is None else names.select(select)
    options = StreamJoinOptions(kind, values, window, time.eager, time.store)
    return type(stream)(builder, plan_join(builder, (left, right), options))
