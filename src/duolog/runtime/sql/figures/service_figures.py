"""The figures of all persistent queries of a service: measured here, or published by others.

Threads: any.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from duolog.core.clock import Clock, SystemClock
from duolog.runtime.sql.figures.collector import INTERVAL_S, FiguresCollector, Wiring
from duolog.runtime.sql.figures.published import Note, PublishedFigures, read_published
from duolog.runtime.sql.figures.query_figures import QueryFigures
from duolog.runtime.sql.figures.series import Point, Series
from duolog.runtime.sql.figures.topic_growth import Spans, TopicGrowth, TopicSize
from duolog.security.clients.brokers import Brokers

_REMEMBER_S: Final = 2.0
"""Many requests at once must not read the topic once each."""


class ServiceFigures:
    """The figures of one service.

    Args:
        brokers: the cluster.
        service_id: the service.
        wiring: what the measurements of this process ask.
        spans: returns the numbers of offsets before, and up to the end of, topics.
        read: reads the figures that other servers have published, by query, and calls its last
            argument with all that are still there.
    """

    def __init__(
        self,
        brokers: Brokers,
        service_id: str,
        wiring: Wiring,
        *,
        spans: Spans = lambda _: {},
        read: Callable[[Brokers, str, Note], dict[str, QueryFigures]] = read_published,
        clock: Clock | None = None,
    ) -> None:
        self._brokers = brokers
        self._service_id = service_id
        self._read = read
        self._published: PublishedFigures | None = None
        self._others: dict[str, QueryFigures] = {}
        self._read_at_s: float | None = None
        self._reading = threading.Lock()
        self._clock = clock or SystemClock()
        self._series = Series()
        self._growth = TopicGrowth(spans, self._clock)
        self.collector = FiguresCollector(wiring, clock, self._series.note)

    def start(self, server: str, interval_s: float = INTERVAL_S) -> None:
        """Measure the queries of this process at intervals, and publish their figures.

        Args:
            server: the address of this server.
            interval_s: the pause between measurements.
        """
        self._published = PublishedFigures(self._brokers, self._service_id)
        self.collector.start(server, self._published, interval_s)

    def own(self) -> dict[str, QueryFigures]:
        """Return the figures of the queries of this process, by id."""
        return self.collector.figures()

    def all(self, query_ids: Iterable[str]) -> dict[str, QueryFigures]:
        """Return the figures of queries by id, as far as they are known.

        Those of queries that run elsewhere are as old as `at_ms` says.
        """
        found = self.own()
        wanted = set(query_ids)
        if wanted - found.keys():
            found = {**self._of_others(), **found}
        return {name: found[name] for name in sorted(wanted & found.keys())}

    def history(self, query_ids: Iterable[str]) -> dict[str, Sequence[Point]]:
        """Return the points of queries in the last quarter of an hour, by id.

        Those of other servers, and those from before a restart of this one, are published ones.
        """
        wanted = list(query_ids)
        if self._read_at_s is None or set(wanted) - self.own().keys():
            self._of_others()
        return self._series.of(wanted, self._clock.now_ms())

    def topics(self, names: Iterable[str]) -> dict[str, TopicSize]:
        """Return the sizes and the growth of topics, as far as they are known."""
        return self._growth.of(names)

    def close(self) -> None:
        """End the measurements; the published figures stay until they are too old."""
        self.collector.close()
        published, self._published = self._published, None
        if published is not None:
            published.close()

    def _of_others(self) -> dict[str, QueryFigures]:
        with self._reading:
            now_s = time.monotonic()
            if self._read_at_s is None or now_s - self._read_at_s > _REMEMBER_S:
                self._others = self._read(self._brokers, self._service_id, self._series.note)
                self._read_at_s = time.monotonic()
            return self._others
