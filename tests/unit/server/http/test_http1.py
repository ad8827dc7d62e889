"""HTTP/1.1: one request after another, and the limits of slow, large and rude clients."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from duolog.server.http.routes import ENDPOINTS, Endpoint
from duolog.server.limits import Limits
from duolog.server.messages import Request, Response, Streamed
from duolog.server.operations.context import ServerContext
from unit.registry.turns import turns
from unit.server.memory import MemoryServer, context
from waiting import DEADLINE_S

HEAD = b"Host: 127.0.0.1\r\n"
SOON = 0.02
"""A limit of time that a test waits for; all others are longer than the test may take."""
LATE = Limits(idle_s=1e6, head_s=1e6, body_s=1e6, write_s=1e6, linger_s=SOON)


async def echo(request: Request, _context: ServerContext) -> Response:
    return Response(request.body, media_type="text/plain")


async def count_pieces(request: Request, _context: ServerContext) -> Response:
    size = 0
    async for piece in request.pieces:
        size += len(piece)
    return Response(str(size).encode(), media_type="text/plain")


ECHO = (
    Endpoint("POST", "/echo", echo, public=True),
    Endpoint("POST", "/count", count_pieces, in_pieces=True),
)


def serve(limits: Limits = LATE) -> MemoryServer:
    return MemoryServer(limits=limits, endpoints=ECHO)


def post(body: bytes, length: int | None = None, path: bytes = b"/echo") -> bytes:
    size = len(body) if length is None else length
    return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (path, HEAD, size, body)


def with_deadline(limits: Limits, **changed: float) -> Limits:
    fields = {name: getattr(limits, name) for name in limits.__dataclass_fields__}
    return Limits(**{**fields, **changed})


def run(test: object) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await test  # type: ignore[misc]

    asyncio.run(bounded())


def test_requests_of_one_connection_are_answered_in_order() -> None:
    async def test() -> None:
        client = serve().client()
        client.send(post(b"one") + post(b"two"))

        assert [(await client.reply()).body, (await client.reply()).body] == [b"one", b"two"]
        assert not client.transport.closed

    run(test())


def test_a_request_may_arrive_byte_by_byte() -> None:
    async def test() -> None:
        client = serve().client()
        for byte in post(b"hello"):
            client.send(bytes([byte]))

        assert (await client.reply()).body == b"hello"

    run(test())


def test_headers_that_do_not_end_in_time_close_the_connection() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, head_s=SOON)).client()
        client.send(b"POST /echo HTTP/1.1\r\nHost")

        await client.closed()

    run(test())


def test_the_first_bytes_of_the_preface_of_http2_have_the_same_time() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, head_s=SOON)).client()
        client.send(b"PRI * HT")

        await client.closed()

    run(test())


def test_headers_of_a_later_request_have_the_same_time() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, head_s=SOON)).client()
        client.send(post(b"one"))
        await client.reply()
        assert not client.transport.closed

        client.send(b"P")
        await client.closed()

    run(test())


@pytest.mark.parametrize("sent", [b"", post(b"one")])
def test_a_connection_without_a_request_is_closed(sent: bytes) -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, idle_s=SOON)).client()
        if sent:
            client.send(sent)
            assert (await client.reply()).status == 200

        await client.closed()

    run(test())


def test_a_body_that_does_not_end_in_time_is_refused() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, body_s=SOON, head_s=SOON)).client()
        client.send(post(b"abc", length=10))
        reply = await client.reply()

        assert (reply.status, json.loads(reply.body)["error_code"]) == (408, 40800)
        await client.closed()

    run(test())


def test_a_body_of_a_gigabyte_is_refused_by_its_length_before_it_is_sent() -> None:
    async def test() -> None:
        client = serve().client()
        client.send(post(b"", length=1_000_000_000))
        reply = await client.reply()

        assert (reply.status, json.loads(reply.body)["error_code"]) == (413, 41300)

    run(test())


def test_a_client_that_expects_100_is_refused_without_it() -> None:
    async def test() -> None:
        client = serve().client()
        head = HEAD + b"Expect: 100-continue\r\n"
        client.send(b"POST /echo HTTP/1.1\r\n%bContent-Length: 99999999\r\n\r\n" % head)

        assert (await client.reply()).status == 413

    run(test())


def test_a_body_without_a_length_is_refused_as_soon_as_it_is_too_large() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, body_bytes_max=1000)).client()
        head = b"POST /echo HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n\r\n" % HEAD
        client.send(head + b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        await turns()
        assert not client.transport.written
        client.send(b"1\r\nx\r\n")

        assert (await client.reply()).status == 413

    run(test())


def test_the_rest_of_a_refused_body_is_dropped_and_then_the_connection_serves_again() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, body_bytes_max=1000)).client()
        client.send(post(b"x" * 500, length=200_000))
        assert (await client.reply()).status == 413
        for _ in range(199):
            client.send(b"x" * 1000)
        client.send(b"x" * 500 + post(b"next"))

        assert (await client.reply()).body == b"next"

    run(test())


def test_a_client_that_does_not_end_a_refused_body_is_disconnected() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, head_s=SOON)).client()
        client.send(post(b"x" * 500, length=99_999_999))
        assert (await client.reply()).status == 413

        await client.closed()

    run(test())


def test_a_refused_body_that_has_ended_leaves_the_connection_open() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, head_s=SOON, body_bytes_max=10)).client()
        client.send(post(b"x" * 5, length=20))
        assert (await client.reply()).status == 413
        client.send(b"x" * 15)
        late = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(3 * SOON, late.set_result, None)
        await late

        assert not client.transport.closed

    run(test())


def test_bodies_of_all_connections_share_a_limit() -> None:
    async def test() -> None:
        server = serve(with_deadline(LATE, bodies_bytes_max=1500))
        first, second = server.client(), server.client()
        first.send(post(b"x" * 900, length=901))
        await turns()
        second.send(post(b"x" * 1000))
        refused = await second.reply()
        first.send(b"x")
        answered = await first.reply()
        again = await second.ask("POST", "/echo", b"y" * 1400)

        assert (refused.status, json.loads(refused.body)["error_code"]) == (503, 50300)
        assert (answered.status, again.status) == (200, 200)

    run(test())


def test_a_body_in_pieces_may_be_larger_than_any_limit() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, body_bytes_max=10, bodies_bytes_max=10)).client()
        client.send(post(b"x" * 500, length=1000, path=b"/count"))
        await turns()
        client.send(b"x" * 500)

        assert (await client.reply()).body == b"1000"

    run(test())


@pytest.mark.parametrize(
    "head",
    [
        b"X-A: " + b"a" * 17_000 + b"\r\n",
        b"".join(b"X-%d: %b\r\n" % (i, b"a" * 2000) for i in range(20)),
        b"X: a\r\n" * 200,
    ],
    ids=["one header", "many headers", "many small headers"],
)
def test_headers_that_are_too_large_are_refused(head: bytes) -> None:
    async def test() -> None:
        client = serve().client()
        client.send(b"POST /echo HTTP/1.1\r\n%b%b\r\n" % (HEAD, head))
        reply = await client.reply()

        assert (reply.status, json.loads(reply.body)["error_code"]) == (431, 43100)

    run(test())


def test_headers_without_an_end_are_refused_when_they_are_too_large() -> None:
    async def test() -> None:
        client = serve().client()
        client.send(b"POST /echo HTTP/1.1\r\n" + HEAD)
        sent = 0
        while not client.transport.ended:
            client.send(b"X-%d: a\r\n" % sent + b"X: " + b"y" * 900 + b"\r\n")
            sent += 1
            assert sent < 100, "the server keeps headers without a limit"

        assert (await client.reply()).status == 431

    run(test())


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"SELECT * FROM x;\r\n\r\n",
    ],
    ids=["TLS", "not ASCII", "two hosts", "two framings", "two lengths", "SQL"],
)
def test_what_is_not_http_is_refused_in_the_form_of_all_errors(data: bytes) -> None:
    async def test() -> None:
        client = serve().client()
        client.send(data)
        reply = await client.reply()

        assert reply.status == 400
        assert json.loads(reply.body)["@type"] == "generic_error"
        await client.closed()

    run(test())


def test_a_client_that_sends_requests_without_reading_answers_is_disconnected() -> None:
    async def test() -> None:
        blocked = asyncio.Event()

        async def wait(_request: Request, _context: ServerContext) -> Response:
            await blocked.wait()
            return Response()

        server = MemoryServer(limits=LATE, endpoints=(Endpoint("POST", "/wait", wait),))
        client = server.client()
        client.send(post(b"", path=b"/wait"))
        sent = 0
        while not client.transport.closed:
            client.send(post(b"", path=b"/wait") * 50)
            sent += 50
            assert sent < 10_000, "the server keeps pipelined requests without a limit"

    run(test())


def test_a_client_that_does_not_read_its_response_is_disconnected() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, write_s=SOON)).client()
        client.send(post(b"one"))
        await client.reply()
        client.transport.protocol.pause_writing()

        await client.closed()

        assert client.transport.aborted

    run(test())


def test_a_client_that_reads_again_keeps_its_connection() -> None:
    async def test() -> None:
        client = serve(with_deadline(LATE, write_s=SOON)).client()
        client.send(post(b"one"))
        await client.reply()
        client.transport.protocol.pause_writing()
        client.transport.protocol.resume_writing()
        late = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(2 * SOON, late.set_result, None)
        await late

        assert not client.transport.closed

    run(test())


def test_a_full_server_closes_the_connection_that_is_idle_for_longest() -> None:
    async def test() -> None:
        server = serve(with_deadline(LATE, connections_max=3))
        half, answered, newest = server.client(), server.client(), server.client()
        half.send(b"POST /echo HTTP/1.1\r\n")
        assert (await answered.ask("POST", "/echo", b"x")).status == 200

        first, second = server.client(), server.client()
        await half.closed()
        await newest.closed()

        assert not answered.transport.closed
        assert (await first.ask("POST", "/echo", b"x")).status == 200
        assert (await second.ask("POST", "/echo", b"x")).status == 200
        assert server.context.counts.connections == 3
        assert server.context.counts.evicted == 2

    run(test())


def test_requests_above_the_limit_are_refused_but_signs_of_life_are_not() -> None:
    async def test() -> None:
        async def hold(_request: Request, _context: ServerContext) -> Response:
            await asyncio.Event().wait()
            return Response()

        limits = with_deadline(LATE, requests_max=1)
        held = Endpoint("POST", "/held", hold)
        server = MemoryServer(limits=limits, endpoints=(*ENDPOINTS, *ECHO, held))
        busy, other = server.client(), server.client()
        busy.send(post(b"x", path=b"/held"))
        await turns()
        refused = await other.ask("POST", "/count", b"x")
        alive = await other.ask("GET", "/chc/live")

        assert (refused.status, alive.status) == (503, 200)

    run(test())


def test_a_response_ends_when_its_client_leaves() -> None:
    async def test() -> None:
        ended = asyncio.Event()

        async def rows() -> AsyncIterator[bytes]:
            try:
                yield b"[1]\n"
                await asyncio.Event().wait()
            finally:
                ended.set()

        async def push(_request: Request, _context: ServerContext) -> Streamed:
            return Streamed(rows(), "text/plain")

        server = MemoryServer(context(), LATE, (Endpoint("GET", "/push", push),))
        client = server.client()
        client.send(b"GET /push HTTP/1.1\r\n" + HEAD + b"\r\n")
        await client.until(lambda: b"[1]\n" in client.transport.written)
        client.transport.close()

        await ended.wait()

    run(test())


def test_rows_that_never_wait_end_when_their_client_leaves() -> None:
    async def test() -> None:
        ended = asyncio.Event()

        async def rows() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"[1]\n"
            finally:
                ended.set()

        async def push(_request: Request, _context: ServerContext) -> Streamed:
            return Streamed(rows(), "text/plain")

        client = MemoryServer(context(), LATE, (Endpoint("GET", "/push", push),)).client()
        client.send(b"GET /push HTTP/1.1\r\n" + HEAD + b"\r\n")
        await client.until(lambda: b"[1]\n" in client.transport.written)
        client.transport.close()

        await ended.wait()

    run(test())


def test_an_error_after_the_start_of_a_response_closes_the_connection() -> None:
    async def test() -> None:
        async def rows() -> AsyncIterator[bytes]:
            yield b"[1]\n"
            raise ValueError

        async def push(_request: Request, _context: ServerContext) -> Streamed:
            return Streamed(rows(), "text/plain")

        client = MemoryServer(context(), LATE, (Endpoint("GET", "/push", push),)).client()
        client.send(b"GET /push HTTP/1.1\r\n" + HEAD + b"\r\n")
        await client.closed()

        assert b"[1]\n" in client.transport.written
        assert not client.transport.written.endswith(b"0\r\n\r\n")

    run(test())
