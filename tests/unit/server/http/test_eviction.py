"""A full server makes room: which connections are closed, and which are served."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from duolog.core.units import KIB
from duolog.server.http.routes import Endpoint
from duolog.server.limits import Limits
from duolog.server.messages import Request, Response, Streamed
from duolog.server.operations.context import ServerContext
from unit.registry.turns import turns, until
from unit.server.http.test_http1 import ECHO, LATE, post, run, with_deadline
from unit.server.http.test_http2 import Client2
from unit.server.memory import Client, MemoryServer

HOSTILE = "10.0.0.9"


class Held:
    """An endpoint that answers when it is released."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.waiting = 0

    async def __call__(self, _request: Request, _context: ServerContext) -> Response:
        self.waiting += 1
        await self.released.wait()
        return Response(b"held", media_type="text/plain")


async def stream(_request: Request, _context: ServerContext) -> Streamed:
    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 256 * KIB + b"\n"
            await turns()

    return Streamed(pieces(), "text/plain")


def serve(held: Held | None = None, limits: Limits = LATE, **changed: float) -> MemoryServer:
    rows = (
        *ECHO,
        Endpoint("GET", "/stream", stream),
        Endpoint("GET", "/held", held or Held()),
    )
    return MemoryServer(limits=with_deadline(limits, **changed), endpoints=rows)


async def kept(client: Client) -> None:
    """Answer a request of a client, so that its connection is idle."""
    assert (await client.ask("POST", "/echo", b"x")).status == 200


def test_a_full_server_closes_the_oldest_connection_of_the_host_with_the_most() -> None:
    async def test() -> None:
        server = serve(connections_max=4)
        honest = server.client()
        first, second, third = (server.client(HOSTILE) for _ in range(3))
        newest = server.client("10.0.0.8")

        await first.closed()
        assert not any(one.transport.closed for one in (honest, second, third, newest))

        server.client(HOSTILE)
        await second.closed()
        assert not any(one.transport.closed for one in (honest, third, newest))

    run(test())


def test_silent_connections_of_many_hosts_do_not_close_those_that_have_asked() -> None:
    async def test() -> None:
        server = serve(connections_max=6)
        honest = server.client()
        await kept(honest)
        for number in range(50):
            server.client(f"10.0.0.{number}")
        await turns(3)

        await kept(honest)
        assert server.context.counts.evicted == 45

    run(test())


def test_a_host_with_many_connections_closes_none_of_a_host_with_few() -> None:
    """A new connection was the only one that could be closed while all others were busy."""

    async def test() -> None:
        held = Held()
        server = serve(held, connections_max=4)
        for _ in range(3):
            server.client(HOSTILE).send(b"GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await until(lambda: held.waiting == 3)
        honest = server.client()
        for _ in range(5):
            assert (await server.client(HOSTILE).reply()).status == 503

        await kept(honest)
        held.released.set()

    run(test())


def test_idle_connections_of_many_hosts_do_not_close_new_ones() -> None:
    async def test() -> None:
        server = serve(connections_max=6)
        new = server.client()
        for number in range(50):
            await kept(server.client(f"10.0.0.{number}"))

        await kept(new)

    run(test())


def test_a_request_whose_body_does_not_come_makes_room_for_a_connection() -> None:
    async def test() -> None:
        server = serve(connections_max=2)
        halves = [server.client(HOSTILE) for _ in range(2)]
        for half in halves:
            half.send(post(b"x", length=2))

        await kept(server.client())

        assert halves[0].transport.closed
        halves[1].send(b"y")
        assert (await halves[1].reply()).body == b"xy"

    run(test())


def test_a_client_that_does_not_read_its_response_makes_room_for_a_connection() -> None:
    async def test() -> None:
        server = serve(connections_max=2)
        reader, other = server.client(HOSTILE), server.client(HOSTILE)
        for one in (reader, other):
            one.send(b"GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await one.until(lambda one=one: bool(one.transport.written))  # type: ignore[misc]
            one.transport.protocol.pause_writing()
        reader.transport.protocol.resume_writing()

        await kept(server.client())

        assert other.transport.closed
        assert not reader.transport.closed
        reader.transport.abort()

    run(test())


def test_requests_that_are_being_answered_are_never_closed() -> None:
    async def test() -> None:
        held = Held()
        server = serve(held, connections_max=2)
        busy = [server.client(HOSTILE) for _ in range(2)]
        for one in busy:
            one.send(b"GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await until(lambda: held.waiting == 2)
        refused = server.client()
        reply = await refused.reply()
        held.released.set()

        assert (reply.status, json.loads(reply.body)["error_code"]) == (503, 50300)
        assert refused.transport.closed
        for one in busy:
            assert (await one.reply()).body == b"held"

    run(test())


def test_a_body_that_does_not_come_makes_room_for_a_request() -> None:
    async def test() -> None:
        server = serve(requests_max=2)
        halves = [server.client(f"10.0.0.{number}") for number in range(2)]
        for half in halves:
            half.send(post(b"x", length=2, path=b"/count"))
            await turns(3)

        answered = await server.client().ask("POST", "/count", b"xyz")

        assert (answered.status, answered.body) == (200, b"3")
        assert [half.transport.closed for half in halves] == [True, False]

    run(test())


@pytest.mark.parametrize("end", [False, True], ids=["half", "whole"])
def test_streams_of_http2_whose_bodies_do_not_come_make_room(
    end: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    async def test() -> None:
        held = Held()
        server = serve(held, connections_max=1)
        client = Client2(server)
        client.ask("POST", "/echo", ("content-length", "2"), end=False)
        if end:
            client.ask("GET", "/held")
            await until(lambda: held.waiting == 1)
        await turns(3)

        other = server.client()

        if end:
            assert (await other.reply()).status == 503
        else:
            await client.raw.closed()
            await kept(other)

    run(test())


def test_a_client_of_http2_that_opens_no_window_makes_room() -> None:
    async def test() -> None:
        server = serve(connections_max=1)
        client = Client2(server)
        client.reads = False
        client.ask("GET", "/stream")
        await client.raw.until(lambda: len(client.raw.transport.written) > 60 * KIB)
        await turns(20)

        await kept(server.client())

        assert client.raw.transport.closed

    run(test())
