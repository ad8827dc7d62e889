"""A connection reads requests within limits and answers them in order."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from duolog.registry.http import protocol
from duolog.registry.http.messages import HttpRequest, HttpResponse
from unit.registry.http.connections import Client, Server
from unit.registry.turns import until

GET = b"GET /subjects HTTP/1.1\r\nHost: localhost\r\n\r\n"


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scenario())  # type: ignore[arg-type]


def post(body: bytes, *headers: bytes, path: bytes = b"/subjects/a") -> bytes:
    length = b"Content-Length: %d" % len(body)
    head = b"\r\n".join([b"POST " + path + b" HTTP/1.1", b"Host: localhost", length, *headers])
    return head + b"\r\n\r\n" + body


def test_a_request_arrives_as_it_was_sent_and_keeps_the_connection() -> None:
    async def scenario() -> None:
        client = Client(Server())

        client.send(
            b"GET /subjects/a%2Fb?deleted=true#x HTTP/1.1\r\nHost: localhost\r\n"
            b"X-Twice: 1\r\nx-twice:  2 \r\n\r\n"
        )
        answer = await client.settle()

        (request,) = client.server.requests
        assert (request.method, request.path, request.query) == (
            "GET",
            b"/subjects/a%2Fb",
            b"deleted=true",
        )
        assert request.headers["x-twice"] == "1, 2"
        assert request.client == "127.0.0.1:4242"
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\nGET /subjects/a%2Fb")
        assert b"Connection: close" not in answer
        assert not client.transport.closed

    run(scenario)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_body_arrives_in_any_pieces(size: int) -> None:
    async def scenario() -> None:
        client = Client(Server())
        data = post(b'{"schema": "x"}') + post(b"second")

        for start in range(0, len(data), size):
            client.send(data[start : start + size])
        await client.settle()

        assert [request.body for request in client.server.requests] == [
            b'{"schema": "x"}',
            b"second",
        ]

    run(scenario)


def test_a_chunked_body_is_joined() -> None:
    async def scenario() -> None:
        client = Client(Server())

        client.send(
            b"POST /subjects/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n4;extension\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n"
        )
        await client.settle()

        assert client.server.requests[0].body == b"abcdefg"

    run(scenario)


def test_pipelined_requests_are_answered_one_at_a_time_in_order() -> None:
    async def scenario() -> None:
        server = Server()
        client = Client(server)
        server.open.clear()

        client.send(GET + post(b"x") + GET)
        before = await client.settle()
        server.open.set()
        answers = await client.settle()

        assert before == b""
        assert [request.method for request in server.requests] == ["GET", "POST", "GET"]
        assert answers.count(b"HTTP/1.1 200") == 3
        assert answers.index(b"POST /subjects/a") > answers.index(b"GET /subjects")

    run(scenario)


def test_a_client_that_pipelines_without_end_is_not_read_meanwhile() -> None:
    async def scenario() -> None:
        server = Server()
        client = Client(server)
        server.open.clear()

        client.send(GET * (protocol.WAITING_MAX + 2))
        await client.settle()
        paused = not client.transport.reading
        server.open.set()
        for _ in range(5):
            await client.settle()

        assert paused
        assert client.transport.reading
        assert len(server.requests) == protocol.WAITING_MAX + 2

    run(scenario)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA : b\r\n\r\n", 400),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10_000, 431),
        (post(b"a" * 1001), 413),
        (b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"1f4\r\n" + b"a" * 500 + b"\r\n3e8\r\n" + b"a" * 600,
            413,
        ),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    ],
    ids=lambda value: repr(value[:30]) if isinstance(value, bytes) else str(value),
)
def test_what_cannot_be_read_is_refused_in_json_and_ends_the_connection(
    data: bytes, status: int
) -> None:
    async def scenario() -> None:
        client = Client(Server())

        client.send(data)
        answer = await client.settle()

        assert answer.startswith(b"HTTP/1.1 %d " % status)
        assert b"Connection: close\r\n" in answer
        assert b'{"error_code":%d,' % status in answer
        assert client.transport.ended
        assert client.server.requests == []

    run(scenario)


def test_a_refusal_comes_after_the_answers_of_earlier_requests() -> None:
    async def scenario() -> None:
        client = Client(Server())

        client.send(GET + b"nonsense\r\n\r\n")
        answer = await client.settle()

        assert answer.index(b"HTTP/1.1 200") < answer.index(b"HTTP/1.1 400")

    run(scenario)


def test_expectation_of_100_is_met_before_the_body_unless_it_is_too_large() -> None:
    async def scenario() -> None:
        polite, greedy = Client(Server()), Client(Server())
        head = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"

        polite.send(head % 1)
        greedy.send(head % 5000)

        assert await polite.settle() == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert (await greedy.settle()).startswith(b"HTTP/1.1 413 ")

    run(scenario)


@pytest.mark.parametrize("size", [1, 10_000])
def test_a_client_that_offers_http_2_is_answered_in_http_1(size: int) -> None:
    async def scenario() -> None:
        client = Client(Server())
        offer = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAM")
        data = post(b"body of the upgrade", *offer) + GET

        for start in range(0, len(data), size):
            client.send(data[start : start + size])
        answers = await client.settle()

        assert [request.body for request in client.server.requests] == [b"body of the upgrade", b""]
        assert answers.count(b"HTTP/1.1 200") == 2

    run(scenario)


@pytest.mark.parametrize(
    "request_head",
    [
        b"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ],
)
def test_a_client_that_wants_one_answer_gets_a_closed_connection(request_head: bytes) -> None:
    async def scenario() -> None:
        client = Client(Server())

        client.send(request_head)
        answer = await client.settle()

        assert b"Connection: close\r\n" in answer
        assert client.transport.closed

    run(scenario)


def test_a_head_is_answered_with_the_length_and_without_the_body() -> None:
    async def scenario() -> None:
        client = Client(Server())

        client.send(b"HEAD /subjects HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = await client.settle()

        assert b"Content-Length: 14\r\n" in answer
        assert answer.endswith(b"\r\n\r\n")

    run(scenario)


def test_a_client_that_closes_its_side_still_gets_its_answer() -> None:
    async def scenario() -> None:
        server = Server()
        client = Client(server)
        server.open.clear()

        client.send(GET)
        await client.settle()
        kept = client.connection.eof_received()
        server.open.set()
        answer = await client.settle()

        assert kept
        assert answer.startswith(b"HTTP/1.1 200")
        assert client.transport.closed

    run(scenario)


def test_an_idle_client_that_closes_its_side_is_closed() -> None:
    async def scenario() -> None:
        assert not Client(Server()).connection.eof_received()

    run(scenario)


def test_a_client_that_sends_slowly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "READ_S", 0)

    async def scenario() -> None:
        client = Client(Server())

        client.send(b"GET / HT")
        await until(lambda: client.transport.ended)

        assert client.transport.written.startswith(b"HTTP/1.1 408 ")

    run(scenario)


def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "IDLE_S", 0)

    async def scenario() -> None:
        client = Client(Server())

        await until(lambda: client.transport.closed)

        assert client.transport.written == b""

    run(scenario)


def test_a_client_that_does_not_read_its_answer_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "WRITE_S", 0)

    async def scenario() -> None:
        client = Client(Server())

        client.transport.full = client.connection.pause_writing
        client.send(GET + GET)
        await until(lambda: client.transport.aborted)

        assert len(client.server.requests) == 1

    run(scenario)


def test_one_connection_too_many_is_told_so() -> None:
    async def scenario() -> None:
        server = Server(connections_max=1)
        Client(server)

        second = Client(server)

        assert second.transport.written.startswith(b"HTTP/1.1 503 ")
        assert second.transport.ended

    run(scenario)


def test_a_stopping_server_finishes_the_request_and_closes() -> None:
    async def scenario() -> None:
        server = Server()
        busy, idle = Client(server), Client(server)
        server.open.clear()
        busy.send(GET)
        await busy.settle()

        server.stopping = True
        busy.connection.stop()
        idle.connection.stop()
        closed_early = busy.transport.closed
        server.open.set()
        answer = await busy.settle()

        assert idle.transport.closed
        assert not closed_early
        assert b"Connection: close\r\n" in answer
        assert busy.transport.closed

    run(scenario)


def test_a_lost_connection_stops_waiting_requests() -> None:
    async def scenario() -> None:
        server = Server()
        client = Client(server)
        server.open.clear()
        client.send(GET + GET)
        await client.settle()

        client.connection.connection_lost(None)
        server.open.set()
        answer = await client.settle()

        assert answer == b""
        assert len(server.requests) == 1
        assert server.connections == set()

    run(scenario)


def test_an_answer_has_a_length_a_date_and_no_sniffing() -> None:
    async def answer(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(204, headers=(("X-Own", "1"),))

    async def scenario() -> None:
        client = Client(Server(), answer)

        client.send(GET)
        lines = (await client.settle()).split(b"\r\n")

        assert lines[0] == b"HTTP/1.1 204 No Content"
        assert b"X-Own: 1" in lines
        assert b"X-Content-Type-Options: nosniff" in lines
        assert not [line for line in lines if line.startswith(b"Content-")]
        assert [line for line in lines if line.startswith(b"Date: ")]

    run(scenario)


def test_a_flood_of_pipelined_requests_is_parsed_only_as_far_as_it_is_answered() -> None:
    """Before a login, 256 KiB of the shortest requests would take many megabytes."""

    async def scenario() -> None:
        server = Server()
        server.open.clear()
        client = Client(server)
        count = 8000

        client.send(GET * count)
        await client.settle()

        waiting = len(client.connection._waiting)  # noqa: SLF001
        assert waiting <= protocol.WAITING_MAX + protocol.PIECE_BYTES // len(GET) + 1
        assert not client.transport.reading
        server.open.set()
        await until(lambda: len(server.requests) == count)
        await until(lambda: client.transport.reading)

    run(scenario)


def test_thousands_of_offered_upgrades_in_one_piece_are_answered() -> None:
    async def scenario() -> None:
        server = Server()
        client = Client(server)
        count = 3000

        client.send(
            b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" * count
        )

        await until(lambda: len(server.requests) == count)
        assert client.transport.reading

    run(scenario)


def test_the_bodies_of_all_clients_together_are_limited() -> None:
    """A client sends a body before it is authenticated."""

    async def scenario() -> None:
        server = Server(bodies_bytes_max=1000)
        slow = [Client(server) for _ in range(2)]
        for client in slow:
            client.send(post(b"x" * 500)[:-1])

        late = Client(server)
        late.send(post(b"x" * 10))

        assert (await late.settle()).startswith(b"HTTP/1.1 503 ")
        assert server.bodies_left == 2
        slow[0].send(b"x")
        await slow[0].settle()
        slow[1].connection.connection_lost(None)
        late.connection.connection_lost(None)
        assert server.bodies_left == 1000
        again = Client(server)
        again.send(post(b"x" * 900))
        assert (await again.settle()).startswith(b"HTTP/1.1 200 ")
        assert server.bodies_left == 1000

    run(scenario)


def test_what_follows_a_body_is_no_header() -> None:
    """A proxy that removes or checks headers does not look there."""

    async def scenario() -> None:
        client = Client(Server())

        client.send(
            b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"1\r\nx\r\n0\r\nAuthorization: Basic eDp5\r\nX-Forward: true\r\n\r\n" + GET
        )
        await client.settle()

        first, second = client.server.requests
        assert first.headers.keys() == {"host", "transfer-encoding"}
        assert second.headers == {"host": "localhost"}

    run(scenario)
