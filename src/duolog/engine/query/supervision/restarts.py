"""Decide whether a failed query is restarted, and after which pause.

    failed ─(what is missing may return)─▶ pause of 1, 2, 4 … 30 s ─▶ started ─(ran 60 s)─▶ failure
       forgotten └─(anything else, or failing for longer than task.timeout.ms)─▶ failed for good

Brokers and JVMs may return; a record that cannot be processed fails again whenever it is read. A
source topic may be unknown to a broker that has just started: the query waits `MISSING_S` for it.
Thread rule: one thread. Source: KIP-572 for `task.timeout.ms`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from duolog.engine.errors import QueryFailed

PAUSE_FIRST_S: Final = 1.0
PAUSE_MAX_S: Final = 30.0
MISSING_S: Final = 30.0
# A query that ran for this long has recovered.
_RECOVERED_AFTER_S: Final = 60.0


@dataclass(slots=True)
class Restarts:
    """Tracks the failures of one query."""

    timeout_s: float
    clock: Callable[[], float] = time.monotonic
    _troubled_at: float | None = None
    _started_at: float | None = None
    _missing_at: float | None = None
    _pause_s: float = 0.0

    def started(self) -> None:
        """Record that the query runs."""
        self._started_at, self._missing_at = self.clock(), None

    def pause_s(self, error: QueryFailed) -> float | None:
        """Return the pause before the next start; None if there is none."""
        now = self.clock()
        recovered = self._started_at is not None and now - self._started_at > _RECOVERED_AFTER_S
        if self._troubled_at is None or recovered:
            self._troubled_at, self._pause_s = now, PAUSE_FIRST_S
        self._started_at = None
        left_s = self._troubled_at + self.timeout_s - now
        if error.kind.source_missing:
            self._missing_at = now if self._missing_at is None else self._missing_at
            left_s = min(left_s, self._missing_at + MISSING_S - now)
        elif error.kind.may_pass:
            self._missing_at = None
        if not error.kind.may_pass or left_s <= 0:
            return None
        pause_s = min(self._pause_s, left_s)
        self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
        return pause_s
