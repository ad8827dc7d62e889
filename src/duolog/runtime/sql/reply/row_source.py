"""Rows that come until somebody ends them.

Thread rule: one thread takes rows; any may `close`, and then the one that waits gets no more.
"""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Protocol, Self


class RowSource(Protocol):
    """Where rows come from; used by one thread at a time."""

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        """Return what has come, perhaps nothing, after a time at most.

        Raises:
            DuologError: nothing more will come.
        """

    def close(self) -> None:
        """End what makes the rows."""


_WAIT_S = 0.1


class PushedRows(Iterator[tuple[object, ...]]):
    """The rows of a source, as far as a limit goes; the source is closed behind the last one."""

    def __init__(self, source: RowSource, limit: int | None = None) -> None:
        self._source = source
        self._left = limit
        self.limited = limit is not None
        """Whether the rows end by themselves."""
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
        """End the rows, also while another thread waits for one. Does nothing when closed."""
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
            # Ctrl-C too: who is asked no more must not go on.
            self._ended.set()
            self._closed = True
            self._source.close()
            raise
