"""Rows that arrive until they are closed.

Threads: one reads rows; any may call `close`, after which the reader gets no more rows.
"""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Protocol, Self


class RowSource(Protocol):
    """Source of rows; used by one thread at a time."""

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        """Return the rows that arrive within a time, possibly none.

        Raises:
            DuologError: the source has failed.
        """

    def close(self) -> None:
        """Stop the source."""


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

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[object, ...]:
        if self._left == 0:
            self.close()
        while not self._rows:
            if self._ended.is_set():
                raise StopIteration
            with self._using:
                if not self._closed:
                    self._take()
        row = self._rows.popleft()
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                self.close()
        return row

    def close(self) -> None:
        """Stop the rows, even if another thread is waiting for one. Does nothing if closed."""
        self._ended.set()
        with self._using:
            self._rows.clear()
            if not self._closed:
                self._closed = True
                self._source.close()

    def _take(self) -> None:
        try:
            self._rows.extend(self._source.next_rows(_WAIT_S))
        except BaseException:
            # Ctrl-C too: a source that is no longer read must stop.
            self._ended.set()
            self._closed = True
            self._source.close()
            raise
