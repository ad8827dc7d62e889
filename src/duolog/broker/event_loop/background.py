"""Run work off the event loop if it takes long, or if no request waits for it.

The files of deleted topics are removed here: a file system takes 0.1 s to delete a gigabyte.

Threads: one, started at the first call. `run` and `close` belong to the loop.
"""

import logging
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Loop

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class BackgroundThread:
    """Runs functions one after the other on a thread of its own."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def run(self, call: Callable[[], None]) -> None:
        """Run `call` after all earlier ones; an error is only logged."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="background", daemon=True)
            self._thread.start()
        self._calls.put(call)

    def close(self) -> None:
        """Wait until all calls are done, then end the thread."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except OSError as error:
                logger.warning("background work failed", extra={"error": str(error)})
            except Exception:  # The edge of the thread: the remaining work must continue.
                logger.exception("background work failed")


class BesideTheLoop:
    """Runs computations that would block the event loop on a thread; results go to the loop."""

    def __init__(self, loop: "Loop") -> None:
        self._loop = loop
        self._thread = BackgroundThread()

    def call(
        self,
        compute: Callable[[], Result],
        done: Callable[[Result | None, Exception | None], None],
    ) -> None:
        """Call `compute` on the thread, then `done` on the loop with its result or exception."""

        def work() -> None:
            result, error = None, None
            try:
                result = compute()
            except Exception as cause:  # noqa: BLE001  The edge of the thread: the loop hears of it.
                error = cause
            self._loop.call_soon_threadsafe(lambda: done(result, error))

        self._thread.run(work)

    def close(self) -> None:
        self._thread.close()
