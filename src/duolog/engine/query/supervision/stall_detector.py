"""Detect a real-time query that runs but commits nothing while records wait.

    positions advance                      healthy
    they do not, and no record waits       idle
    they do not, and records wait          a warning after 30 s or three epochs, later repeated

Spark reports an epoch without records like any other: the query is running, no error is raised, and
only the lag would show it. Thread rule: the thread that waits for Spark.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from duolog.core.counts import counted
from duolog.engine.settings import EngineConfig
from duolog.engine.topics.offsets import EndOffsets

logger: Final = logging.getLogger(__name__)

LOOKS_EVERY_S: Final = 5.0
_PATIENCE_S: Final = 30.0
_PATIENCE_EPOCHS: Final = 3


@dataclass(slots=True)
class StallDetector:
    """Watches the committed positions of one real-time Spark query."""

    application_id: str
    patience_s: float
    monotonic: Callable[[], float] = time.monotonic
    _committed: EndOffsets | None = None
    _looked_at: float = 0.0
    _waits_since: float | None = None
    _told_s: float = 0.0
    """The waiting time at the last warning; 0 before the first."""

    @classmethod
    def of(cls, application_id: str, config: EngineConfig) -> "StallDetector":
        epochs_s = _PATIENCE_EPOCHS * config.epoch_ms / 1000
        return cls(application_id, max(_PATIENCE_S, epochs_s))

    def look(self, committed: EndOffsets, waiting: Callable[[], int | None]) -> None:
        """Compare with the last call.

        `waiting` counts the records after the positions, and is called only if these have not
        moved. It returns None if no broker answers: then nothing is concluded.
        """
        now = self.monotonic()
        if self._committed is not None and now - self._looked_at < LOOKS_EVERY_S:
            return
        has_moved, self._committed, self._looked_at = committed != self._committed, committed, now
        records = 0 if has_moved else waiting()
        if records is None:
            return
        if not records:
            if self._told_s:
                logger.info('application "%s" is committing again', self.application_id)
            self._waits_since, self._told_s = None, 0.0
            return
        if self._waits_since is None:
            self._waits_since = now
        waits_s = now - self._waits_since
        if waits_s >= max(self.patience_s, 2 * self._told_s):
            self._told_s = waits_s
            logger.warning(
                'application "%s" has committed nothing for %.0f s, and %s wait in its '
                "topics; if the machine is busy, use a longer "
                "epoch.ms or --mode micro-batch; otherwise stop it and start it again",
                self.application_id,
                waits_s,
                counted(records, "record"),
            )
