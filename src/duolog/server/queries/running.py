"""Push queries that clients read at this moment, by id, so that another request can end them.

Their sources can be stopped while another thread waits for a row.

Threads: any.
"""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from duolog.core.errors import DuologError
from duolog.server.queries.started import StartedQuery

logger: Final = logging.getLogger(__name__)

_RESPONSE_S: Final = 0.05
"""Time in which the response to a request to close a query is sent."""
_ENDS_AT_ONCE: Final = 16


class RunningQueries:
    """The queries whose rows are being sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, tuple[StartedQuery, str | None]] = {}

    def add(self, query: StartedQuery, client: str | None = "") -> None:
        """Add a push query of a client; the caller removes it after its last row.

        With None, no client may close it by its id.
        """
        with self._lock:
            self._by_id[query.query_id] = query, client

    def remove(self, query: StartedQuery) -> None:
        """Remove a query and stop its source. Does nothing if it is removed already."""
        with self._lock:
            self._by_id.pop(query.query_id, None)
        query.rows.close()

    def close(self, query_id: str, client: str = "") -> bool:
        """End a query; its reader gets no more rows. Return false if the client has no such query.

        It ends a moment later: a client reads the response to its request first, and may disconnect
        when the rows end.
        """
        with self._lock:
            query, owner = self._by_id.get(query_id, (None, ""))
            if query is None or owner != client:
                return False
            del self._by_id[query_id]
        timer = threading.Timer(_RESPONSE_S, _end, args=(query,))
        timer.daemon = True
        timer.start()
        return True

    def interrupt_all(self) -> None:
        """End all queries, because the server stops.

        Several end at once: on Spark, each end takes seconds.
        """
        with self._lock:
            queries = [query for query, _ in self._by_id.values()]
            self._by_id.clear()
        for query in queries:
            query.is_interrupted = True
        with ThreadPoolExecutor(_ENDS_AT_ONCE, "close-query") as ends:
            list(ends.map(_end, queries))

    def ids(self) -> list[str]:
        """Return the ids of the queries."""
        with self._lock:
            return list(self._by_id)


def _end(query: StartedQuery) -> None:
    """End a query for which no client waits; its temporary topic stays if no broker answers."""
    try:
        query.rows.close()
    except DuologError as error:
        extra = {"query": query.query_id, "reason": error.one_line()}
        logger.warning("query has not ended in order", extra=extra)
