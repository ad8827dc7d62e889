"""Followers and exports of topics have few places: each has the threads of a Kafka client."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from duolog.server.access.client import NOBODY
from duolog.server.errors import OVERLOADED, TOO_MANY_REQUESTS, RequestRefused
from duolog.server.limits import DEFAULT_LIMITS
from duolog.server.messages import Streamed
from duolog.server.operations import topic_records
from duolog.server.operations.shares import HOLDER
from unit.server.memory import context

MOST = DEFAULT_LIMITS.topic_readers_max
Operation = Callable[[Any, Any], Awaitable[Streamed]]


class Reader:
    """A follower or an export that never has a piece."""

    open_now = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def open(self) -> None:
        Reader.open_now += 1

    def next(self) -> None:
        return None

    def close(self) -> None:
        Reader.open_now -= 1


@pytest.mark.parametrize("operation", [topic_records.live_records, topic_records.export_records])
def test_places_of_readers_are_few_and_given_back(
    operation: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    Reader.open_now = 0
    monkeypatch.setattr(topic_records, "LiveTail", Reader)
    monkeypatch.setattr(topic_records, "Export", Reader)
    monkeypatch.setattr(topic_records, "ensure_service", lambda _: None)

    asyncio.run(_fill(operation))

    assert Reader.open_now == 0


async def _fill(operation: Operation) -> None:
    given, codes = context(), set()
    kind: Any = type("Request", (), {"query": {}, "path": {"topic": "t"}, "client": NOBODY})
    opened: list[Any] = []
    for holder in range(5):
        HOLDER.set(f"address 10.0.0.{holder}")
        for _ in range(MOST + 1):
            try:
                opened.append((await operation(kind(), given)).pieces)
            except RequestRefused as refused:
                codes.add(refused.code)

    assert Reader.open_now == len(opened) <= MOST
    assert codes & {TOO_MANY_REQUESTS, OVERLOADED}

    for one in opened:
        await one.aclose()
    await operation(kind(), given)
    assert given.topic_readers.taken == 1
    Reader.open_now -= 1
