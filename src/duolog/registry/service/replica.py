"""This registry's copy of the state, as of a position in the topic.

Thread: before the event loop runs, the thread that loads the topic; afterwards, only the event
loop. `deliver` may be called from the follower's thread at any time.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeVar

from duolog.registry.store.stored import StoredRecord

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Replica:
    """Replays records in order and wakes those who wait for one.

    Args:
        replay: applies one record to the state. An error it raises stops the replica for good:
            what follows a record that has no meaning cannot be trusted.
    """

    def __init__(self, replay: Callable[[StoredRecord], None]) -> None:
        self._replay = replay
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next_offset = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self.failure: Exception | None = None

    @property
    def next_offset(self) -> int:
        """The offset after the last record that was replayed."""
        return self._next_offset

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Replay on this loop from now on."""
        self._loop = loop

    def deliver(self, records: Sequence[StoredRecord]) -> None:
        """Replay records: at once before `attach`, afterwards on the loop."""
        if self._loop is None:
            self._apply(records)
        else:
            _call(self._loop, self._apply_safely, records)

    def fail(self, error: Exception) -> None:
        """Note that no record will follow; those who wait get the error."""
        if self._loop is None:
            self.failure = error
        else:
            _call(self._loop, self._stop, error)

    async def reached(self, offset: int) -> None:
        """Return when the record at `offset` has been replayed.

        Raises:
            Exception: the replica has failed before.
        """
        if self._next_offset > offset:
            return
        if self.failure is not None:
            raise self.failure
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (offset, next(self._numbers), future))
        await future

    def _apply_safely(self, records: Sequence[StoredRecord]) -> None:
        if self.failure is not None:
            return
        try:
            self._apply(records)
        except Exception as error:  # The state is incomplete from here on.
            logger.exception("the registry no longer follows its topic")
            self._stop(error)

    def _apply(self, records: Sequence[StoredRecord]) -> None:
        for record in records:
            self._replay(record)
            self._next_offset = record.offset + 1
        while self._waiting and self._waiting[0][0] < self._next_offset:
            future = heapq.heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)

    def _stop(self, error: Exception) -> None:
        self.failure = error
        for _, _, future in self._waiting:
            if not future.done():
                future.set_exception(error)
        self._waiting.clear()


def _call(loop: asyncio.AbstractEventLoop, call: Callable[[T], None], given: T) -> None:
    """Call on the loop; do nothing if it has ended, as it does before the follower."""
    try:
        loop.call_soon_threadsafe(call, given)
    except RuntimeError:
        if not loop.is_closed():
            raise
