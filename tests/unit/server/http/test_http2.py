"""HTTP/2 with prior knowledge: streams side by side, and the limits of rude clients.

The client is the library h2.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

from duolog.server.http.http2 import PARKED_BYTES_MAX, RESETS_MAX, UNPRODUCTIVE_BYTES_MAX
from duolog.server.http.routes import Endpoint
from duolog.server.limits import Limits
from duolog.server.messages import Request, Streamed
from duolog.server.operations.context import ServerContext
from duolog.server.queries.row_forms import ARRAY, DELIMITED
from unit.registry.turns import turns
from unit.server.http.test_http1 import ECHO, LATE, SOON, run, with_deadline
from unit.server.memory import Client, MemoryServer, context
from unit.server.users import ANN, access_with_users

AUTHORITY = (":authority", "127.0.0.1")


class Client2:
    """A connection of HTTP/2."""

    def __init__(self, server: MemoryServer) -> None:
        self.raw: Client = server.client()
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.h2.initiate_connection()
        self.statuses: dict[int, int] = {}
        self.bodies: dict[int, bytes] = {}
        self.frames: dict[int, list[bytes]] = {}
        self.ended: set[int] = set()
        self.resets: set[int] = set()
        self.reads = True
        """False: the windows of the server do not grow."""
        self.flush()

    def flush(self) -> None:
        data = self.h2.data_to_send()
        if data and not self.raw.transport.closed:
            self.raw.send(data)

    def ask(self, method: str, path: str, *more: tuple[str, str], end: bool = True) -> int:
        stream: int = self.h2.get_next_available_stream_id()
        head = [(":method", method), (":path", path), (":scheme", "http"), AUTHORITY, *more]
        self.h2.send_headers(stream, head, end_stream=end)
        self.flush()
        return stream

    def receive(self) -> None:
        data, self.raw.transport.written = self.raw.transport.written, b""
        for event in self.h2.receive_data(data):
            self._note(event)
        self.flush()

    def _note(self, event: Any) -> None:
        match event:
            case h2.events.ResponseReceived(stream_id=stream, headers=headers):
                self.statuses[stream] = int(dict(headers)[b":status"])
                self.bodies.setdefault(stream, b"")
            case h2.events.DataReceived(stream_id=stream, data=data):
                self.bodies[stream] += data
                self.frames.setdefault(stream, []).append(data)
                if self.reads:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, stream)
            case h2.events.StreamEnded(stream_id=stream):
                self.ended.add(stream)
            case h2.events.StreamReset(stream_id=stream):
                self.resets.add(stream)
            case _:
                pass

    async def until(self, stream: int) -> tuple[int, bytes]:
        """Return the status and the body of a stream when it has ended."""

        def over() -> bool:
            self.receive()
            return stream in self.ended | self.resets

        await self.raw.until(over)
        return self.statuses.get(stream, 0), self.bodies.get(stream, b"")


def serve(limits: Limits = LATE) -> MemoryServer:
    return MemoryServer(limits=limits, endpoints=ECHO)


def test_a_request_without_a_body_is_answered() -> None:
    async def test() -> None:
        client = Client2(MemoryServer())

        status, body = await client.until(client.ask("GET", "/info"))

        assert (status, json.loads(body)["KsqlServerInfo"]["version"]) == (200, "1.2.3")

    run(test())


def test_as_many_requests_are_allowed_at_once_as_announced() -> None:
    """A client that keeps to the announced number must not be refused."""

    async def test() -> None:
        client = Client2(serve(Limits()))
        await turns()  # The settings are written with the next turn of the loop.
        client.receive()
        announced = client.h2.remote_settings.max_concurrent_streams
        assert announced <= Limits().streams_max

        streams = [client.ask("POST", "/echo", end=False) for _ in range(announced)]
        await turns()
        client.receive()
        assert client.resets == set()
        for stream in streams:
            client.h2.send_data(stream, b"x", end_stream=True)
            client.flush()
            assert await client.until(stream) == (200, b"x")

    run(test())


def test_requests_are_answered_side_by_side() -> None:
    async def test() -> None:
        client = Client2(serve())
        slow = client.ask("POST", "/echo", end=False)
        fast = client.ask("POST", "/echo", end=False)
        client.h2.send_data(fast, b"fast", end_stream=True)
        client.flush()
        assert await client.until(fast) == (200, b"fast")

        client.h2.send_data(slow, b"slow", end_stream=True)
        client.flush()
        assert await client.until(slow) == (200, b"slow")

    run(test())


def test_a_body_larger_than_a_window_is_received() -> None:
    async def test() -> None:
        client = Client2(serve())
        stream = client.ask("POST", "/echo", end=False)
        left = 200_000
        while left:
            size = min(left, client.h2.local_flow_control_window(stream), 16_384)
            client.h2.send_data(stream, b"x" * size, end_stream=size == left)
            left -= size
            client.flush()
            client.receive()
            await turns()

        assert await client.until(stream) == (200, b"x" * 200_000)

    run(test())


def test_every_request_of_a_connection_needs_a_login() -> None:
    async def test() -> None:
        client = Client2(MemoryServer(context(access_with_users())))

        first = await client.until(client.ask("GET", "/info", ("authorization", ANN)))
        second = await client.until(client.ask("GET", "/info"))

        assert (first[0], second[0]) == (200, 401)

    run(test())


def test_a_body_that_is_too_large_is_refused_by_its_length() -> None:
    async def test() -> None:
        client = Client2(serve())
        stream = client.ask("POST", "/echo", ("content-length", "1000000000"), end=False)

        status, body = await client.until(stream)

        assert (status, json.loads(body)["error_code"]) == (413, 41300)

    run(test())


def test_headers_that_are_too_large_are_refused() -> None:
    async def test() -> None:
        client = Client2(serve())
        stream = client.ask("POST", "/echo", *((f"x-{i}", "a" * 4000) for i in range(9)))

        status, body = await client.until(stream)

        assert (status, json.loads(body)["error_code"]) == (431, 43100)

    run(test())


def test_a_connection_without_a_stream_is_closed_although_its_client_pings() -> None:
    async def test() -> None:
        client = Client2(serve(with_deadline(LATE, idle_s=SOON)))
        await client.until(client.ask("POST", "/echo"))
        pings = 0
        while not client.raw.transport.closed:
            client.h2.ping(b"12345678")
            client.flush()
            client.receive()
            await turns()
            pings += 1

        assert pings > 1

    run(test())


def test_streams_above_the_limit_are_refused_and_others_go_on() -> None:
    async def test() -> None:
        client = Client2(serve(with_deadline(LATE, streams_max=2)))
        first, second, third = (client.ask("POST", "/echo", end=False) for _ in range(3))
        await client.until(third)
        client.h2.send_data(first, b"1", end_stream=True)
        client.h2.send_data(second, b"2", end_stream=True)
        client.flush()

        assert third in client.resets
        assert await client.until(first) == (200, b"1")
        assert await client.until(second) == (200, b"2")

    run(test())


def test_a_client_that_resets_its_streams_is_disconnected() -> None:
    async def test() -> None:
        client = Client2(serve())
        for _ in range(RESETS_MAX + 1):
            assert not client.raw.transport.closed
            client.h2.reset_stream(client.ask("POST", "/echo", end=False))
            client.flush()
            client.receive()

        assert client.raw.transport.closed

    run(test())


def test_a_client_that_resets_a_few_of_its_streams_is_served() -> None:
    async def test() -> None:
        client = Client2(serve())
        for _ in range(RESETS_MAX * 2):
            client.h2.reset_stream(client.ask("POST", "/echo", end=False))
            await client.until(client.ask("POST", "/echo"))

        assert not client.raw.transport.closed

    run(test())


def test_bytes_that_complete_nothing_end_the_connection() -> None:
    async def test() -> None:
        client = Client2(serve())
        sent = 0
        while not client.raw.transport.closed:
            client.h2.ping(b"12345678")
            sent += 17
            client.flush()
            client.raw.transport.written = b""
            assert sent < 2 * UNPRODUCTIVE_BYTES_MAX, "pings are accepted without a limit"

    run(test())


async def rows(made: list[int], size: int) -> AsyncIterator[bytes]:
    """Yield a thousand pieces, and note how many were made."""
    for number in range(1000):
        made.append(number)
        yield b"x" * size


def test_a_response_waits_for_the_window_of_its_client() -> None:
    async def test() -> None:
        made: list[int] = []

        async def push(_request: Request, _context: ServerContext) -> Streamed:
            return Streamed(rows(made, 10_000), "text/plain")

        client = Client2(MemoryServer(context(), LATE, (Endpoint("GET", "/push", push),)))
        client.reads = False
        stream = client.ask("GET", "/push")
        before = -1
        while before != len(made):
            before = len(made)
            for _ in range(50):
                client.receive()
                await turns()

        # The window of 64 KiB, what may wait, and the piece that is too much.
        assert len(made) * 10_000 <= 65_535 + PARKED_BYTES_MAX + 20_000

        client.reads = True
        client.h2.acknowledge_received_data(len(client.bodies[stream]), stream)
        client.flush()
        status, body = await client.until(stream)
        assert (status, len(body)) == (200, 10_000_000)

    run(test())


def test_a_response_is_reset_if_the_window_of_its_client_stays_closed() -> None:
    async def test() -> None:
        made: list[int] = []
        limits = with_deadline(LATE, write_s=SOON)

        async def push(_request: Request, _context: ServerContext) -> Streamed:
            return Streamed(rows(made, 10_000), "text/plain")

        endpoints = (Endpoint("GET", "/push", push), *ECHO)
        client = Client2(MemoryServer(context(), limits, endpoints))
        client.reads = False
        stream = client.ask("GET", "/push")
        await client.until(stream)

        assert stream in client.resets
        assert len(made) < 100
        # The window of the connection is full; headers pass nevertheless.
        assert (await client.until(client.ask("POST", "/echo")))[0] == 200

    run(test())


@pytest.mark.parametrize("path", ["/\xe4", "/%e4"])
def test_a_target_that_is_not_ascii_does_not_end_other_streams(path: str) -> None:
    async def test() -> None:
        client = Client2(serve())
        other = client.ask("POST", "/echo", end=False)
        await client.until(client.ask("POST", path))
        client.h2.send_data(other, b"1", end_stream=True)
        client.flush()

        assert await client.until(other) == (200, b"1")

    run(test())


@pytest.mark.parametrize(
    ("media_type", "prefer", "frames"),
    [
        (DELIMITED, "", [b'{"queryId":"q"}\n', b"[1]\n", b"[2]\n", b"[3]\n"]),
        (DELIMITED, "row-batches", [b'{"queryId":"q"}\n', b"[1]\n[2]\n[3]\n"]),
        (ARRAY, "", [b'{"queryId":"q"}\n', b"[1]\n[2]\n[3]\n"]),
    ],
)
def test_each_line_of_the_delimited_form_is_a_frame(
    media_type: str, prefer: str, frames: list[bytes]
) -> None:
    """The npm client ksqldb-client parses each frame as a row."""

    async def rows(request: Request, context: ServerContext) -> Streamed:
        async def pieces() -> AsyncIterator[bytes]:
            yield b'{"queryId":"q"}\n'
            yield b"[1]\n[2]\n[3]\n"
            yield b""

        return Streamed(pieces(), media_type)

    async def test() -> None:
        server = MemoryServer(limits=LATE, endpoints=(Endpoint("GET", "/rows", rows),))
        client = Client2(server)

        stream = client.ask("GET", "/rows", ("prefer", prefer))
        await client.until(stream)

        assert [frame for frame in client.frames[stream] if frame] == frames

    run(test())
