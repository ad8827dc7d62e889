"""Buffer between the reader of a topic and one client, bounded in rows and bytes.

    reader ─ offer ─▶ chunk chunk chunk ─ take ─▶ client        more than the limit: the query ends

Queries with the same result share the rows of a chunk; a buffer has references to them.

Threads: one offers and one takes; any may call the other methods.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from duolog.runtime.sql.fanout.errors import ClientTooSlow
from duolog.runtime.sql.fanout.positions import Mark, Place

ResultRow = tuple[object, ...]


class Emitted(NamedTuple):
    """Result rows of a batch of records."""

    rows: Sequence[ResultRow] = ()
    marks: Sequence[Mark] = ()
    """The record of each row; empty if a client cannot continue between these rows."""
    size: int = 0
    """Approximate size in bytes."""


NOTHING: Final = Emitted()


@dataclass(frozen=True, slots=True)
class BufferLimits:
    """Limits of a client's buffer.

    The query ends with the first batch of records after a limit is exceeded.
    """

    rows_max: int = 50_000
    bytes_max: int = 16 * 1024 * 1024
    idle_s_max: float = 60.0
    """Time for which rows wait while the client reads nothing."""


@dataclass(slots=True)
class _Chunk:
    """Rows between two places; `after` of a snapshot's chunk is where its client starts again."""

    emitted: Emitted
    before: Place | None
    after: Place | None


class RowBuffer:
    """Rows that a client has not read yet.

    Args:
        limits: the limits of the buffer.
        place: the client's position; None if it has to start again to continue.
    """

    def __init__(self, limits: BufferLimits, place: Place | None) -> None:
        self._limits = limits
        self._changed = threading.Condition()
        self._chunks: deque[_Chunk] = deque()
        self._last = _Chunk(NOTHING, place, place)
        self.rows = 0
        """Number of rows that wait."""
        self._bytes = 0
        self._error: BaseException | None = None
        self.closed = False
        self._signalled = False
        self._on_ready: Callable[[], None] | None = None
        self._on_room: Callable[[], None] | None = None
        self._idle_since = time.monotonic()

    def offer(self, emitted: Emitted, before: Place | None, after: Place | None) -> None:
        """Add rows; end the query if the buffer is full. Does nothing after the end."""
        with self._changed:
            if self.ended:
                return
            if not emitted.rows:
                (self._chunks[-1] if self._chunks else self._last).after = after
                return
            if not self._has_room(1):
                self._fail(ClientTooSlow.full(self.rows, self._bytes))
            else:
                if not self._chunks:
                    self._idle_since = time.monotonic()
                self._chunks.append(_Chunk(emitted, before, after))
                self.rows += len(emitted.rows)
                self._bytes += emitted.size
                self._changed.notify_all()
            ready = self._signal()
        if ready is not None:
            ready()

    def fail(self, error: BaseException) -> None:
        """End the query with an error; rows that wait are discarded. Does nothing if ended."""
        with self._changed:
            if self.ended:
                return
            self._fail(error)
            ready = self._signal()
            room, self._on_room = self._on_room, None
        for call in (ready, room):
            if call is not None:
                call()

    def close(self) -> None:
        """End the query: the client has left, or has all its rows."""
        with self._changed:
            self.closed = True
            self._clear()
            self._changed.notify_all()
            ready = self._signal()
            room, self._on_room = self._on_room, None
        for call in (ready, room):
            if call is not None:
                call()

    @property
    def ended(self) -> bool:
        return self.closed or self._error is not None

    @property
    def has_room(self) -> bool:
        """True if half of the buffer is free."""
        with self._changed:
            return self._has_room(2)

    def when_room(self, call: Callable[[], None]) -> bool:
        """Call a function once when half of the buffer is free, or at the end of the query.

        Return false, without calling it, if that is the case already.
        """
        with self._changed:
            if self.ended or self._has_room(2):
                return False
            self._on_room = call
            return True

    def when_ready(self, call: Callable[[], None]) -> None:
        """Call a function, from any thread, when rows arrive for a client that had read all."""
        with self._changed:
            self._on_ready = call
            self._signalled = False
            ready = self._signal() if self._chunks or self._error is not None else None
        if ready is not None:
            ready()

    def take(self, timeout_s: float = 0.0) -> Sequence[ResultRow]:
        """Return the next rows, all of one batch of records; none after the time or if closed.

        Raises:
            ClientTooSlow: the rows did not fit into the buffer.
            DuologError: the query has failed.
        """
        with self._changed:
            if timeout_s > 0 and not self._chunks and not self.ended:
                self._changed.wait(timeout_s)
            if self._error is not None:
                raise self._error
            self._idle_since = time.monotonic()
            if not self._chunks:
                self._signalled = False
                return ()
            self._last = self._chunks.popleft()
            rows = self._last.emitted.rows
            self.rows -= len(rows)
            self._bytes -= self._last.emitted.size
            room = None
            if self._on_room is not None and self._has_room(2):
                room, self._on_room = self._on_room, None
        if room is not None:
            room()
        return rows

    def place(self, unread: int = 0) -> Place | None:
        """Return the position after the rows taken last, but for the last `unread` of them.

        None if the client has to start again.
        """
        with self._changed:
            chunk = self._last
            return chunk.after if unread == 0 else _place_within(chunk, unread)

    def check_idle(self, now: float) -> None:
        """End the query if rows have waited for too long."""
        with self._changed:
            idle_s = now - self._idle_since
            late = bool(self._chunks) and idle_s > self._limits.idle_s_max
            rows = self.rows
        if late:
            self.fail(ClientTooSlow.idle(rows, idle_s))

    def _has_room(self, parts: int) -> bool:
        limits = self._limits
        return self.rows < limits.rows_max / parts and self._bytes < limits.bytes_max / parts

    def _fail(self, error: BaseException) -> None:
        self._error = error
        self._clear()
        self._changed.notify_all()

    def _clear(self) -> None:
        self._chunks.clear()
        self.rows = self._bytes = 0

    def _signal(self) -> Callable[[], None] | None:
        """Return the function to call, once until the client has read all."""
        if self._signalled:
            return None
        self._signalled = self._on_ready is not None
        return self._on_ready


def _place_within(chunk: _Chunk, unread: int) -> Place | None:
    marks = chunk.emitted.marks
    if chunk.before is None or not marks:
        return chunk.before
    read = len(marks) - unread
    offsets, given = dict(chunk.before.offsets), dict(chunk.before.given)
    for partition, offset in marks[:read]:
        given.pop(partition, None)
        offsets[partition] = offset + 1
    if read > 0 and marks[read] == marks[read - 1]:
        partition, offset = marks[read]
        offsets[partition] = offset
        before = chunk.before.given.get(partition, 0)
        had = before if chunk.before.offsets.get(partition) == offset else 0
        given[partition] = had + sum(mark == marks[read] for mark in marks[:read])
    return Place(offsets, given)
