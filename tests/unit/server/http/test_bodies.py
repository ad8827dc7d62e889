"""Bodies of requests that are not answered yet."""

import asyncio
import json
from collections.abc import AsyncIterator

from duolog.server.http.routes import Endpoint
from duolog.server.messages import Request, Response, Streamed
from duolog.server.operations.context import ServerContext
from unit.registry.turns import turns, until
from unit.server.http.test_http1 import ECHO, LATE, post, run, with_deadline
from unit.server.memory import MemoryServer


def test_bodies_of_requests_that_wait_for_their_answer_share_the_limit() -> None:
    go = asyncio.Event()

    async def wait(request: Request, _context: ServerContext) -> Response:
        await go.wait()
        return Response(request.body, media_type="text/plain")

    async def fail(_request: Request, _context: ServerContext) -> Response:
        raise ZeroDivisionError

    async def drip(request: Request, _context: ServerContext) -> Streamed:
        async def rows() -> AsyncIterator[bytes]:
            yield request.body
            await go.wait()

        return Streamed(rows(), "text/plain")

    rows = (
        *ECHO,
        Endpoint("POST", "/wait", wait),
        Endpoint("POST", "/fail", fail),
        Endpoint("POST", "/drip", drip),
    )

    async def test() -> None:
        server = MemoryServer(limits=with_deadline(LATE, bodies_bytes_max=1500), endpoints=rows)
        waiting, dripping, other = (server.client() for _ in range(3))
        for _ in range(3):
            failed = await server.client().ask("POST", "/fail", b"f" * 1400)
            invalid = await server.client().ask("POST", "/echo?a=%ff", b"q" * 1400)
        waiting.send(post(b"x" * 600, path=b"/wait"))
        dripping.send(post(b"x" * 600, path=b"/drip"))
        await turns()
        refused = await other.ask("POST", "/echo", b"y" * 400)
        share = await other.ask("POST", "/echo", b"y" * 300)
        small = await server.client("10.0.0.2").ask("POST", "/echo", b"y" * 300)
        go.set()
        answered = await waiting.reply()
        await dripping.until(lambda: dripping.transport.written.endswith(b"0\r\n\r\n"))
        await until(lambda: server.context.counts.in_progress == 0)
        again = await other.ask("POST", "/echo", b"y" * 1400)

        assert (failed.status, invalid.status) == (500, 400)
        assert (refused.status, json.loads(refused.body)["error_code"]) == (503, 50300)
        assert (share.status, json.loads(share.body)["error_code"]) == (429, 42900)
        assert "You have 1200 of the server's 1500 bytes for the bodies" in share.body.decode()
        assert (small.status, answered.status, again.status) == (200, 200, 200)

    run(test())
