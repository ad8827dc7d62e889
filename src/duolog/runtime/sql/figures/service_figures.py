"""The figures of all persistent queries of a service: measured here, or published by others.

Threads: any.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from duolog.runtime.sql.figures.collector import INTERVAL_S, FiguresCollector, Wiring
from duolog.runtime.sql.figures.published import PublishedFigures, read_published
from duolog.runtime.sql.figures.query_figures import QueryFigures
from duolog.security.clients.brokers import Brokers

_REMEMBER_S: Final = 2.0
"""Many requests at once must not read the topic once each."""


class ServiceFigures:
    """The figures of one service.

    Args:
        brokers: the cluster.
        service_id: the service.
        wiring: what the measurements of this process ask.
        read: reads the figures that other servers have published, by query.
    """

    def __init__(
        self,
        brokers: Brokers,
        service_id: str,
        wiring: Wiring,
        read: Callable[[Brokers, str], dict[str, QueryFigures]] = read_published,
    ) -> None:
        self._brokers = brokers
        self._service_id = service_id
        self._read = read
        self._published: PublishedFigures | None = None
        self._others: dict[str, QueryFigures] = {}
        self._read_at_s: float | None = None
        self._reading = threading.Lock()
        self.collector = FiguresCollector(wiring)

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
                self._others = self._read(self._brokers, self._service_id)
                self._read_at_s = time.monotonic()
            return self._others
