"""Threads for blocking look-ups: a thread that hangs is abandoned, and another takes its place.

    call -> a free thread, or a new one -> free again when the function returns
            cancelled before that: it counts as hung until the function returns after all

The caller limits the number of concurrent calls. Threads: only the loop's.
"""

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable, Sequence

Returned = tuple[object, BaseException | None]
"""The result of a function, or its error."""
Work = tuple[asyncio.Future[Returned], Callable[..., object], Sequence[object]]


class Threads:
    """Daemon threads: the process can end while some of them hang."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._process = os.getpid()
        self._free: list[queue.SimpleQueue[Work]] = []
        self.hung = 0
        """The number of threads that have not returned from a cancelled call."""

    async def call(self, function: Callable[..., object], arguments: Sequence[object]) -> object:
        """Return the result of a function, called in a thread."""
        done: asyncio.Future[Returned] = self._loop.create_future()
        work = self._free.pop() if self._free else self._started()
        work.put((done, function, arguments))
        try:
            found, error = await done
        except asyncio.CancelledError:
            self.hung += 1
            raise
        if error is not None:
            raise error
        return found

    def _started(self) -> "queue.SimpleQueue[Work]":
        work: queue.SimpleQueue[Work] = queue.SimpleQueue()
        threading.Thread(target=self._serve, args=(work,), daemon=True).start()
        return work

    def _serve(self, work: "queue.SimpleQueue[Work]") -> None:
        while True:
            done, function, arguments = work.get()
            found: Returned
            try:
                found = function(*arguments), None
            except BaseException as error:  # noqa: BLE001 - who waits for it raises it
                found = None, error
            if os.getpid() != self._process:
                os._exit(0)  # Forked by the function: the loop is that of another process.
            with contextlib.suppress(RuntimeError):  # The loop is closed: no caller waits any more.
                self._loop.call_soon_threadsafe(self._returned, work, done, found)

    def _returned(
        self, work: "queue.SimpleQueue[Work]", done: asyncio.Future[Returned], found: Returned
    ) -> None:
        if done.cancelled():
            self.hung -= 1
        else:
            done.set_result(found)
        self._free.append(work)
