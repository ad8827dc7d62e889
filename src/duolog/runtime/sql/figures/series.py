"""The last quarter of an hour of each query's figures, for charts: a point every 10 seconds.

    slot        0        1        2           ten seconds of the clock each
    measured  . .      . .      .             the last measurement of a slot is its point

A point is noted when its figures are: by the collector for the queries of this process, and when
published figures are read for those of other servers. Notes may come in any order and repeatedly.
At most `QUERIES_MAX` queries have points: those noted last.

Threads: any.
"""

import threading
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from duolog.runtime.sql.figures.query_figures import QueryFigures

STEP_MS: Final = 10_000
SPAN_MS: Final = 900_000
QUERIES_MAX: Final = 1_000
_SLOTS: Final = SPAN_MS // STEP_MS


class Point(NamedTuple):
    """Figures of a query at one time; None if they were unknown."""

    at_ms: int
    records_in_per_s: float | None
    records_out_per_s: float | None
    lag_records: int | None
    lag_ms: int | None
    errors: int
    """Errors of all kinds so far; it restarts with the process that runs the query."""
    state_bytes: int | None


def point_of(figures: QueryFigures) -> Point:
    """Return the point of one measurement."""
    return Point(
        figures.at_ms,
        figures.records_in.per_second,
        figures.records_out.per_second,
        figures.lag.records,
        figures.lag.ms,
        sum(figures.errors.values()),
        figures.state_bytes,
    )


class Series:
    """The recent points of queries, by id."""

    def __init__(self) -> None:
        self._points: dict[str, dict[int, Point]] = {}
        """By query and slot."""
        self._lock = threading.Lock()

    def note(self, figures: QueryFigures) -> None:
        """Add the point of a measurement, unless its slot has a later one."""
        point = point_of(figures)
        slot = point.at_ms // STEP_MS
        with self._lock:
            # Inserted again, so that the first query is the one that was not noted for longest.
            points = self._points[figures.id] = self._points.pop(figures.id, {})
            known = points.get(slot)
            if known is None or known.at_ms <= point.at_ms:
                points[slot] = point
            if len(points) > _SLOTS:
                del points[min(points)]
            if len(self._points) > QUERIES_MAX:
                del self._points[next(iter(self._points))]

    def of(self, query_ids: Iterable[str], now_ms: int) -> dict[str, Sequence[Point]]:
        """Return the points of queries in the order of time, without those that are too old.

        A query without points has none.
        """
        with self._lock:
            found = {name: list(self._points.get(name, {}).values()) for name in query_ids}
        return {
            name: sorted(one for one in points if 0 <= now_ms - one.at_ms < SPAN_MS)
            for name, points in found.items()
        }
