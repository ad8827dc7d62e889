"""A full registry makes room: the connections that wait for their clients."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from duolog.registry.http.messages import HttpRequest, HttpResponse
from duolog.registry.http.protocol import HttpConnection
from duolog.registry.http.server import HttpServer
from unit.registry.http.connections import MemoryTransport
from unit.registry.turns import turns
from waiting import DEADLINE_S

GET = b"GET /subjects HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Registry:
    """A server whose answers wait until `open` is set."""

    def __init__(self, connections_max: int) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.server = HttpServer(self._answer, connections_max=connections_max)

    async def _answer(self, _request: HttpRequest) -> HttpResponse:
        await self.open.wait()
        return HttpResponse(200, b"[]")

    def client(self) -> "Client":
        return Client(self)


class Client:
    """One connection."""

    def __init__(self, registry: Registry) -> None:
        self.transport = Transport()
        self.connection = HttpConnection(registry._answer, registry.server)  # noqa: SLF001
        self.transport.lost = self.connection.connection_lost
        self.connection.connection_made(self.transport)

    async def ask(self) -> bytes:
        self.connection.data_received(GET)
        await turns(20)
        written, self.transport.written = self.transport.written, b""
        return written

    @property
    def closed(self) -> bool:
        return self.transport.closed


class Transport(MemoryTransport):
    """Reports that it was aborted."""

    lost: Callable[[None], None]

    def abort(self) -> None:
        super().abort()
        asyncio.get_running_loop().call_soon(self.lost, None)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_silent_clients_make_room_for_new_ones_and_not_those_that_have_asked() -> None:
    async def scenario() -> None:
        registry = Registry(connections_max=4)
        known = registry.client()
        assert (await known.ask()).startswith(b"HTTP/1.1 200 ")
        silent = [registry.client() for _ in range(20)]
        new = registry.client()

        assert (await new.ask()).startswith(b"HTTP/1.1 200 ")
        assert (await known.ask()).startswith(b"HTTP/1.1 200 ")
        assert [one.closed for one in silent] == [True] * 18 + [False] * 2
        assert registry.server.evicted == 18

    run(scenario)


def test_a_client_that_does_not_read_makes_room() -> None:
    async def scenario() -> None:
        registry = Registry(connections_max=1)
        slow = registry.client()
        slow.transport.full = slow.connection.pause_writing
        await slow.ask()

        new = registry.client()

        assert slow.closed
        assert (await new.ask()).startswith(b"HTTP/1.1 200 ")

    run(scenario)


def test_a_client_that_reads_again_is_answered_and_not_closed() -> None:
    async def scenario() -> None:
        registry = Registry(connections_max=1)
        slow = registry.client()
        await slow.ask()
        registry.open.clear()
        assert await slow.ask() == b""
        slow.connection.pause_writing()
        slow.connection.resume_writing()

        refused = registry.client()
        assert refused.transport.written.startswith(b"HTTP/1.1 503 ")
        registry.open.set()
        await turns(20)

        assert slow.transport.written.startswith(b"HTTP/1.1 200 ")
        assert not slow.closed

    run(scenario)
