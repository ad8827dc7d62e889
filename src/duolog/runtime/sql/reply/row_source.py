"""Rows that arrive until they are closed.

Threads: one reads rows; any may call `close`, after which the reader gets no more rows.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self, runtime_checkable


class RowSource(Protocol):
    """Source of rows; used by one thread at a time."""

    def next_rows(self, timeout_s: float) -> Sequence[tuple[object, ...]]:
        """Return the rows that arrive within a time, possibly none.

        Raises:
            DuologError: the source has failed.
        """

    def close(self) -> None:
        """Stop the source."""


@runtime_checkable
class ContinuedSource(RowSource, Protocol):
    """Source of rows that can be continued, and that reports the arrival of rows."""

    def token(self, unread: int = 0) -> str:
        """Return the token to continue after the returned rows, but for the last `unread`."""

    def when_ready(self, call: Callable[[], None]) -> None:
        """Call a function, from any thread, when rows arrive after `next_rows` returned none.

        It is also called at the end of the rows, and at once if rows wait.
        """


_WAIT_S = 0.1


class PushedRows(Iterator[tuple[object, ...]]):
    """Iterates over the rows of a source up to a limit; closes the source after the last one."""

    def __init__(self, source: RowSource, limit: int | None = None) -> None:
        self._source = source
        self._left = limit
        self.limited = limit is not None
        """True if there is a limit."""
        self._rows: deque[tuple[object, ...]] = deque()
        self._ended = threading.Event()
        self._using = threading.Lock()
        self._closed = False
        self._token: str | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[object, ...]:
        if self._left == 0:
            self.close()
        while True:
            with self._using:
                if not self._rows and not self._ended.is_set():
                    self._take(_WAIT_S)
                rows = self._pop(1)
                ended = self._ended.is_set() and not self._rows
            if rows:
                return rows[0]
            if ended:
                raise StopIteration

    @property
    def ended(self) -> bool:
        """True after the last row."""
        return self._ended.is_set() or self._left == 0

    @property
    def waits_without_thread(self) -> bool:
        """True if `when_ready` can be used."""
        return isinstance(self._source, ContinuedSource)

    def arrived(self, timeout_s: float = 0.0) -> list[tuple[object, ...]]:
        """Return the rows that have arrived, or arrive within a time; up to a batch of records.

        After the last row of the limit, the source is closed.

        Raises:
            DuologError: the source has failed.
        """
        if self._left == 0:
            self.close()
        with self._using:
            if not self._rows and not self._closed:
                self._take(timeout_s)
            return self._pop(len(self._rows))

    def when_ready(self, call: Callable[[], None]) -> None:
        """Call a function, from any thread, when rows arrive after `arrived` returned none."""
        assert isinstance(self._source, ContinuedSource)
        self._source.when_ready(call)

    def token(self) -> str | None:
        """Return the text with which another query continues after the last row returned.

        None if queries of this kind cannot be continued.
        """
        with self._using:
            return self._token if self._closed else self._current_token()

    def close(self) -> None:
        """Stop the rows, even if another thread is waiting for one. Does nothing if closed."""
        self._ended.set()
        with self._using:
            self._end()

    def _pop(self, count: int) -> list[tuple[object, ...]]:
        """Remove up to `count` rows; close the source after the last one of the limit."""
        if self._left is not None:
            count = min(count, self._left)
        rows = [self._rows.popleft() for _ in range(min(count, len(self._rows)))]
        if self._left is not None and rows:
            self._left -= len(rows)
            if self._left == 0:
                self._ended.set()
                self._end()
        return rows

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            self._token = self._current_token()
            self._source.close()
        self._rows.clear()

    def _current_token(self) -> str | None:
        source = self._source
        return source.token(len(self._rows)) if isinstance(source, ContinuedSource) else None

    def _take(self, timeout_s: float) -> None:
        try:
            self._rows.extend(self._source.next_rows(timeout_s))
        except BaseException:
            # Ctrl-C too: a source that is no longer read must stop.
            self._ended.set()
            self._end()
            raise
