"""Choose the trigger of each Spark query that an application starts.

    passes (available-now) ─(near the end)─▶ real-time or micro-batch
                     real time does not fit ─▶ micro-batch ─(slots are free)─▶ passes
    bounded query: passes until the last one is done

Thread rule: the thread that waits for Spark.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from duolog.engine.modes import ChosenMode
from duolog.engine.query.launch.triggers import Trigger
from duolog.engine.query.positions import Positions
from duolog.engine.query.reports.progress import lag_of
from duolog.engine.query.supervision.going_live import GoingLive
from duolog.engine.settings import EngineConfig
from duolog.engine.topics.topic_client import TIMEOUT_S


@dataclass(slots=True)
class TriggerChooser:
    """The triggers of one query."""

    chosen: ChosenMode
    has_room: Callable[[], bool] = lambda: True
    """Returns whether the free slots suffice for its tasks in real-time mode."""
    is_done: Callable[[], bool] | None = None
    """Returns after each pass whether it was the last; None: the query runs until it is stopped."""
    _going_live: GoingLive = field(default_factory=lambda: GoingLive(0, None))

    def first(self, config: EngineConfig) -> Trigger:
        """Return the trigger of a start or restart."""
        records_max = config.auto_lag_records_max if self.chosen.waits_for_lag else None
        self._going_live = GoingLive(config.auto_lag_ms, records_max)
        return "available-now" if self.chosen.catches_up else self.chosen.live

    def after_a_pass(self, positions: Positions) -> Trigger | None:
        """Return the trigger after a pass that has ended; None if it was the last."""
        if self.is_done is not None:
            return None if self.is_done() else "available-now"
        if self.chosen.live == "real-time" and not self.has_room():
            return "micro-batch"
        # If no broker reports the lag, Spark catches up once more, or reports what is wrong.
        read, ends = positions.reach(TIMEOUT_S)
        unread = positions.sources.reader.unread
        is_near = self._going_live.is_near(
            lag_of(read, ends), lambda: unread.event_time_left_ms(read, ends)
        )
        return self.chosen.live if is_near else "available-now"

    def may_leave_micro_batches(self, trigger: Trigger) -> bool:
        """Return whether a query uses micro-batches for lack of slots, and has enough slots now."""
        # Slots were missing because workers of the cluster had left.
        lacks_slots = trigger == "micro-batch" and self.chosen.live == "real-time"
        return lacks_slots and self.has_room()
