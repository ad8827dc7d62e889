"""Scheduled calls of a processor (punctuation), by stream time and by the wall clock.

    schedule(interval)     by stream time: first after the next record, then when time passes a
                           multiple of the interval
                           by wall clock: first after one interval
    several intervals pass at once: one call, and the next one at the next multiple

Source: Kafka Streams `PunctuationQueue`, `PunctuationSchedule`, `ProcessorContextImpl.schedule`.
"""

import enum
import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

NEVER: Final = 2**63 - 1


class PunctuationType(enum.StrEnum):
    """The clock of a schedule."""

    STREAM_TIME = "stream time"
    """The greatest timestamp of the task's records: it does not advance without records."""
    WALL_CLOCK_TIME = "wall clock"


@dataclass(slots=True, order=True)
class Schedule:
    """A callback, and its next time in milliseconds."""

    at: int
    number: int
    kind: PunctuationType = field(compare=False)
    interval: int = field(compare=False)
    callback: Callable[[int], object] = field(compare=False)
    kept: bool = field(compare=False)
    """True if `init` scheduled it, so that it continues when the processor is recreated."""
    cancelled: bool = field(default=False, compare=False)

    def passed(self, now: int) -> None:
        """Set the next time after a call; intervals that have passed are skipped."""
        following = self.at + self.interval
        if now >= following:
            following = self.at + ((now - self.at) // self.interval + 1) * self.interval
        self.at = following


StoredSchedules = list[list[str | int] | None]
"""Stored schedules: kind, interval and time of each; None if cancelled."""


class Schedules:
    """The schedules of a processor in one task. Threads: one at a time."""

    def __init__(self) -> None:
        self._all: list[Schedule] = []
        self._due: dict[PunctuationType, list[Schedule]] = {kind: [] for kind in PunctuationType}

    def add(
        self,
        kind: PunctuationType,
        interval: int,
        now: int,
        callback: Callable[[int], object],
        *,
        kept: bool,
    ) -> Schedule:
        """Schedule a callback; by stream time it is due after the next record."""
        at = 0 if kind is PunctuationType.STREAM_TIME else now + interval
        number = self._all[-1].number + 1 if self._all else 0
        schedule = Schedule(at, number, kind, interval, callback, kept)
        self._all.append(schedule)
        heapq.heappush(self._due[kind], schedule)
        return schedule

    def next(self, kind: PunctuationType) -> int:
        """Return the time of the next call; `NEVER` if there is none."""
        due = self._due[kind]
        while due and due[0].cancelled:
            heapq.heappop(due)
        return due[0].at if due else NEVER

    def pass_due(self, kind: PunctuationType, now: int) -> Iterator[Schedule]:
        """Yield the due schedules, earliest first. Callbacks may add or cancel schedules."""
        while self.next(kind) <= now:
            schedule = heapq.heappop(self._due[kind])
            try:
                yield schedule
            finally:
                schedule.passed(now)
                if not schedule.cancelled:
                    heapq.heappush(self._due[kind], schedule)

    def keep(self) -> StoredSchedules:
        """Return the current state of the schedules of `init`."""
        self._all = [one for one in self._all if one.kept or not one.cancelled]
        return [
            None if one.cancelled else [one.kind.value, one.interval, one.at]
            for one in self._all
            if one.kept
        ]

    def restore(self, kept: StoredSchedules) -> None:
        """Restore the stored state of schedules by position, if kind and interval are equal."""
        for schedule, known in zip((one for one in self._all if one.kept), kept, strict=False):
            if known is None:
                schedule.cancelled = True
            elif known[:2] == [schedule.kind.value, schedule.interval]:
                schedule.at = int(known[2])
        for due in self._due.values():
            heapq.heapify(due)
