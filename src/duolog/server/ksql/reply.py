"""Replies of endpoints: status, content type, and a body that is complete or made while it is read.

    bounded rows      many rows make a batch; a client that leaves ends them after the batch
    unbounded rows    a batch is a piece, sent at once; `close` wakes the thread that waits for it

Threads: one calls `next_batch`; any may call `close`, also at the same time.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Final

from duolog.server.queries.live_rows import LiveRows

_BATCH_BYTES: Final = 64 * 1024


class Reply:
    """A response to a request.

    Attributes:
        status: the status of HTTP.
        content_type: of the body.
        query_id: the id of the query whose rows it has; else empty.
        live: the body, if an event loop can wait for it without a thread.
        note: for the access log: the code of an error.
    """

    def __init__(
        self,
        status: int,
        content_type: str,
        pieces: Iterator[bytes],
        *,
        query_id: str = "",
        stop: Callable[[], None] | None = None,
        unbounded: bool = False,
        live: LiveRows | None = None,
        note: str = "",
    ) -> None:
        self.live = live
        self.note = note
        self.status = status
        self.content_type = content_type
        self.query_id = query_id
        self._pieces = pieces
        self._stop = stop
        self._unbounded = unbounded
        self._using = threading.Lock()
        self._closed = threading.Event()

    @property
    def is_whole(self) -> bool:
        """True if the body is complete."""
        return self._stop is None

    @property
    def is_unbounded(self) -> bool:
        """True if there may be no last piece."""
        return self._unbounded

    @property
    def body(self) -> bytes:
        """Read the rest of the body, and close it."""
        try:
            return b"".join(iter(self.next_batch, b""))
        finally:
            self.close()

    def next_batch(self) -> bytes:
        """Return the next bytes to send; empty at the end, or if it is closed."""
        with self._using:
            batch = b"" if self._closed.is_set() else self._next()
        if self._closed.is_set():
            self._end()
        return batch

    def close(self) -> None:
        """Stop the source of the rows. Does nothing if it has ended."""
        self._closed.set()
        if self._unbounded and self._stop is not None:
            # The source can be stopped while it is read: the reader returns at once.
            self._stop()
        self._end()

    def _next(self) -> bytes:
        found: list[bytes] = []
        size = 0
        for piece in self._pieces:
            found.append(piece)
            size += len(piece)
            if size and (self._unbounded or size >= _BATCH_BYTES or self._closed.is_set()):
                break
        return b"".join(found)

    def _end(self) -> None:
        """Close the pieces, unless another thread reads them: it then closes them itself."""
        if not self._using.acquire(blocking=False):
            return
        try:
            close = getattr(self._pieces, "close", None)
            if close is not None:
                close()
            if self._stop is not None:
                self._stop()
        finally:
            self._using.release()


def whole_reply(status: int, content_type: str, body: bytes, *, note: str = "") -> Reply:
    """Return a reply whose body is complete."""
    return Reply(status, content_type, iter((body,) if body else ()), note=note)


def streamed_reply(
    content_type: str,
    pieces: Iterator[bytes],
    stop: Callable[[], None],
    *,
    query_id: str = "",
    unbounded: bool,
    live: LiveRows | None = None,
) -> Reply:
    """Return a reply whose body is made while it is read.

    Args:
        content_type: of the body.
        pieces: the body; the pieces of an unbounded one are sent one by one.
        stop: stops the source of the pieces. If that has no end, any thread may call it.
        query_id: the id of the query.
        unbounded: True if there may be no last piece.
        live: the same body for an event loop, which reads one of the two.
    """
    return Reply(
        200,
        content_type,
        pieces,
        query_id=query_id,
        stop=stop,
        unbounded=unbounded,
        live=live,
    )
