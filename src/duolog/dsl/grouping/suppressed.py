"""Suppressed changes of a table: buffered until a time limit, or until a window closes."""

from typing import Final, Self, get_args
from typing import Literal as OneOf

from duolog.dsl.steps.records import Records
from duolog.plan.durations import Duration, milliseconds
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import Suppress

Until = OneOf["window close"]
WhenFull = OneOf["emit", "shut down"]
_WHEN_FULL: Final = get_args(WhenFull)


class Suppressed(Records):
    """The suppression of changes: a base class of `Table`."""

    def suppress(
        self,
        time_limit: Duration | None = None,
        *,
        until: Until | None = None,
        max_records: int | None = None,
        max_bytes: int | None = None,
        when_full: WhenFull | None = None,
        store: str | None = None,
    ) -> Self:
        """Buffer changes, and emit only the last one of each key.

        With `until`, a row of a windowed table is buffered until its window closes; if it has been
        deleted by then, nothing is emitted. With a time limit, the first change of a key starts the
        timer, later changes replace it, and the last one is emitted. Time is measured by the
        records' timestamps: a row is emitted by the first change of any key in its task after that
        time. The store holds the old and the new row of each buffered change.

        Args:
            time_limit: how long changes of a key are buffered.
            until: "window close", instead of a time limit. The windows need a grace period.
            max_records: the maximum number of buffered records in one task.
            max_bytes: their maximum size in bytes, including keys and headers.
            when_full: beyond these limits, "emit" emits the oldest changes early, "shut down" ends
                the query. The default is "emit" for a time limit, and "shut down" until a window
                closes.
            store: the name of the store; by default it is derived from its position.

        Raises:
            StatementError: there are no windows, or they have no grace period.

        Example:
            >>> from duolog import Topology, tumbling
            >>> visits = Topology("v").stream("visits", key="user STRING", value="place STRING")
            >>> hours = tumbling("1 hour", grace="0 s")
            >>> hourly = visits.group_by("place").windowed_by(hours).count()
            >>> print(hourly.suppress(until="window close").node.action)
            held back until its window closes, 0 ms after its end, kept in suppress-4-store
        """
        _ensure_one_limit(time_limit, until)
        if when_full not in {None, *_WHEN_FULL}:
            raise InvalidPlan(
                f"when_full={when_full!r} is unknown",
                hint='Write when_full="emit" or when_full="shut down".',
            )
        limit_ms = None if time_limit is None else milliseconds(time_limit, "time limit")
        # A result that is emitted early would not be the window's last one.
        shut_down = until is not None if when_full is None else when_full == "shut down"
        node = self.builder.add(
            "suppress",
            lambda name: Suppress(
                name,
                self.node,
                store or f"{name}-store",
                limit_ms,
                max_records,
                max_bytes,
                shut_down,
            ),
        )
        return type(self)(self.builder, node)


def _ensure_one_limit(time_limit: Duration | None, until: Until | None) -> None:
    if (time_limit is None) == (until is None):
        raise InvalidPlan(
            "suppress needs either a time limit or until=",
            hint='Write suppress(until="window close"), or suppress("10 minutes").',
        )
    if until not in {None, "window close"}:
        raise InvalidPlan(
            f"changes cannot be buffered until {until!r}",
            hint='Write suppress(until="window close").',
        )
