"""The timers of groups: a timer for each group with a deadline, and one for expired offsets."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from duolog.coordinator.messages import Moment
from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer
    from duolog.broker.groups.needs import Broker
    from duolog.coordinator.coordinator import GroupCoordinator
    from duolog.coordinator.messages import Outcome
    from duolog.core.clock import Clock

_AFTER_FAILURE_S: Final = 1.0
"""Delay before failed work that is still due is retried."""


def moment(clock: "Clock") -> Moment:
    """Return the present time, by both clocks."""
    return Moment(clock.now_ms(), int(clock.monotonic() * SECOND_MS))


class GroupTimers:
    """The deadlines of the groups of one broker."""

    def __init__(
        self,
        broker: "Broker",
        coordinator: "GroupCoordinator",
        carry_out: "Callable[[Outcome], None]",
    ) -> None:
        self._broker = broker
        self._coordinator = coordinator
        self._carry_out = carry_out
        self._timers: dict[str, Timer] = {}
        self._expiry_timer: Timer | None = None
        self.stopped = False

    def stop(self) -> None:
        """Cancel everything, and plan nothing any more."""
        self.stopped = True
        for timer in (*self._timers.values(), self._expiry_timer):
            if timer is not None:
                timer.cancel()
        self._timers.clear()

    def plan(self, group_id: str, *, pause_s: float = 0.0) -> None:
        """Make sure that a timer fires for the group when something is due, or earlier.

        It does not fire before a pause, in seconds.
        """
        deadline_ms = self._coordinator.next_deadline_ms(group_id)
        timer = self._timers.get(group_id)
        offline = self._broker.rounds.failure is not None
        if deadline_ms is None or self.stopped or offline:
            if timer is not None:
                self._timers.pop(group_id).cancel()
            return
        at = (deadline_ms + 1) / SECOND_MS
        if pause_s:
            at = max(at, self._broker.clock.monotonic() + pause_s)
        if timer is not None:
            if timer.at <= at:
                return
            timer.cancel()
        self._timers[group_id] = self._broker.timers.call_at(at, lambda: self._expire(group_id))

    def _expire(self, group_id: str) -> None:
        self._timers.pop(group_id, None)
        pause_s = _AFTER_FAILURE_S
        try:
            self._carry_out(self._coordinator.expire(group_id, moment(self._broker.clock)))
            pause_s = 0.0
        finally:  # Whatever happened to one look, there is a next one.
            self.plan(group_id, pause_s=pause_s)

    def plan_offset_expiry(self) -> None:
        """Expire offsets when the configured interval is over, and again after each interval."""
        interval_ms = self._broker.settings.integer("offsets.retention.check.interval.ms")
        at = self._broker.clock.monotonic() + interval_ms / SECOND_MS
        self._expiry_timer = self._broker.timers.call_at(
            at, lambda: self.in_slices(self._expire_offsets())
        )

    def _expire_offsets(self) -> Iterator[None]:
        try:
            for group_id in self._coordinator.store.ids():
                now = moment(self._broker.clock)
                self._carry_out(self._coordinator.offsets.expire(group_id, now))
                yield
        finally:  # Whatever happens to one look, there is a next one.
            if not self.stopped:
                self.plan_offset_expiry()

    def in_slices(self, steps: Iterator[None], *, first_slice_s: float | None = None) -> None:
        """Run something long in turns, until it or the broker ends."""
        self._broker.slices.run(steps, wanted=lambda: not self.stopped, first_slice_s=first_slice_s)
