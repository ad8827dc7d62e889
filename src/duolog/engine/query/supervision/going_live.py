"""Decide after each pass of micro-batches whether a query may switch to real time.

    more than auto.lag.records.max records left (mode auto)     another pass
    at most auto.lag.ms of event time left                      live
    less than half of what the previous pass left               another pass
    else                                                        live: more passes get no closer

A pass merges partitions by timestamp. In real time each partition is read at its own pace: the rest
is then read unevenly, and a window closes before the records of a slower partition arrive. New
records arrive during a pass, so what is left is as much event time as the last pass took, and at a
low rate few records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

# If the rest shrinks by less from one pass to the next, it will not shrink to nothing.
_SHRINKS_BY: Final = 2


@dataclass(slots=True)
class GoingLive:
    """Evaluates the passes of one start. `records_max`: None if their number does not matter."""

    lag_ms: int
    records_max: int | None
    _left_ms: int | None = None
    """The event time that the previous pass left."""

    def is_near(self, lag: Mapping[str, int], left_ms: Callable[[], int | None]) -> bool:
        """Return whether to go live.

        `lag` is empty if no broker answers; `left_ms` is then not called.
        """
        records = sum(lag.values())
        if not lag or (self.records_max is not None and records > self.records_max):
            return False
        left = left_ms() if records else 0
        before, self._left_ms = self._left_ms, left
        if left is None or left <= self.lag_ms:
            return True
        return before is not None and left * _SHRINKS_BY > before
