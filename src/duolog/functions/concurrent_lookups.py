"""Concurrent look-ups of a worker, over several requests.

    begin(rows 1)   begin(rows 2)   …      the loop's thread: concurrently, up to the limit
    send(lines 1)   send(lines 2)   …      another thread: in the order of the requests

Source: `duolog.functions.worker`, the kernel's `PythonLookups`.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from duolog.functions.called import Called, Outcome

if TYPE_CHECKING:
    from concurrent.futures import Future


class ConcurrentLookups:
    """A function with concurrent look-ups over several requests. Threads: `begin` one at a time."""

    def __init__(
        self,
        called: Called,
        note: Callable[[int], None],
        send: Callable[[bytes], None],
        mark_worn: Callable[[], None],
    ) -> None:
        self._called = called
        self._loop = called.loop
        self._note = note
        self._send = send
        self._mark_worn = mark_worn
        self._begun: queue.SimpleQueue[Future[list[Outcome]]] = queue.SimpleQueue()
        for work in (self._loop.run_forever, self._answer):
            threading.Thread(target=_to_the_end, args=(work,), daemon=True).start()

    def begin(self, rows: bytes) -> None:
        """Start look-ups for `rows`, a JSON array of objects; their lines are sent in order."""
        found = self._called.all(self._called.given(rows), self._note)
        self._begun.put(asyncio.run_coroutine_threadsafe(found, self._loop))

    def _answer(self) -> None:
        while True:
            lines = self._called.encoded(self._begun.get().result())
            if self._called.is_worn:
                # Before the answer: its receiver must know that the process has to be replaced.
                self._mark_worn()
            self._send(lines)


def _to_the_end(work: Callable[[], None]) -> None:
    """Run as long as the process lives; if a function ends this thread, end the process."""
    try:
        work()
    finally:
        os._exit(1)
