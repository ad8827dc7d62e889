"""A round: what one burst of requests appended becomes one write and one fsync.

    handlers stage batches → write_staged, one for each partition → group commit: ticket
    ticket is done → high watermarks move → answers and callbacks → waiting fetches

Invariants:
- Nothing is acknowledged, and nothing can be fetched, before its ticket is done.
- Staged batches are slices of receive buffers, so every round writes before the loop polls.
- Rounds are done in the order of their tickets, so a high watermark never moves back.

A write or a sync that fails takes the log directory offline: what waits is answered with
KAFKA_STORAGE_ERROR, and no later append is taken. There is no retry: after a failed fsync the
page cache may call clean what never reached the disk.

Threads: all of it runs on the loop; `GroupCommit` syncs on its own thread and wakes the loop.
"""

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol

from duolog.broker.counters import Counters
from duolog.core.errors import DuologError

if TYPE_CHECKING:
    from duolog.broker.topics.topics import Partition
    from duolog.log.group_commit import GroupCommit

logger = logging.getLogger(__name__)


class Pending(Protocol):
    """Something that waits for what it appended to be on the disk."""

    def durable(self) -> None:
        """Say that all of it is on the disk."""

    def failed(self, error: Exception) -> None:
        """Say that it may not be, and will not be."""


class _Flight(NamedTuple):
    """A round whose sync is under way."""

    ticket: int
    written_at: float
    ends: list[tuple["Partition", int]]
    pending: list[Pending]


class Callback:
    """A pending function: what the broker appends for itself."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[Exception | None], None]) -> None:
        self._call = call

    def durable(self) -> None:
        self._call(None)

    def failed(self, error: Exception) -> None:
        self._call(error)


class Rounds:
    """The rounds of one broker."""

    def __init__(
        self,
        group_commit: "GroupCommit",
        on_grown: Callable[["Partition"], None],
        counters: Counters | None = None,
    ) -> None:
        self._counters = counters or Counters()
        self.dirty: set[Partition] = set()
        """Partitions with staged batches; handlers add to it."""
        self.pending: list[Pending] = []
        """Callbacks that wait for this round; handlers append to it."""
        self.before_write: list[Callable[[], None]] = []
        """Called once before the next write, and may append; handlers add to it."""
        self.failure: Exception | None = None
        """The reason why the log directory is offline, if it is."""
        self._group_commit = group_commit
        self._on_grown = on_grown
        self._flights: deque[_Flight] = deque()

    def write_now(self, partition: "Partition") -> None:
        """Write what is staged in a partition before the end of the round, which it is part of.

        For who appends to very many partitions: each is a file to write, and perhaps to make.
        """
        with suppress(DuologError):  # The end of the round finds it, too.
            partition.log.write_staged()

    def finish(self) -> None:
        """Write what is staged, ask for its sync, and answer what is done."""
        while self.dirty or self.pending:
            self._write()
            self._land()
        if self._flights:
            self._land()
            # What waited for the disk may append: the markers of a transaction, and its end.
            if self.dirty or self.pending:
                self.finish()

    @property
    def flights(self) -> int:
        """Rounds that wait for the disk."""
        return len(self._flights)

    @property
    def in_flight(self) -> bool:
        return bool(self._flights)

    def _write(self) -> None:
        if self.before_write:
            calls, self.before_write = self.before_write, []
            for call in calls:
                call()
        dirty, pending = self.dirty, self.pending
        self.dirty, self.pending = set(), []
        if self.failure is None:
            try:
                for partition in dirty:
                    partition.log.write_staged()
                ticket = self._group_commit.request([partition.log for partition in dirty])
            except (OSError, DuologError) as error:
                self.go_offline(error)
            else:
                ends = [(partition, partition.log.log_end_offset) for partition in dirty]
                self._flights.append(_Flight(ticket, monotonic(), ends, pending))
                return
        self._fail(pending)

    def _land(self) -> None:
        """Answer the flights whose ticket is done."""
        flights = self._flights
        if not flights:
            return
        # The error first: a ticket that is done before it was read is still done.
        error = self._group_commit.failed
        completed = self._group_commit.completed_ticket
        while flights and flights[0].ticket <= completed:
            flight = flights.popleft()
            for partition, end in flight.ends:
                if end > partition.log.high_watermark:
                    partition.log.high_watermark = end
                    self._on_grown(partition)
            counters = self._counters
            answered = counters.produce_requests
            for pending in flight.pending:
                pending.durable()
            if counters.produce_requests > answered:
                times = counters.produce_requests - answered
                counters.produce_times.observe(monotonic() - flight.written_at, times)
        if error is not None and self.failure is None:
            self.go_offline(error)
        if self.failure is not None:
            while flights:
                self._fail(flights.popleft().pending)

    def go_offline(self, error: Exception) -> None:
        """Write nothing more."""
        self.failure = error
        logger.error(
            "log directory is offline; nothing more is written",
            extra={"error": f"{type(error).__name__}: {error}"},
        )

    def _fail(self, pending: list[Pending]) -> None:
        assert self.failure is not None
        for waiting in pending:
            waiting.failed(self.failure)
