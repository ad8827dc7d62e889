"""Measure the queries of this process, at intervals or when asked.

    supervisor ─▶ running queries ─▶ observations ─┐
    first unread records ─────────────────────────┼─▶ histories ─▶ figures ─▶ published
    positions of queries that do not run, ends ────┘

A query that is paused or has failed keeps its last position: its lag grows. After a restart of the
server, the position is that of its checkpoint.

Threads: any may ask for figures; one measurement at a time.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.clock import Clock, SystemClock
from duolog.core.errors import DuologError
from duolog.runtime.sql.figures.history import History
from duolog.runtime.sql.figures.observation import Observation, Partition, observe
from duolog.runtime.sql.figures.query_figures import (
    PARTITIONS_MAX,
    PartitionLag,
    QueryFigures,
)
from duolog.runtime.sql.figures.unread import NO_RECORD, Unread

if TYPE_CHECKING:
    from duolog.runtime.sql.command_log.commands import Offsets
    from duolog.runtime.sql.command_log.desired_query import DesiredQuery
    from duolog.runtime.sql.persistent.query_supervisor import LiveQuery, ManagedQuery

logger: Final = logging.getLogger(__name__)

INTERVAL_S: Final = 5.0
END_S: Final = 3.0
"""After that, `close` leaves a measurement to the end of the process."""
_FRESH_MS: Final = 1_000
"""Figures of this age are not measured again."""
_ROUND_S: Final = 10.0
"""If the broker is slow, later queries of a measurement have no lag in milliseconds, and those that
do not run have no lag."""


class Queries(Protocol):
    """The supervisor of the queries of this process."""

    def live_all(self) -> "list[LiveQuery]":
        """Return the states of all queries."""

    def running(self) -> "Mapping[str, ManagedQuery]":
        """Return the queries that run, by id."""


class Published(Protocol):
    """The place from which other servers read the figures."""

    def publish(self, figures: Iterable[QueryFigures], now_ms: int) -> None:
        """Publish the figures of all queries of this process; raises KafkaError."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """The parts that a collector asks.

    Attributes:
        queries: returns the supervisor of this process; None if no queries run here.
        wanted: returns the queries of the service by id.
        kept: returns the committed positions in the checkpoint of a query.
        counts: returns the number of partitions of each topic; raises DuologError.
        unread: the unread records.
    """

    queries: Callable[[], Queries | None]
    wanted: Callable[[], "Mapping[str, DesiredQuery]"]
    kept: Callable[["DesiredQuery"], "Offsets"]
    counts: Callable[[], Mapping[str, int]]
    unread: Unread


class FiguresCollector:
    """Measures queries. Create one per service.

    `note` is called with the figures of each measurement.
    """

    def __init__(
        self,
        wiring: Wiring,
        clock: Clock | None = None,
        note: Callable[[QueryFigures], None] = lambda _: None,
    ) -> None:
        self._wiring = wiring
        self._clock = clock or SystemClock()
        self._note = note
        self._histories: dict[str, History] = {}
        self._positions: dict[str, dict[Partition, int]] = {}
        """The last known positions of each query."""
        self._figures: dict[str, QueryFigures] = {}
        self._measured_at_ms = 0
        self._until_s = 0.0
        self._measuring = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._published: Published | None = None
        self.server = ""
        """The address of this server, for the figures."""

    def start(self, server: str, published: Published, interval_s: float = INTERVAL_S) -> None:
        """Measure at intervals, and publish what was measured.

        Args:
            server: the address of this server.
            published: where the figures are published.
            interval_s: the pause between measurements.
        """
        assert self._thread is None, "it measures already"
        self.server = server
        self._published = published
        self._thread = threading.Thread(
            target=self._run, args=(interval_s,), name="duolog-sql-figures", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End the measurements. Waits for seconds at most: a JVM may not answer any more."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(END_S)
        # A request may measure, too.
        if self._measuring.acquire(timeout=END_S):
            try:
                self._wiring.unread.close()
            finally:
                self._measuring.release()

    def figures(self) -> dict[str, QueryFigures]:
        """Return the figures of the queries of this process, which are at most some seconds old.

        If there is no measurement at intervals, measure now.
        """
        if self._thread is None:
            self.measure()
        return dict(self._figures)

    def measure(self) -> None:
        """Measure all queries of this process, unless that was done within the last second."""
        with self._measuring:
            now_ms = self._clock.now_ms()
            if 0 <= now_ms - self._measured_at_ms < _FRESH_MS or self._closing.is_set():
                return
            self._measured_at_ms = now_ms
            self._until_s = time.monotonic() + _ROUND_S
            queries = self._wiring.queries()
            if queries is None:
                self._figures = {}
                return
            wanted, live, running = self._wiring.wanted(), queries.live_all(), queries.running()
            found: dict[str, QueryFigures] = {}
            for one in live:
                if self._closing.is_set():
                    return
                if one.id in wanted:
                    found[one.id] = self._attempted(one, wanted[one.id], running.get(one.id))
            self._figures = found
            for measured in found.values():
                self._note(measured)
            for elsewhere in self._positions.keys() - found.keys():
                # Another server moves on from there, so a checkpoint knows more after that.
                del self._positions[elsewhere]
            for gone in self._histories.keys() - wanted.keys():
                # An ended query; one that has moved to another server may come back.
                del self._histories[gone]

    def _run(self, interval_s: float) -> None:
        while not self._closing.is_set():
            try:
                self.measure()
                if self._published is not None:
                    self._published.publish(self._figures.values(), self._clock.now_ms())
            except DuologError as error:
                logger.debug("cannot measure or publish: %s", error.message)
            except Exception:  # figures must not end with one surprise
                logger.exception("failed to measure queries")
            self._closing.wait(interval_s)

    def _attempted(
        self, live: "LiveQuery", wanted: "DesiredQuery", query: "ManagedQuery | None"
    ) -> QueryFigures:
        """Return the figures of a query: the last ones, or its state, if it cannot be measured."""
        try:
            return self._measured(live, wanted, query)
        except DuologError as error:
            logger.debug("cannot measure query %s: %s", live.id, error.message)
        except Exception:  # one query, whose JVM ends meanwhile, must not hide the others
            logger.exception("failed to measure query %s", live.id)
        known = self._figures.get(live.id) or QueryFigures(live.id, self._clock.now_ms())
        return replace(known, state=live.state, error=live.error, server=self.server)

    def _measured(
        self, live: "LiveQuery", wanted: "DesiredQuery", query: "ManagedQuery | None"
    ) -> QueryFigures:
        observed = self._stopped(wanted) if query is None else observe(query)
        if observed.positions:
            self._positions[live.id] = dict(observed.positions)
        partitions = self._partitions(observed)
        # After that, so that a record that was written before has an age.
        at_ms = self._clock.now_ms()
        lags = tuple(_lag(one, first_ms, at_ms) for one, first_ms in partitions)
        history = self._histories.get(live.id)
        if history is None:
            history = self._histories[live.id] = History()
            history.start_at(
                (observed.positions or {}) if query is None else _by_partition(wanted.starts)
            )
        records = _total([one.records for one in lags]) if lags else observed.lag_records
        history.note(
            at_ms,
            query,
            observed,
            lag_records=records,
            lag_ms=_greatest([one.ms for one in lags]) if lags else (0 if records == 0 else None),
        )
        return QueryFigures(
            id=live.id,
            at_ms=at_ms,
            state=live.state,
            error=live.error,
            server=self.server,
            jvm_group=live.group or wanted.query.jvm_group,
            started_at_ms=live.started_at_ms,
            restarts=live.restarts,
            failures=live.failures_total,
            records_in=history.records_in,
            records_out=history.records_out,
            topics_in=history.flows("in"),
            topics_out=history.flows("out"),
            bytes_out=history.bytes_out,
            lag=history.lag(_most(lags)),
            errors=history.errors,
            late=history.late,
            stores=observed.stores,
            state_bytes=observed.state_bytes,
            last_result_at_ms=history.last_result_at_ms,
        )

    def _stopped(self, wanted: "DesiredQuery") -> Observation:
        """Return the position at which a query has stopped, and the ends of its topics."""
        query_id = wanted.query.id
        if query_id not in self._positions:
            self._positions[query_id] = _by_partition(self._wiring.kept(wanted))
        positions = self._positions[query_id]
        if time.monotonic() >= self._until_s:
            return Observation(positions=positions)
        try:
            there = self._wiring.counts()
        except DuologError:
            return Observation(positions=positions)
        read = {
            topic: there[topic]
            for source in wanted.query.planned.sources
            for topic in source.topics_among(there)
        }
        ends = self._wiring.unread.ends(read)
        starts = _by_partition(wanted.starts)
        if ends is not None:
            positions = {at: positions.get(at, starts.get(at, 0)) for at in ends}
        return Observation(positions=positions, ends=ends)

    def _partitions(self, observed: Observation) -> list[tuple[PartitionLag, int | None]]:
        """Return what is unread, each with the timestamp of its first record."""
        positions, ends = observed.positions or {}, observed.ends or {}
        behind = {at: one for at, one in positions.items() if one < ends.get(at, 0)}
        firsts: Mapping[Partition, int] = {}
        if behind and time.monotonic() < self._until_s:
            firsts = self._wiring.unread.first_timestamps(behind, ends)
        found = []
        for at, position in sorted(positions.items()):
            end = ends.get(at)
            first_ms = firsts.get(at) if at in behind else NO_RECORD
            if first_ms == NO_RECORD and end is not None:
                # Nothing but control records: the query has read everything.
                position = max(position, end)  # noqa: PLW2901 - the rest of the round sees it so
            found.append((PartitionLag(*at, position, end), first_ms))
        return found


def _by_partition(offsets: "Offsets") -> dict[Partition, int]:
    return {
        (topic, number): offset for topic, of in offsets.items() for number, offset in of.items()
    }


def _lag(partition: PartitionLag, first_ms: int | None, at_ms: int) -> PartitionLag:
    ms = None
    if partition.records == 0:
        ms = 0
    elif partition.records is not None and first_ms is not None:
        ms = max(0, at_ms - first_ms)
    return PartitionLag(partition.topic, partition.partition, partition.position, partition.end, ms)


def _most(lags: Iterable[PartitionLag]) -> tuple[PartitionLag, ...]:
    ordered = sorted(lags, key=lambda one: (-(one.records or 0), one.topic, one.partition))
    return tuple(ordered[:PARTITIONS_MAX])


def _total(counts: list[int | None]) -> int | None:
    return None if None in counts else sum(one for one in counts if one is not None)


def _greatest(values: list[int | None]) -> int | None:
    known = [one for one in values if one is not None]
    return max(known) if len(known) == len(values) and known else None
