"""The observations of one query so far: totals over all its JVMs, rates, trends.

A counter that has decreased belongs to a new JVM, and so does each counter of a new run: its count
is added to the total as it is. Rates are of about the last ten seconds.

Records in are counted twice, and the smaller count of each partition is right: a JVM counts records
again that it reads again, and positions also pass the control records of transactions.

Threads: one at a time.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from duolog.runtime.sql.figures.observation import (
    BYTES,
    ERROR,
    IN,
    LATE,
    OUT,
    Observation,
    Partition,
)
from duolog.runtime.sql.figures.query_figures import ERROR_KINDS, Flow, Lag, PartitionLag
from duolog.runtime.sql.figures.trends import WINDOW_MS, trend_of_ms, trend_of_records

RATE_MS: Final = 10_000
"""Time over which rates are measured, if there are samples of that age."""
_RATE_MS_MIN: Final = 1_000
_SAMPLES_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class _Sample:
    at_ms: int
    totals: Mapping[str, int]
    lag_records: int | None
    lag_ms: int | None


@dataclass(slots=True)
class History:
    """The history of one query in this process."""

    totals: dict[str, int] = field(default_factory=dict)
    """By counter, see `observation`."""
    last_result_at_ms: int | None = None
    _before: dict[str | Partition, int] = field(default_factory=dict)
    _run: object | None = None
    _positions: dict[Partition, int] = field(default_factory=dict)
    _passed: dict[Partition, int] = field(default_factory=dict)
    """Offsets that the positions have passed."""
    _consumed: dict[Partition, int] = field(default_factory=dict)
    """Records that all JVMs have counted."""
    _samples: deque[_Sample] = field(default_factory=lambda: deque(maxlen=_SAMPLES_MAX))

    def __len__(self) -> int:
        """Return the number of observations that are kept."""
        return len(self._samples)

    def note(
        self,
        at_ms: int,
        run: object | None,
        observed: Observation,
        *,
        lag_records: int | None,
        lag_ms: int | None,
    ) -> None:
        """Add an observation.

        Args:
            at_ms: the time of measurement; not before that of the last one.
            run: the running query: counters start at 0 with each other one. None if none runs.
            observed: the observation; without counters if the query does not run.
            lag_records: unread records; None if unknown.
            lag_ms: age of the first unread record; None if unknown.
        """
        if run is not None and run is not self._run:
            self._before, self._run = {}, run
        written = self.totals.get(OUT, 0)
        for name, count in observed.counters.items():
            self.totals[name] = self.totals.get(name, 0) + self._new(name, count)
        for at, count in observed.consumed.items():
            self._consumed[at] = self._consumed.get(at, 0) + self._new(at, count)
        for at, position in (observed.positions or {}).items():
            # Without an earlier position, only the count of the JVM says how much was read.
            before = self._positions.get(at, 0)
            self._passed[at] = self._passed.get(at, 0) + max(0, position - before)
            self._positions[at] = max(position, before)
        if self._consumed:
            self._count_records_in()
        if self.totals.get(OUT, 0) > written:
            self.last_result_at_ms = at_ms
        self._samples.append(_Sample(at_ms, dict(self.totals), lag_records, lag_ms))
        # One older sample is kept for the rates of a slow collector.
        while len(self._samples) > 2 and at_ms - self._samples[1].at_ms > WINDOW_MS:
            self._samples.popleft()

    def start_at(self, positions: Mapping[Partition, int]) -> None:
        """Set the positions from which records are counted, before the first observation."""
        self._positions.update(positions)

    def _new(self, name: str | Partition, count: int) -> int:
        """Return how much of a counter is new."""
        before = self._before.get(name, 0)
        self._before[name] = count
        return count - before if count >= before else count

    def _count_records_in(self) -> None:
        read: dict[str, int] = {}
        for at, consumed in self._consumed.items():
            read[at[0]] = read.get(at[0], 0) + min(consumed, self._passed.get(at, consumed))
        self.totals[IN] = sum(read.values())
        self.totals |= {f"{IN}:{topic}": count for topic, count in read.items()}

    def flow(self, name: str) -> Flow:
        """Return total and rate of a counter."""
        return Flow(self.totals.get(name, 0), self._rate(name))

    def flows(self, name: str) -> dict[str, Flow]:
        """Return total and rate by topic, of what `name` counts."""
        begin = f"{name}:"
        return {
            one.removeprefix(begin): self.flow(one) for one in self.totals if one.startswith(begin)
        }

    def lag(self, partitions: tuple[PartitionLag, ...]) -> Lag:
        """Return the lag of the last observation, with its trends."""
        last = self._samples[-1]
        records = [
            (one.at_ms, one.lag_records) for one in self._samples if one.lag_records is not None
        ]
        ms = [(one.at_ms, one.lag_ms) for one in self._samples if one.lag_ms is not None]
        return Lag(
            last.lag_records,
            None if last.lag_records is None else trend_of_records(records),
            last.lag_ms,
            None if last.lag_ms is None else trend_of_ms(ms),
            partitions,
        )

    @property
    def errors(self) -> dict[str, int]:
        """Errors by kind; all kinds, also those that have not happened."""
        counted = {
            name.removeprefix(ERROR): count
            for name, count in self.totals.items()
            if name.startswith(ERROR)
        }
        return {**dict.fromkeys(ERROR_KINDS, 0), **counted}

    @property
    def late(self) -> int:
        return self.totals.get(LATE, 0)

    @property
    def bytes_out(self) -> int:
        return self.totals.get(BYTES, 0)

    @property
    def records_in(self) -> Flow:
        return self.flow(IN)

    @property
    def records_out(self) -> Flow:
        return self.flow(OUT)

    def _rate(self, name: str) -> float | None:
        last = self._samples[-1]
        old = [one for one in self._samples if last.at_ms - one.at_ms >= RATE_MS]
        then = old[-1] if old else self._samples[0]
        passed_ms = last.at_ms - then.at_ms
        if passed_ms < _RATE_MS_MIN:
            return None
        change = last.totals.get(name, 0) - then.totals.get(name, 0)
        return round(change * 1000 / passed_ms, 3)
