"""Events of the server: their form, what wakes them, and their ends."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from duolog.core.errors import KafkaError
from duolog.server.access.client import NOBODY
from duolog.server.errors import RequestRefused
from duolog.server.messages import Request, Streamed
from duolog.server.operations import changes, events
from duolog.server.operations.changes import Changes
from duolog.server.operations.workers import Workers
from unit.server.memory import context
from waiting import DEADLINE_S


class State:
    """The parts of a server that its digests are made of."""

    def __init__(self) -> None:
        self.now = {"catalog": "0", "queries": "a", "topics": "x"}
        self.looked = asyncio.Semaphore(0)
        self.loop = asyncio.get_running_loop()
        self.error: Exception | None = None

    def digests(self) -> dict[str, str]:
        self.loop.call_soon_threadsafe(self.looked.release)
        if self.error is not None:
            raise self.error
        return dict(self.now)

    async def look(self) -> None:
        """Wait for two more looks: the second began after the first had ended."""
        async with asyncio.timeout(DEADLINE_S):
            await self.looked.acquire()
            await self.looked.acquire()


def server(state: State) -> Any:
    workers = Workers(2, 2)
    return context(changes=Changes(state.digests, workers, every_s=0.001))


async def opened(found: Any) -> AsyncIterator[bytes]:
    streamed = await events.events(Request(NOBODY), found)
    assert isinstance(streamed, Streamed)
    assert streamed.media_type.startswith("text/event-stream")
    assert ("Cache-Control", "no-store") in streamed.headers
    return streamed.pieces


async def following(lines: AsyncIterator[bytes]) -> tuple[str, Any]:
    async with asyncio.timeout(DEADLINE_S):
        text = (await anext(lines)).decode()
    assert text.endswith("\n\n")
    kind, data = text.strip().split("\n")
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_a_page_hears_which_build_runs_and_then_what_has_changed() -> None:
    async def run() -> None:
        state = State()
        lines = await opened(server(state))
        kind, hello = await following(lines)
        assert (kind, hello["version"]) == ("hello", "1.2.3")
        await state.look()

        state.now["queries"] = "b"
        assert await following(lines) == ("changed", {"changed": ["queries"]})
        state.now.update(catalog="7", topics="y")
        first = await following(lines)
        named = set(first[1]["changed"])
        while named != {"catalog", "topics"}:
            named |= set((await following(lines))[1]["changed"])

    asyncio.run(run())


def test_every_page_hears_of_a_change() -> None:
    async def run() -> None:
        state = State()
        found = server(state)
        pages = [await opened(found) for _ in range(3)]
        for lines in pages:
            await following(lines)
        await state.look()

        state.now["topics"] = "y"

        assert [await following(lines) for lines in pages] == [
            ("changed", {"changed": ["topics"]})
        ] * 3

    asyncio.run(run())


def test_a_broker_that_is_away_ends_no_page_and_changes_are_seen_when_it_is_back() -> None:
    async def run() -> None:
        state = State()
        lines = await opened(server(state))
        await following(lines)
        await state.look()
        state.error = KafkaError("no broker answers", code=-1)
        await state.look()

        state.error, state.now["queries"] = None, "b"

        assert await following(lines) == ("changed", {"changed": ["queries"]})

    asyncio.run(run())


def test_without_listeners_nothing_is_asked() -> None:
    async def run() -> None:
        state = State()
        found = server(state)
        lines = await opened(found)
        await following(lines)
        await state.look()

        await lines.aclose()  # type: ignore[attr-defined]

        assert found.changes.listeners == 0
        assert found.changes._watching is None  # noqa: SLF001 - nothing shows it otherwise

    asyncio.run(run())


def test_a_quiet_server_sends_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.001)

    async def run() -> None:
        lines = await opened(server(State()))
        await following(lines)

        assert [await anext(lines) for _ in range(3)] == [b": heartbeat\n\n"] * 3

    asyncio.run(run())


def test_the_events_end_with_the_server() -> None:
    async def run() -> None:
        found = server(State())
        lines = await opened(found)
        await following(lines)

        found.stopping.set()

        async with asyncio.timeout(DEADLINE_S):
            rest = [line async for line in lines]
        assert rest in ([], [b": heartbeat\n\n"])
        assert found.changes.listeners == 0

    asyncio.run(run())


def test_the_events_end_after_a_while_so_that_the_login_is_checked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "LIFE_S", 0.0)

    async def run() -> None:
        lines = await opened(server(State()))

        assert [line.split(b"\n")[0] async for line in lines] == [b"event: hello"]

    asyncio.run(run())


def test_more_pages_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "LISTENERS_MAX", 2)

    async def run() -> None:
        found = server(State())
        first, second = found.changes.listen(), found.changes.listen()

        with pytest.raises(RequestRefused, match="at most 2"):
            found.changes.listen()
        first.close()
        found.changes.listen().close()
        second.close()

    asyncio.run(run())
