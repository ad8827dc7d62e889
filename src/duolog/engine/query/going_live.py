"""Decide after each pass of micro-batches whether a query may go live in real time.

    more than auto.lag.records.max are left (mode auto)         another pass
    no more than auto.lag.ms of event time is left              live
    less than half of what was left after the pass before       another pass
    else                                                        live: passes do not come nearer

A pass merges partitions by timestamp. In real time each is read at its own pace: what is left is then read unevenly, and a
window closes before the records of a slower partition have come. The records of one pass come while it runs, so that what is
left is as much event time as the last pass took, and at a low rate few records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

# What is left shrinks by less from one pass to the next: it will not shrink to nothing.
_SHRINKS_BY: Final = 2


@dataclass(slots=True)
class GoingLive:
    """Judges the passes of one start. `records_max` is None where the number of records does not count."""

    lag_ms: int
    records_max: int | None
    _left_ms: int | None = None
    """Event time that was left after the pass before."""

    def is_near(self, lag: Mapping[str, int], left_ms: Callable[[], int | None]) -> bool:
        """Tell whether to go live; `lag` is empty if no broker answers, and `left_ms` then is not called."""
        records = sum(lag.values())
        if not lag or (self.records_max is not None and records > self.records_max):
            return False
        left = left_ms() if records else 0
        before, self._left_ms = self._left_ms, left
        if left is None or left <= self.lag_ms:
            return True
        return before is not None and left * _SHRINKS_BY > before
