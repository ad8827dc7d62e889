"""New records of a topic as server-sent events, at most 50 a second.

    event: records
    data: {"records": [record…], "read": N, "matched": N, "leftOut": N}

`leftOut` counts the records since the last event that matched and are not sent. A comment each
15 seconds shows that the connection lives. Partitions that are added later are read from their
beginnings, unless the client has chosen partitions.

Threads: the event loop asks; `LiveTail` runs on a thread of the readers, one call at a time.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from duolog.core.errors import DuologError
from duolog.runtime.browsing.budget import Budget, Limits
from duolog.runtime.browsing.record import BrowsedRecord
from duolog.server.access.checks import Checks
from duolog.server.topics.browsing import Browser
from duolog.server.topics.refusals import refusal_of
from duolog.server.topics.selections import Filters
from duolog.server.topics.shown import shown_record, text_max

if TYPE_CHECKING:
    from duolog.runtime.browsing.log import TopicLog
    from duolog.runtime.sql.service import SqlService

Json = dict[str, Any]
ROWS_PER_S: Final = 50
_POLL_S: Final = 0.25
_ALIVE_S: Final = 15.0
_ADDED_S: Final = 10.0
"""Between looks for added partitions."""
_EVALUATED: Final = Limits(records=10**9, bytes=10**12, seconds=5.0)


class Allowance:
    """Rows that may be sent now: a second's worth at most."""

    def __init__(self, per_s: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._clock = clock
        self._left = float(per_s)
        self._at = clock()

    def take(self, wanted: int) -> int:
        """Return how many of the rows may be sent."""
        now = self._clock()
        self._left = min(self._per_s, self._left + (now - self._at) * self._per_s)
        self._at = now
        given = min(wanted, int(self._left))
        self._left -= given
        return given


class LiveTail:
    """The records that arrive in a topic after `open`."""

    def __init__(
        self,
        service: "SqlService",
        checks: Checks,
        topic: str,
        filters: Filters,
        allowance: Allowance | None = None,
    ) -> None:
        self._closing = threading.Event()
        self._browser = Browser(service, checks, topic, filters, self._closing.is_set)
        self._allowance = allowance or Allowance(ROWS_PER_S)
        self._log: TopicLog | None = None
        self._all_partitions = not filters.partitions
        self._looked_at = 0.0
        self._lock = threading.Lock()

    def open(self) -> None:
        """Begin at the present ends of the partitions.

        Raises:
            DuologError: see `Browser`.
        """
        self._browser.__enter__()
        try:
            self._log = self._browser.open_log()
            spans = self._browser.spans(self._log)
            self._log.follow({number: end for number, (_, end) in spans.items()})
            self._looked_at = time.monotonic()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop reading; waits for a call that runs, and ends its predicate."""
        self._closing.set()
        with self._lock:
            if self._log is not None:
                self._log = None
            self._browser.__exit__()

    def next(self) -> Json | None:
        """Return an event; None if nothing arrives for a moment, or after `close`.

        Raises:
            KafkaError: the broker refuses.
            InvalidPredicate: see `Predicate`.
        """
        with self._lock:
            if self._log is None:
                return None
            if self._all_partitions and time.monotonic() - self._looked_at >= _ADDED_S:
                self._log.follow_added()
                self._looked_at = time.monotonic()
            some = self._log.arrivals(_POLL_S)
            return self._event(some) if some else None

    def _event(self, some: list[BrowsedRecord]) -> Json:
        select = self._browser.select
        budget = Budget(_EVALUATED, self._closing.is_set)
        chosen = [True] * len(some) if select is None else select.selected(some, budget)
        matched = [one for one, is_chosen in zip(some, chosen, strict=True) if is_chosen]
        given = self._allowance.take(len(matched))
        decoder, most = self._browser.decoder, text_max(10 * ROWS_PER_S)
        return {
            "records": [shown_record(one, decoder, most) for one in matched[:given]],
            "read": len(some),
            "matched": len(matched),
            "leftOut": len(matched) - given,
        }


class LiveEvents:
    """The body of a response with a tail's events; an iterator to be closed.

    Args:
        run: runs a function on a thread.
        ended: called once, when the body is closed.
        stopping: set when the server stops.
        ensure: raises a RequestRefused as soon as the client may read the topic no longer.
    """

    def __init__(
        self,
        tail: LiveTail,
        run: Callable[..., Any],
        ended: Callable[[], None],
        stopping: asyncio.Event,
        ensure: Callable[[], None],
    ) -> None:
        self._tail = tail
        self._run = run
        self._ended = ended
        self._stopping = stopping
        self._ensure = ensure
        self._sent_at = 0.0
        self._is_over = False

    def __aiter__(self) -> "LiveEvents":
        return self

    async def __anext__(self) -> bytes:
        while not self._stopping.is_set() and not self._is_over:
            try:
                event = await self._run(self._tail.next)
                # A rule may have changed since the response began.
                self._ensure()
            except DuologError as error:
                self._is_over = True
                return _event("failed", refusal_of(error).body())
            now = time.monotonic()
            if event is not None:
                self._sent_at = now
                return _event("records", event)
            if now - self._sent_at >= _ALIVE_S:
                self._sent_at = now
                return b": alive\n\n"
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop reading the topic."""
        ended, self._ended = self._ended, lambda: None
        ended()
        self._is_over = True
        with contextlib.suppress(DuologError):
            await asyncio.shield(asyncio.to_thread(self._tail.close))


def _event(name: str, data: Json) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode(errors="replace")
