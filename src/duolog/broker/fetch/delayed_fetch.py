"""A fetch on its way to its answer, which may wait for records: a long poll, without a task.

    plan ─▶ read ─┬─ enough ──▶ respond ─▶ write ─▶ answer
              ▲   └─ not yet ─▶ park ─┐
              └─── check, expire ─────┘

While it waits, it is in the `waiters` of each requested partition, or the partitions of its session
are. When a high watermark moves (a last stable offset moves only with it), or a topic goes, the
broker calls `check` at the end of the round; a timer calls `expire`.

A fetch of a client above its quota is answered at once, without records. What asks for very many
partitions is done in time slices. Later requests of its connection begin
when it is answered or waits.

Source: Kafka `DelayedFetch`.
"""

import logging
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final

from duolog.broker.event_loop.time_slices import at_once, freeing
from duolog.broker.fetch.enough import can_be_read
from duolog.broker.fetch.fetch_sessions import Response, SessionFetch, WholeFetch
from duolog.broker.fetch.partition_reads import refused
from duolog.broker.requests.in_flight import InFlightRequest
from duolog.core.units import SECOND_MS
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.fetch import FIRST_TOPIC_ID, FetchRequest, writing_fetch_response

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer
    from duolog.broker.fetch.fetch_sessions import Broker
    from duolog.broker.quotas.charge import Charge
    from duolog.broker.requests.in_flight import FileSpan
    from duolog.broker.requests.needs import Connection

logger = logging.getLogger(__name__)

_DONE: Final = object()


class DelayedFetch(InFlightRequest):
    """One fetch request on its way to its answer."""

    __slots__ = (
        "_again",
        "_bytes_min",
        "_came_at",
        "_charge",
        "_connection",
        "_correlation_id",
        "_looking",
        "_plan",
        "_request",
        "_throttle_ms",
        "_timer",
        "_version",
        "changes_nothing",
    )

    def __init__(
        self,
        connection: "Connection[Broker]",
        version: int,
        correlation_id: int,
        charge: "Charge | None" = None,
    ) -> None:
        self.data = None
        self._charge = charge
        """The account of the request; None if its client has no quota."""
        self._throttle_ms = 0
        self.changes_nothing = False
        """True if the fetch is waiting, so that later requests need not wait for it."""
        self._connection = connection
        self._version = version
        self._correlation_id = correlation_id
        self._came_at = connection.broker.clock.monotonic()
        self._plan: WholeFetch | SessionFetch | None = None
        self._timer: Timer | None = None
        self._looking = self._again = False

    def serve(self, request: FetchRequest) -> None:
        """Answer now, in later rounds, or when there is enough."""
        if self._charge is not None:
            request = _within(request, self._charge.fetch_bytes_max())
        self._request = request
        self._bytes_min = request.bytes_min if request.max_wait_ms > 0 else 0
        self._look()

    def check(self) -> None:
        """Answer if there is enough by now."""
        if self in self._connection.parked:
            self._look()

    def expire(self) -> None:
        """Answer with what there is."""
        self._bytes_min = 0
        self._look()

    def cancel(self) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
            self._connection.parked.discard(self)
            if self._plan is not None:
                self._plan.leave(self)

    def _look(self) -> None:
        if self._looking:
            self._again = True
        elif self._wanted():
            steps = self._steps()
            if self._charge is not None:
                steps = self._charge.timed(steps)
            if next(steps, _DONE) is not _DONE:  # One step is enough for nearly all.
                self._connection.broker.slices.run(steps, wanted=self._wanted)

    def _wanted(self) -> bool:
        return not self._connection.closed

    def _steps(self) -> Iterator[None]:
        """Look whether there is enough, and answer or wait."""
        self._looking, self._again = True, True
        try:
            while self._again:
                self._again = False
                response = yield from self._read()
                if response is not None:
                    self._answer((yield from self._write(response)))
                    if self._plan is not None and self._plan.many:
                        yield from freeing(response.results)
                        yield from freeing(self._request.topics)
                    return
                if self._timer is None:
                    # Changes from now on are reported. What has changed since it was read is not.
                    self._again = yield from self._park()
        except Exception:  # The edge of a request.
            logger.exception("fetch failed")
            self._connection.broker.counters.errors["Fetch"] += 1
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            error = Response(code, 0, refused(self._request, code).results)
            self._answer(at_once(self._write(error)))
        self._looking = False

    def _read(self) -> Generator[None, None, Response | None]:
        """Return the answer, if there is enough for one."""
        plan = self._plan
        if plan is None:
            by_id = self._version >= FIRST_TOPIC_ID
            connection = self._connection
            found = connection.broker.fetch_sessions.plan(connection, self._request, by_id=by_id)
            if isinstance(found, Response):
                return found
            self._plan = plan = found
        fetched = yield from plan.fetch()
        if not (fetched.failed or fetched.size_bytes >= self._bytes_min or not plan.waits):
            if not fetched.size_bytes:
                return None
            broker = self._connection.broker
            if not (yield from can_be_read(broker, plan, self._bytes_min)):
                return None
        if self._charge is not None:
            self._throttle_ms, withheld = self._charge.fetched(fetched.size_bytes)
            if withheld:
                return plan.withhold()
        return (yield from plan.respond(fetched))

    def _park(self) -> Generator[None, None, bool]:
        """Wait at every partition of the request; return whether to look again at once."""
        connection, plan = self._connection, self._plan
        assert plan is not None
        until = self._came_at + self._request.max_wait_ms / SECOND_MS
        self._timer = connection.broker.timers.call_at(until, self.expire)
        connection.parked.add(self)
        connection.let_pass(self)
        yield from plan.park(self)
        return self._again or plan.many

    def _write(self, response: Response) -> "Generator[None, None, list[bytes | FileSpan]]":
        return writing_fetch_response(
            self._version,
            self._correlation_id,
            response.results,
            error_code=response.error_code,
            session_id=response.session_id,
            read_committed=self._request.read_committed,
            throttle_ms=self._throttle_ms,
        )

    def _answer(self, data: "list[bytes | FileSpan]") -> None:
        counters = self._connection.broker.counters
        if self._timer is None:
            counters.fetch_at_once += 1
        else:
            now = self._connection.broker.clock.monotonic()
            counters.fetch_waited.observe(now - self._came_at)
        self.cancel()
        self._connection.complete(self, data)


def _within(request: FetchRequest, bytes_max: int) -> FetchRequest:
    """Return a request for no more than `bytes_max`: more would always be above the quota.

    Whole batches reach at least half of it, if there are enough. So the client does not wait for
    what no response could contain.
    """
    if request.bytes_max <= bytes_max:
        return request
    return request._replace(bytes_max=bytes_max, bytes_min=min(request.bytes_min, bytes_max // 2))
