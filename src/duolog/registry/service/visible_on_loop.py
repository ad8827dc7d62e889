"""Rights of a client, asked from another thread: they are decided on the event loop."""

import asyncio
from collections.abc import Callable
from typing import Final

from duolog.registry.access.client import Client

_ANSWER_S: Final = 60.0


class VisibleOnLoop:
    """The topics and groups that one client may see."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop

    def may_read_topic(self, topic: str) -> bool:
        """Return whether the client may see the records of a topic."""
        return self._decided(lambda: self._client.may_read_topic(topic))

    def may_see_group(self, group: str) -> bool:
        """Return whether the client may see a consumer group."""
        return self._decided(lambda: self._client.may_see_group(group))

    def _decided(self, decide: Callable[[], bool]) -> bool:
        async def answer() -> bool:
            return decide()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(_ANSWER_S)
