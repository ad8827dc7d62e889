"""Threads for what blocks: a bounded pool, with a bounded number of waiting calls.

Thread: the event loop calls `run`; the functions run on the threads of the pool.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from duolog.server.errors import OVERLOADED, RequestRefused

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """A pool of threads that refuses work instead of collecting it."""

    def __init__(
        self, threads: int, waiting_max: int, *, reserved_max: int = 0, name: str = "statements"
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads + waiting_max
        self._reserved_max = reserved_max
        self._reserved = 0
        self.calls = 0
        """Calls that run or wait."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a function that blocks.

        If the caller is cancelled, a call that has not started does not run; one that runs
        continues to its end and counts until then.

        Raises:
            RequestRefused: too many calls wait, or the error of the function.
        """
        if self.calls >= self._most:
            raise RequestRefused("Too many statements are waiting to be executed", OVERLOADED)
        self.calls += 1
        loop = asyncio.get_running_loop()
        future = self._pool.submit(partial(function, *args, **kwargs))
        future.add_done_callback(lambda _: _call(loop, self._done))
        return await asyncio.wrap_future(future)

    def reserve(self) -> None:
        """Reserve a thread for a series of long calls, of which one runs at a time.

        Raises:
            RequestRefused: too many threads are reserved.
        """
        if self._reserved >= self._reserved_max:
            raise RequestRefused(
                f"Too many queries are running: at most {self._reserved_max} push queries with "
                "joins, groups or windows, and PRINT, run at once. End one, or select from the "
                "result of a persistent query.",
                OVERLOADED,
            )
        self._reserved += 1

    def release(self) -> None:
        """End a reservation."""
        self._reserved -= 1

    def close(self) -> None:
        """Drop the calls that wait; those that run end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _done(self) -> None:
        self.calls -= 1


def _call(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
