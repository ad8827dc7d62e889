"""A follower of a topic is sent nothing after its right to read it ends."""

import asyncio
import json
from typing import Any

from duolog.server.errors import FORBIDDEN, RequestRefused
from duolog.server.topics.live import LiveEvents


class Tail:
    """Has an event at each call."""

    closed = False

    def next(self) -> dict[str, Any]:
        return {"records": ["secret"]}

    def close(self) -> None:
        self.closed = True


async def direct(call: Any) -> Any:
    return call()


def test_a_follower_is_refused_when_its_right_ends() -> None:
    asyncio.run(_follow())


async def _follow() -> None:
    may, ended = [True], []
    tail: Any = Tail()

    def ensure() -> None:
        if not may[0]:
            raise RequestRefused("You may not", FORBIDDEN)

    events = LiveEvents(tail, direct, lambda: ended.append(1), asyncio.Event(), ensure)

    first = await anext(events)
    may[0] = False
    rest = [one async for one in events]
    await events.aclose()

    assert first.startswith(b"event: records\n")
    (last,) = rest
    assert last.startswith(b"event: failed\n")
    assert json.loads(last.partition(b"data: ")[2])["error_code"] == FORBIDDEN
    assert (tail.closed, ended) == (True, [1])
