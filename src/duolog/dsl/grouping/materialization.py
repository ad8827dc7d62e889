"""Settings of an aggregate: its store, its windows, and when it emits results."""

from dataclasses import dataclass, replace
from typing import Final, Self

from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.aggregate import EMITS, Emit
from duolog.plan.windows import Windows


@dataclass(frozen=True, slots=True)
class Materialization:
    """The settings of a grouping, without the computation itself."""

    store: str | None = None
    windows: Windows | None = None
    emit: Emit = "on update"
    idle_ms: int | None = None
    ttl_ms: int | None = None
    retention_ms: int | None = None

    def materialized(
        self, store: str | None, ttl: Duration | None, retention: Duration | None
    ) -> Self:
        """Return a copy with another store name and lifetime of rows."""
        return replace(
            self,
            store=store or self.store,
            ttl_ms=None if ttl is None else milliseconds(ttl, "ttl"),
            retention_ms=None if retention is None else milliseconds(retention, "retention"),
        )

    def windowed(self, windows: object, emit: Emit, idle: Duration | None) -> Self:
        """Return a copy with windows.

        Raises:
            StatementError: there are windows already, or `emit` is unknown.
        """
        if self.windows is not None:
            raise InvalidPlan(
                f"the groups already have windows: {self.windows}",
                hint="Write windowed_by(...) once. For other windows, call group_by(...) again.",
            )
        if not isinstance(windows, Windows):
            said = f'"{windows}"' if isinstance(windows, str) else '"1 hour"'
            raise InvalidPlan(
                f"{windows!r} is not a kind of windows",
                hint=f"Write windowed_by(tumbling({said})); others are hopping, sliding, session "
                "and calendar.",
            )
        if emit not in EMITS:
            raise InvalidPlan(
                f"results cannot be emitted {emit!r}",
                hint='Write emit="on update" or emit="on close".',
            )
        idle_ms = None if idle is None else milliseconds(idle, "idle")
        return replace(self, windows=windows, emit=emit, idle_ms=idle_ms)


UNSPECIFIED: Final = Materialization()
"""The defaults: the store is named after its position, and rows do not expire."""
