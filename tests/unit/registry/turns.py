"""Wait on an event loop for something that its next turns bring about."""

import asyncio
from collections.abc import Callable

from waiting import DEADLINE_S


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop turn until `holds` returns true."""
    async with asyncio.timeout(DEADLINE_S):
        while not holds():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0)
