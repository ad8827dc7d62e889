"""Requests that wait for a command, without a thread of their own.

    {"ksql": …, "commandSequenceNumber": 7}     runs when command 7 is known; else error 50301

Many may wait: they share one read of the command topic. Threads that waited would be missing for
the statements of other clients.

Thread: the event loop; the command topic is read on another one.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from duolog.core.errors import DuologError
from duolog.server.failures import Failure, commands_late, failure_of
from duolog.server.ksql.requests import StatementRequest

WAIT_S: Final = 5.0
"""Time to wait for a command, as in ksqlDB."""
_PAUSE_S: Final = 0.05


class Commands(Protocol):
    """The commands of a service; `SqlService` is one."""

    @property
    def last_command(self) -> int: ...
    def follow(self) -> None: ...


class CommandWaits:
    """The requests that wait for commands of one server.

    Args:
        commands: the commands of its service.
        ensure_runs: raises RequestRefused if the service is terminated.
        wait_s: time to wait.
    """

    def __init__(
        self, commands: Commands, ensure_runs: Callable[[], None], wait_s: float = WAIT_S
    ) -> None:
        self._commands = commands
        self._ensure_runs = ensure_runs
        self._wait_s = wait_s
        self._reading: asyncio.Future[None] | None = None

    async def wait_for(self, number: int) -> None:
        """Wait until a command is known.

        Raises:
            RequestRefused: it is not known in time, no broker answers, or the service is
                terminated.
        """
        self._ensure_runs()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._wait_s
        while self._commands.last_command < number:
            if loop.time() >= deadline:
                raise commands_late(number)
            try:
                await self._read()
            except DuologError as error:
                raise failure_of(error) from error
            if self._commands.last_command < number:
                await asyncio.sleep(_PAUSE_S)

    async def wait_as_asked(self, read: Callable[[], StatementRequest]) -> None:
        """Wait for the command that a request names, if any; raises as `wait_for`.

        Args:
            read: returns the request. Its errors are left to the endpoint.
        """
        try:
            number = read().command_number
        except Failure:
            return
        if number is not None:
            await self.wait_for(number)

    async def _read(self) -> None:
        """Read the command topic once, for all that wait."""
        if self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.run_in_executor(None, self._commands.follow)
            self._reading.add_done_callback(self._end)
        # A client that leaves must not end the read of the others.
        await asyncio.shield(self._reading)

    def _end(self, done: "asyncio.Future[None]") -> None:
        self._reading = None
        if not done.cancelled():
            done.exception()  # Noted: all that have waited may have left.
