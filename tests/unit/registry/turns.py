"""Turns of an event loop, in which other tasks run."""

import asyncio
from collections.abc import Callable

from waiting import DEADLINE_S


async def turns(number: int = 1) -> None:
    """Let the loop turn."""
    for _ in range(number):
        await asyncio.sleep(0)


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop turn until `holds` returns true."""
    async with asyncio.timeout(DEADLINE_S):
        while not holds():
            await turns()
