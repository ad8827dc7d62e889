"""A fetch that waits for records: a long poll, without a task.

It stands in the `waiters` of each partition that it asks for, or a partition of its session does.
When a high watermark moves (a last stable offset moves only with it), or a topic goes, the broker
calls `check` at the end of the round; a timer calls `expire`.

Source: Kafka `DelayedFetch`.
"""

import logging
from typing import TYPE_CHECKING

from duolog.broker.fetch.fetch_sessions import Response, SessionFetch, WholeFetch
from duolog.broker.fetch.partition_reads import refused
from duolog.broker.requests.in_flight import InFlightRequest
from duolog.core.units import SECOND_MS
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.fetch import write_fetch_response

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.network.connection import Connection
    from duolog.broker.requests.in_flight import FileSpan

logger = logging.getLogger(__name__)


class DelayedFetch(InFlightRequest):
    """One fetch request on its way to its answer."""

    __slots__ = (
        "_came_at",
        "_connection",
        "_correlation_id",
        "_plan",
        "_timer",
        "_version",
    )

    changes_nothing = True

    def __init__(
        self,
        broker: "Broker",
        connection: "Connection",
        plan: WholeFetch | SessionFetch,
        version: int,
        correlation_id: int,
    ) -> None:
        self.data = None
        self._connection = connection
        self._plan = plan
        self._version = version
        self._correlation_id = correlation_id
        self._came_at = broker.clock.monotonic()
        until = self._came_at + plan.request.max_wait_ms / SECOND_MS
        self._timer = broker.timers.call_at(until, self.expire)

    def park(self) -> None:
        """Wait at every partition of the request."""
        self._plan.park(self)
        self._connection.parked.add(self)

    def check(self) -> None:
        """Answer if there is enough by now."""
        if self not in self._connection.parked:
            return
        self._maybe_answer(bytes_min=self._plan.request.bytes_min)

    def expire(self) -> None:
        """Answer with what there is."""
        self._maybe_answer(bytes_min=0)

    def cancel(self) -> None:
        """Stop waiting."""
        self._timer.cancel()
        self._plan.leave(self)
        self._connection.parked.discard(self)

    def _maybe_answer(self, *, bytes_min: int) -> None:
        request = self._plan.request
        try:
            fetched = self._plan.fetch()
            if not fetched.failed and fetched.size_bytes < bytes_min:
                return
            response = self._plan.respond(fetched)
        except Exception:  # The edge of a request, in a later round.
            logger.exception("fetch failed")
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            response = Response(code, 0, refused(request, code).results)
        self.cancel()
        data = write_response(
            self._version,
            self._correlation_id,
            response,
            read_committed=request.read_committed,
        )
        broker = self._connection.broker
        broker.counters.fetch_waited.observe(broker.clock.monotonic() - self._came_at)
        self._connection.complete(self, data)


def write_response(
    version: int, correlation_id: int, response: Response, *, read_committed: bool
) -> "list[bytes | FileSpan]":
    """Return the frame of an answer."""
    return write_fetch_response(
        version,
        correlation_id,
        response.results,
        error_code=response.error_code,
        session_id=response.session_id,
        read_committed=read_committed,
    )
