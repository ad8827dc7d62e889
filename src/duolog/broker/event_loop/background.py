"""Work beside the loop: what takes long, and what nobody waits for.

The files of a deleted topic are removed here: a gigabyte takes a file system a tenth of a second.

Threads: one, started at the first call. `run` and `close` belong to the loop.
"""

import logging
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

logger = logging.getLogger(__name__)


class BackgroundThread:
    """Runs functions one after the other on a thread of its own."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def run(self, call: Callable[[], None]) -> None:
        """Run `call` when those before it are done; an error is logged, and that is all."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="background", daemon=True)
            self._thread.start()
        self._calls.put(call)

    def close(self) -> None:
        """Return when all is done."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except OSError as error:
                logger.warning("work beside the loop failed", extra={"error": str(error)})
            except Exception:  # The edge of the thread: the work behind this one must go on.
                logger.exception("work beside the loop failed")
