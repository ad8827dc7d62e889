"""Look-ups of a worker that are under way while others are asked for.

    begin(rows 1)   begin(rows 2)   …      the loop's thread: all at once, up to the limit
    tell(lines 1)   tell(lines 2)   …      another thread: in the order in which they were begun

Source: `duolog.functions.worker`, the kernel's `PythonLookups`.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from duolog.functions.called import Called

if TYPE_CHECKING:
    from concurrent.futures import Future


class SideBySide:
    """A function whose look-ups wait beside each other, over several requests. Threads: `begin` one at a time."""

    def __init__(
        self,
        called: Called,
        note: Callable[[int], None],
        tell: Callable[[bytes], None],
        wear_out: Callable[[], None],
    ) -> None:
        self._called = called
        self._loop = called.loop
        self._note = note
        self._tell = tell
        self._wear_out = wear_out
        self._begun: queue.SimpleQueue[Future[list[Any]]] = queue.SimpleQueue()
        for work in (self._loop.run_forever, self._answer):
            threading.Thread(target=_to_the_end, args=(work,), daemon=True).start()

    def begin(self, rows: bytes) -> None:
        """Look up for `rows`, a JSON array of objects; their lines are told when those of all before have been."""
        found = self._called.all(self._called.given(rows), self._note)
        self._begun.put(asyncio.run_coroutine_threadsafe(found, self._loop))

    def _answer(self) -> None:
        while True:
            told = self._called.told(self._begun.get().result())
            if self._called.is_worn:
                # Ahead of the answer: who has that knows that the process is of no more use.
                self._wear_out()
            self._tell(told)


def _to_the_end(work: Callable[[], None]) -> None:
    """Work as long as the process lives: a function that ends its thread ends the process, as any other function does."""
    try:
        work()
    finally:
        os._exit(1)
