"""A fetch that waits for records: a long poll, without a task.

It stands in the `waiters` of each partition that it asks for. When a high watermark moves (a
last stable offset moves only with it), or a topic goes, the broker calls `check` at the end of the round; a timer calls `expire`.

Source: Kafka `DelayedFetch`.
"""

import logging
from typing import TYPE_CHECKING

from duolog.broker.fetching import Fetched, fetch, find_topic, refused
from duolog.broker.slots import Slot
from duolog.core.units import SECOND_MS
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.fetch import FetchRequest, write_fetch_response

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.connection import Connection
    from duolog.broker.topics import Partition


logger = logging.getLogger(__name__)


class FetchWaiter(Slot):
    """One fetch request on its way to its answer."""

    __slots__ = (
        "_broker",
        "_connection",
        "_correlation_id",
        "_partitions",
        "_request",
        "_timer",
        "_version",
    )

    def __init__(
        self,
        broker: "Broker",
        connection: "Connection",
        request: FetchRequest,
        version: int,
        correlation_id: int,
    ) -> None:
        self.data = None
        self._broker = broker
        self._connection = connection
        self._request = request
        self._version = version
        self._correlation_id = correlation_id
        self._partitions: list[Partition] = []
        self._timer = broker.timers.call_later(request.max_wait_ms / SECOND_MS, self.expire)

    def park(self) -> None:
        """Wait at every partition of the request."""
        for key, partitions in self._request.topics:
            topic = find_topic(self._broker, key)
            for asked in partitions:
                partition = topic.partition(asked.partition) if topic else None
                if partition is not None:
                    partition.waiters.add(self)
                    self._partitions.append(partition)
        self._connection.parked.add(self)

    def check(self) -> None:
        """Answer if there is enough by now."""
        if self not in self._connection.parked:
            return
        fetched = self._fetch()
        if fetched.failed or fetched.size_bytes >= self._request.bytes_min:
            self._answer(fetched)

    def expire(self) -> None:
        """Answer with what there is."""
        self._answer(self._fetch())

    def _fetch(self) -> Fetched:
        try:
            return fetch(self._broker, self._request)
        except Exception:  # The edge of a request, in a later round.
            logger.exception("fetch failed")
            return refused(self._request, ErrorCode.UNKNOWN_SERVER_ERROR)

    def cancel(self) -> None:
        """Stop waiting."""
        self._timer.cancel()
        for partition in self._partitions:
            partition.waiters.discard(self)
        self._connection.parked.discard(self)

    def _answer(self, fetched: Fetched) -> None:
        self.cancel()
        self._connection.complete(
            self,
            write_fetch_response(
                self._version,
                self._correlation_id,
                fetched.results,
                read_committed=self._request.read_committed,
            ),
        )
