"""The aggregate: folds the records of a group into a row of a table."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, get_args
from typing import Literal as OneOf

from duolog.plan.aggregates.accumulators import Accumulator
from duolog.plan.errors import InvalidPlan, TypeMismatch
from duolog.plan.expressions import Expression, Named, Scope, type_of
from duolog.plan.nodes.expiry import ensure_ttl, render_ttl
from duolog.plan.nodes.keyed import GroupBy
from duolog.plan.nodes.node import (
    Names,
    Node,
    ensure_some,
    names_in,
    render_named,
    typed_columns,
)
from duolog.plan.schema import BOUNDS, Schema
from duolog.plan.types import NULL, Column
from duolog.plan.windows import (
    FixedWindows,
    SessionWindows,
    UnlimitedWindows,
    Windows,
    ensure_closing,
    ensure_retention,
)

Emit = OneOf["on update", "on close"]
"""When the result of a window is emitted: with each update, or once, when the window has closed."""
EMITS: Final[tuple[Emit, ...]] = get_args(Emit)


@dataclass(frozen=True, eq=False)
class AggregateNode(Node):
    """Folds the records of each group into a row of a table.

    A record updates every accumulator by its `add`. If a table is aggregated, the old row first
    updates them by `subtract`. All steps read the accumulators as they were before. `results` read
    the new accumulators by `AccumulatorRef` and the group's key by `ColumnRef`. The columns in
    scope are those of the group's schema. The row's timestamp is the greatest one of its records.

    With `windows`, each record of a stream updates the rows of all open windows that contain it.
    The key is the group's key followed by the window's bounds. With `emit` on close, a row is
    emitted when its window has closed, ordered by time and then by group key. Rows of closed
    windows can be looked up until the retention of the windows, or `retention_ms`, has passed.
    """

    name: str
    group: GroupBy
    store: str
    accumulators: tuple[Accumulator, ...]
    results: tuple[Named, ...]
    windows: Windows | None = None
    emit: Emit = "on update"
    ttl_ms: int | None = None
    """The lifetime of a row that is not updated; None: unlimited, or that of its window."""
    retention_ms: int | None = None
    """Lifetime of a row after the window's start or the session's end; None: from the windows."""
    loses: bool = False
    """True if results on close are lost when stream time jumps.

    A result is lost if its window starts more than `kept_ms` before the last one. Kafka Streams,
    and so ksqlDB, reads results from a store that has already evicted them.
    """
    idle_ms: int | None = None
    """The time without records after which the wall clock moves stream time; None: never.

    Stream time then moves until the last window closes.
    """
    at_once: bool = False
    """True if each update is forwarded immediately, without a record cache that merges updates."""
    is_table: ClassVar[bool] = True
    by_key: ClassVar[bool] = True
    may_drop: ClassVar[bool] = True
    keeps_whole_rows: ClassVar[bool] = True  # The stored columns must not depend on the readers.

    def __post_init__(self) -> None:
        ensure_some(self.results, "an aggregate")
        ensure_ttl(self.ttl_ms)
        if self.retention_ms is not None:
            ensure_retention(self.windows, self.retention_ms)
        if self.ttl_ms is not None and (
            self.group.is_table or any(kept.paged for kept in self.accumulators)
        ):
            raise InvalidPlan(
                f'rows of an aggregate over table "{self.group.parent}" cannot have a ttl',
                detail="After a group has expired, its old rows could not be subtracted when they "
                "change.",
                hint="Remove ttl=, or aggregate the table's changes: to_stream().",
            )
        if self.windows and self.ttl_ms is not None:
            raise InvalidPlan(
                "rows of windows cannot have a ttl",
                detail="They expire after their windows have closed.",
                hint="Remove ttl=. Set grace= for late records, and retention= for how "
                "long rows are stored.",
            )
        if self.windows and self.group.is_table:
            raise InvalidPlan(
                f'cannot aggregate table "{self.group.parent}" in windows',
                detail="A row of a table is valid until it changes, so it is not in a window.",
                hint="Aggregate the table's changes: to_stream().",
            )
        if self.windows and self.emits_on_close:
            ensure_closing(self.windows, self)
        self._ensure_idle()
        scope = Scope(
            self.group.schema.columns,
            accumulators=self.accumulator_columns,
            of_record=not self.group.is_table,
        )
        for accumulator in self.accumulators:
            _check_accumulator(accumulator, scope)
            if isinstance(self.windows, SessionWindows) and accumulator.merge is None:
                raise InvalidPlan(
                    f'cannot merge accumulator "{accumulator.name}" of two sessions in "{self}"',
                    detail=f"Sessions are merged when a record connects them: {self.windows}.",
                    hint="Give the aggregation a merger.",
                )
            if self.group.is_table and accumulator.subtract is None:
                raise InvalidPlan(
                    f'cannot subtract rows from accumulator "{accumulator.name}" of "{self}"',
                    detail=f'"{self.group.parent}" is a table: its rows change. '
                    f"The adder is {accumulator.add}.",
                    hint="Give the aggregation a subtractor.",
                )
        assert self.schema is not None

    @property
    def parents(self) -> tuple[Node, ...]:
        return (self.group,) if self.group.rekeys else (self.group.parent,)

    @property
    def stores(self) -> tuple[str, ...]:
        return (self.store,)

    @property
    def expiry(self) -> str:
        if self.ttl_ms is not None:
            return (
                f"a row for each group until it was not updated for {self.ttl_ms} ms of stream time"
            )
        if self.windows is None:
            return "a row for each group for good: groups have no end"
        if isinstance(self.windows, UnlimitedWindows):
            return "a row for each group for good: its window has no end"
        kept = f", and for {self.retention_ms} ms at least" if self.retention_ms else ""
        return (
            f"a row for each group and window until stream time has closed it: {self.windows}{kept}"
        )

    def _ensure_idle(self) -> None:
        if self.idle_ms is None:
            return
        if not (self.windows and self.emits_on_close):
            raise InvalidPlan(
                f'an idle timeout closes windows, but results of "{self}" are not emitted on close',
                hint='Remove idle=, or write emit="on close".',
            )
        if self.idle_ms < 1:
            raise InvalidPlan(
                "the idle timeout must be positive", hint="Use at least a millisecond."
            )

    @property
    def emits_on_close(self) -> bool:
        return self.emit == "on close"

    @property
    def kept_ms(self) -> int | None:
        """The minimum time for which a window's row is stored, as in `windows`; None: no limit."""
        assert self.windows is not None
        kept_ms = self.windows.kept_ms
        return None if kept_ms is None else max(kept_ms, self.retention_ms or 0)

    @property
    def lost_ms(self) -> int | None:
        """The maximum age of an emitted window, relative to the last window; None: no limit."""
        by_time = isinstance(self.windows, FixedWindows)
        return self.kept_ms if self.loses and self.emits_on_close and by_time else None

    @property
    def longer_ms(self) -> int:
        """The time for which rows of windows are stored longer than necessary."""
        if self.windows is None or self.retention_ms is None:
            return 0
        # Open sessions include the last millisecond: Kafka Streams stores one millisecond less.
        own = isinstance(self.windows, SessionWindows)
        return max(0, self.retention_ms - (self.windows.kept_ms or 0) - own)

    def let_go_until(self, stream_time: int) -> int:
        """Return the window end up to which rows are evicted."""
        assert self.windows is not None
        return self.windows.let_go_until(stream_time) - self.longer_ms

    @property
    def accumulator_columns(self) -> tuple[Column, ...]:
        return tuple(Column(kept.name, kept.type) for kept in self.accumulators)

    @cached_property
    def schema(self) -> Schema:
        scope = Scope(self._key, accumulators=self.accumulator_columns)
        window = self.windows.key if self.windows else None
        return Schema(self._key, typed_columns(self.results, scope), window)

    @property
    def _key(self) -> tuple[Column, ...]:
        return self.group.schema.key + (BOUNDS if self.windows else ())

    @property
    def action(self) -> str:
        by = "" if self.group.rekeys else f"{self.group.action}: "
        within = f" in {self.windows}" if self.windows else ""
        within += ", emitted on close" if self.emits_on_close else ""
        within += f", idle after {self.idle_ms} ms" if self.idle_ms else ""
        kept = render_ttl(self.ttl_ms if self.windows is None else self.retention_ms)
        return f"{by}{render_named(self.results)}{within}, kept in {self.store}{kept}"

    def reads(self, parent: Node, needed: Names) -> Names:
        steps: list[Expression] = []
        for accumulator in self.accumulators:
            steps.append(accumulator.add)
            if accumulator.subtract is not None:
                steps.append(accumulator.subtract)
        read = names_in(steps)
        return read if parent is self.group else self.group.reads(parent, read)


def _of_two(scope: Scope) -> Scope:
    return Scope((), scope.accumulators, scope.accumulators)


def _check_accumulator(accumulator: Accumulator, scope: Scope) -> None:
    steps = [
        ("initializer", accumulator.initial, Scope(())),
        ("adder", accumulator.add, scope),
        ("subtractor", accumulator.subtract, scope),
        ("merger", accumulator.merge, _of_two(scope)),
    ]
    for step, expression, visible in steps:
        found = NULL if expression is None else type_of(expression, visible)
        if found not in {accumulator.type, NULL}:
            raise TypeMismatch(
                f'the {step} of "{accumulator.name}" gives {found}',
                detail=f"The accumulator is {accumulator.type}; the {step} is {expression}.",
                hint="Cast one of them.",
            )
