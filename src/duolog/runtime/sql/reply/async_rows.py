"""Rows of push queries for clients of an event loop.

    async with AsyncRows(pushed) as batches:
        async for batch in batches:
            send(batch.rows, batch.token)

Rows of shared readers need no thread: the reader of the topic wakes the event loop. Rows of Spark
queries are waited for in threads of an executor, one short wait after the other.

Threads: that of one event loop.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeVar

from duolog.runtime.sql.reply.row_source import PushedRows

TOKEN_S: Final = 1.0
"""Shortest time between two tokens."""
_WAIT_S: Final = 0.1

T = TypeVar("T")


class PushedBatch(NamedTuple):
    """Rows, and the token to continue after them, if it is time for one."""

    rows: Sequence[tuple[object, ...]]
    token: str | None


class AsyncRows(AsyncIterator[PushedBatch]):
    """Iterates over the rows of a push query in batches; an async context manager that stops it.

    When the task of a client is cancelled, `async with` stops the query.

    Args:
        rows: the rows of the query.
        tokens: whether batches have continuation tokens: one before the first row, so that a client
            that loses its connection early misses nothing, at most one each second, and one at the
            end. A batch without rows has the token of earlier rows.
        executor: threads to wait in, if rows do not wake the event loop; default: the loop's.
    """

    def __init__(
        self, rows: PushedRows, *, tokens: bool = False, executor: Executor | None = None
    ) -> None:
        self._rows = rows
        self._tokens = tokens
        self._executor = executor
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._token_at = self._loop.time() - TOKEN_S
        self._owes_token = tokens
        self._ended = False
        if rows.waits_without_thread:
            rows.when_ready(self._wake)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def __anext__(self) -> PushedBatch:
        """Return the next rows.

        Raises:
            ClientTooSlow: the client did not read in time; `token` continues the query.
            DuologError: the query has failed.
        """
        while not self._ended:
            self._arrived.clear()
            rows = await self._next_rows()
            self._owes_token |= self._tokens and bool(rows)
            if self._rows.ended and not rows:
                self._ended = True
                if self._tokens:
                    return PushedBatch((), self.token)
            elif (token := self._due_token()) is not None or rows:
                return PushedBatch(rows, token)
            elif self._rows.waits_without_thread:
                await self._wait()
        raise StopAsyncIteration

    @property
    def token(self) -> str | None:
        """The token to continue after the rows returned so far, also after an error."""
        return self._rows.token()

    async def aclose(self) -> None:
        """Stop the query. Does nothing if it has ended."""
        self._arrived.set()
        if self._rows.waits_without_thread:
            self._rows.close()
        else:
            # Spark takes a while to stop; a client that has left does not wait for it.
            await asyncio.shield(self._in_thread(self._rows.close))

    async def _next_rows(self) -> Sequence[tuple[object, ...]]:
        if self._rows.waits_without_thread:
            return self._rows.arrived()
        return await self._in_thread(lambda: self._rows.arrived(_WAIT_S))

    def _in_thread(self, call: Callable[[], T]) -> asyncio.Future[T]:
        return self._loop.run_in_executor(self._executor, call)

    async def _wait(self) -> None:
        """Wait for rows, or for the time of a token."""
        until = self._token_at + TOKEN_S if self._owes_token else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._arrived.wait()

    def _due_token(self) -> str | None:
        """Return the token of rows that have none yet, if the last one is old enough."""
        now = self._loop.time()
        if not self._owes_token or now - self._token_at < TOKEN_S:
            return None
        self._token_at = now
        self._owes_token = False
        return self.token

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # The loop has been closed.
            self._loop.call_soon_threadsafe(self._arrived.set)
