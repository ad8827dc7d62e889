"""The health of the cluster: one probe for all requests of a second.

Anyone may ask for it, so that many requests must not become many requests to the broker.

Thread: the event loop; the probe runs on a thread of its own, one at a time.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from duolog.core.clock import Clock

REMEMBER_S: Final = 1.0


class BrokerHealth:
    """The last answer of a probe.

    Args:
        probe: returns whether a broker answers; it may block, and raises nothing.
    """

    def __init__(self, probe: Callable[[], bool], clock: Clock) -> None:
        self._probe = probe
        self._clock = clock
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="health")
        self._asked_at = -float("inf")
        self._answer: asyncio.Future[bool] | None = None

    async def healthy(self) -> bool:
        """Return whether a broker answers, as of at most a second ago."""
        now = self._clock.monotonic()
        answer = self._answer
        if answer is None or (answer.done() and now - self._asked_at >= REMEMBER_S):
            loop = asyncio.get_running_loop()
            answer = self._answer = loop.run_in_executor(self._pool, self._probe)
            self._asked_at = now
        # A client that leaves must not cancel the probe of the others.
        return await asyncio.shield(answer)

    def close(self) -> None:
        """End the thread, without waiting for a probe."""
        self._pool.shutdown(wait=False, cancel_futures=True)
