"""Threads for what blocks: a bounded pool, with a bounded number of waiting calls.

Clients have their turns in it, and their shares of its places.

Thread: the event loop calls `run`; the functions run on the threads of the pool.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

from duolog.server.operations.fair_threads import FairThreads
from duolog.server.operations.shares import HOLDER, Shares

P = ParamSpec("P")
T = TypeVar("T")

_FEWER: Final = "End one, or select from the result of a persistent query."
_LATER: Final = "Wait for the answers to some of them before you send more."


class Workers:
    """A pool of threads that refuses work instead of collecting it."""

    def __init__(
        self, threads: int, waiting_max: int, *, reserved_max: int = 0, name: str = "statements"
    ) -> None:
        self._threads = FairThreads(threads, name)
        self._calls = Shares(
            threads + waiting_max,
            full="Too many statements are waiting to be executed",
            noun="places for statements that run or wait",
            hint=_LATER,
        )
        kinds = "push queries with joins, groups or windows, and PRINT"
        self._reserved = Shares(
            reserved_max,
            full=f"Too many queries are running: at most {reserved_max} {kinds}, run at once. "
            f"{_FEWER}",
            noun=f"places for {kinds}",
            hint=_FEWER,
        )

    @property
    def calls(self) -> int:
        """Calls that run or wait."""
        return self._calls.taken

    @property
    def waiting(self) -> int:
        """Calls that wait for a thread."""
        return self._threads.waiting

    @property
    def reserved(self) -> int:
        """Threads that are reserved."""
        return self._reserved.taken

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a function that blocks.

        If the caller is cancelled, a call that has not started does not run; one that runs
        continues to its end and counts until then.

        Raises:
            RequestRefused: too many calls wait, of all clients or of this one; or the error of the
                function.
        """
        give_back = self._calls.take()
        loop = asyncio.get_running_loop()
        future = self._threads.submit(HOLDER.get(), partial(function, *args, **kwargs))
        future.add_done_callback(lambda _: _call(loop, give_back))
        return await asyncio.wrap_future(future)

    def reserve(self) -> Callable[[], None]:
        """Reserve a thread for a series of long calls, of which one runs at a time.

        Returns what ends the reservation.

        Raises:
            RequestRefused: too many threads are reserved, for all clients or for this one.
        """
        return self._reserved.take()

    def close(self) -> None:
        """Drop the calls that wait; those that run end by themselves."""
        self._threads.close()


def _call(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
