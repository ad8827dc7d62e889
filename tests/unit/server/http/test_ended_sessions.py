"""Responses without an end, after the session of their client has ended."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from duolog.core.clock import SystemClock
from duolog.server.access.console_token import ConsoleToken
from duolog.server.http.routes import ENDPOINTS, Endpoint
from duolog.server.messages import Request, Streamed
from duolog.server.operations.context import ServerContext
from unit.server.memory import Access, Client, MemoryServer, context
from unit.server.users import ANN, access_with_users

ORIGIN = "http://127.0.0.1:8088"
TOKEN = "t" * 43


class Pieces:
    """Two pieces; the second when the test wants it."""

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type
        self.more = asyncio.Event()
        self.closed = asyncio.Event()

    async def answer(self, _request: Request, _context: ServerContext) -> Streamed:
        return Streamed(self._made(), self.media_type)

    async def _made(self) -> AsyncIterator[bytes]:
        try:
            yield b"first;"
            await self.more.wait()
            yield b"second;"
        finally:
            self.closed.set()


async def _by_token(_server: MemoryServer, client: Client) -> str:
    reply = await client.ask("POST", "/session", Origin=ORIGIN, Authorization=f"Bearer {TOKEN}")
    return reply.headers["set-cookie"].partition(";")[0]


async def _by_password(_server: MemoryServer, client: Client) -> str:
    reply = await client.ask("POST", "/session", Authorization=ANN)
    return reply.headers["set-cookie"].partition(";")[0]


@pytest.mark.parametrize("logs_out", [True, False])
@pytest.mark.parametrize("media_type", ["text/csv", "text/event-stream; charset=utf-8"])
@pytest.mark.parametrize("log_in", [_by_token, _by_password])
def test_nothing_is_sent_after_a_logout(
    log_in: Callable[[MemoryServer, Client], Awaitable[str]], media_type: str, *, logs_out: bool
) -> None:
    async def body() -> None:
        pieces = Pieces(media_type)
        rows = (*ENDPOINTS, Endpoint("GET", "/pieces", pieces.answer, guarded=True))
        users = log_in is _by_password
        token = ConsoleToken(TOKEN, SystemClock())
        access = access_with_users() if users else Access(console_token=token)
        server = MemoryServer(context(access), endpoints=rows)
        follower, other = server.client(), server.client()
        cookie = await log_in(server, other)

        follower.send(
            f"GET /pieces HTTP/1.1\r\nHost: 127.0.0.1:8088\r\nCookie: {cookie}\r\n\r\n".encode()
        )
        await follower.until(lambda: b"first;" in follower.transport.written)
        if logs_out:
            reply = await other.ask("DELETE", "/session", Cookie=cookie, Origin=ORIGIN)
            assert reply.status == 204
        pieces.more.set()
        written = follower.transport
        await follower.until(lambda: written.closed or written.written.endswith(b"\r\n0\r\n\r\n"))

        assert (b"second;" in written.written) == (not logs_out)
        # A file that is cut off must not look complete.
        is_cut = logs_out and media_type == "text/csv"
        assert written.written.endswith(b"\r\n0\r\n\r\n") == (not is_cut)
        await pieces.closed.wait()

    asyncio.run(body())
