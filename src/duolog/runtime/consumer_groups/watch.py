"""Lags of the groups that clients look at, sampled for the last minutes.

    a client looks      measured now, unless the last sample is at most two seconds old
    within a minute     a thread samples every five seconds
    within half an hour every thirty seconds, so that a trend is there when the client returns
    later               forgotten

Memory is bounded: the samples of at most 500 groups, the one looked at last first; samples of
single partitions only for the groups whose partitions a client looks at, at most 2,000 of them.

Threads: any may look; one thread samples, and ends when no group is watched.
"""

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Final, NamedTuple

from duolog.core.clock import Clock
from duolog.core.errors import DuologError
from duolog.runtime.consumer_groups.groups import Listed
from duolog.runtime.consumer_groups.lags import GroupLag
from duolog.runtime.consumer_groups.metadata import Place
from duolog.runtime.sql.figures.trends import Sample, Trend, trend_of_ms, trend_of_records

logger = logging.getLogger(__name__)

_FRESH_MS: Final = 2_000
_OFTEN_S: Final = 5.0
_SELDOM_S: Final = 30.0
_LOOKS_MS: Final = 60_000
_FORGET_MS: Final = 30 * 60_000
_APART_MS: Final = 4_000
"""Samples that are closer together are not kept: many clients may look."""
_SAMPLES: Final = 120
_GROUPS_MAX: Final = 500
_PARTITION_SAMPLES: Final = 60
_PARTITIONS_MAX: Final = 2_000

Measure = Callable[[Collection[Listed], int], Mapping[str, GroupLag]]
"""Measures the lag of groups; the number is the time in ms."""


class History(NamedTuple):
    """Samples of a group, the oldest first, with the direction of its lag."""

    records: list[Sample]
    ms: list[Sample]
    records_trend: Trend | None
    ms_trend: Trend | None


@dataclass(slots=True)
class _Watched:
    """One group."""

    group: Listed
    looked_ms: int
    lag: GroupLag | None = None
    records: deque[Sample] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    ms: deque[Sample] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    partitions: dict[Place, deque[Sample]] | None = None
    """None if no client looks at single partitions."""

    def note(self, lag: GroupLag) -> None:
        """Keep a measurement; the last sample is replaced if it is only seconds old."""
        self.lag = lag
        _note(self.records, lag.at_ms, lag.records)
        _note(self.ms, lag.at_ms, lag.ms if lag.complete else None)
        if self.partitions is not None:
            gone = self.partitions.keys() - lag.partitions.keys()
            for place in gone:
                del self.partitions[place]
            for place, one in lag.partitions.items():
                if place in self.partitions or len(self.partitions) < _PARTITIONS_MAX:
                    samples = self.partitions.setdefault(place, deque(maxlen=_PARTITION_SAMPLES))
                    _note(samples, lag.at_ms, one.records)


def _note(samples: deque[Sample], at_ms: int, value: int | None) -> None:
    if value is None:
        return
    if len(samples) > 1 and samples[-1][0] - samples[-2][0] < _APART_MS:
        samples.pop()
    samples.append((at_ms, value))


class GroupWatch:
    """The lags of groups, now and lately.

    Args:
        measure: measures groups; it is called by one thread at a time.
        clock: the time of samples.
    """

    def __init__(self, measure: Measure, clock: Clock) -> None:
        self._measure = measure
        self._clock = clock
        self._watched: OrderedDict[str, _Watched] = OrderedDict()
        self._changed = Condition()
        self._thread: Thread | None = None
        self._closed = False

    def look(
        self, groups: Collection[Listed], *, partitions: bool = False
    ) -> Mapping[str, GroupLag]:
        """Return the lag of groups as of now; those that have gone meanwhile are missing.

        Args:
            groups: as they were just listed.
            partitions: whether samples of single partitions are kept from now on.

        Raises:
            KafkaError, BrokerUnavailable: as `measure` does.
        """
        now_ms = self._clock.now_ms()
        with self._changed:
            old = [group for group in groups if self._old(group, now_ms)]
        measured = self._measure(old, now_ms) if old else {}
        with self._changed:
            for group in groups:
                self._look_at(group, now_ms, partitions=partitions)
            self._keep(measured, old)
            found = {
                name: watched.lag
                for name in (group.name for group in groups)
                if (watched := self._watched.get(name)) and watched.lag is not None
            }
            # A large list may be longer than what is kept.
            found |= measured
            if self._watched and self._thread is None and not self._closed:
                self._thread = Thread(target=self._sample, name="group-lags", daemon=True)
                self._thread.start()
        return found

    def history(self, group: str) -> History:
        """Return the samples of a group; empty without any."""
        with self._changed:
            watched = self._watched.get(group)
            records = [] if watched is None else list(watched.records)
            ms = [] if watched is None else list(watched.ms)
        return History(records, ms, trend_of_records(records), trend_of_ms(ms))

    def partition_history(self, group: str) -> dict[Place, list[Sample]]:
        """Return the samples of a group's partitions, in records."""
        with self._changed:
            watched = self._watched.get(group)
            if watched is None or watched.partitions is None:
                return {}
            return {place: list(samples) for place, samples in watched.partitions.items()}

    def forget(self, group: str) -> None:
        """Forget a group: its offsets were changed by a client."""
        with self._changed:
            self._watched.pop(group, None)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._watched.clear()
            self._changed.notify_all()

    def _old(self, group: Listed, now_ms: int) -> bool:
        watched = self._watched.get(group.name)
        return watched is None or watched.lag is None or now_ms - watched.lag.at_ms > _FRESH_MS

    def _look_at(self, group: Listed, now_ms: int, *, partitions: bool) -> None:
        watched = self._watched.setdefault(group.name, _Watched(group, now_ms))
        watched.group, watched.looked_ms = group, now_ms
        self._watched.move_to_end(group.name)
        if partitions and watched.partitions is None:
            for other in self._watched.values():
                kept = sum(len(one.partitions or ()) for one in self._watched.values())
                if kept < _PARTITIONS_MAX:
                    break
                other.partitions = None
            watched.partitions = {}
            if watched.lag is not None:
                watched.note(watched.lag)
        while len(self._watched) > _GROUPS_MAX:
            self._watched.popitem(last=False)

    def _keep(self, measured: Mapping[str, GroupLag], asked: Collection[Listed]) -> None:
        for group in asked:
            lag = measured.get(group.name)
            if lag is None:
                self._watched.pop(group.name, None)  # It has gone.
            elif (watched := self._watched.get(group.name)) is not None:
                watched.note(lag)

    def _sample(self) -> None:
        """Sample until no group is watched; the loop of the thread."""
        while True:
            with self._changed:
                self._changed.wait(self._pause_s())
                if self._closed or not self._due():
                    self._thread = None
                    return
                groups = [watched.group for watched in self._watched.values()]
            self.sample(groups)

    def sample(self, groups: Collection[Listed]) -> None:
        """Measure groups once; a failure is left to the next client that looks."""
        try:
            measured = self._measure(groups, self._clock.now_ms())
        except DuologError as error:
            logger.debug("lags were not sampled", extra={"error": error.one_line()})
            return
        with self._changed:
            self._keep(measured, groups)

    def _pause_s(self) -> float:
        now_ms = self._clock.now_ms()
        looked = any(now_ms - one.looked_ms < _LOOKS_MS for one in self._watched.values())
        return _OFTEN_S if looked else _SELDOM_S

    def _due(self) -> bool:
        """Forget what no client looks at; return whether a group is left."""
        now_ms = self._clock.now_ms()
        for name, watched in list(self._watched.items()):
            if now_ms - watched.looked_ms > _FORGET_MS:
                del self._watched[name]
        return bool(self._watched)
