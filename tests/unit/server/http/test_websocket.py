"""WebSockets as a protocol: hostile frames, and clients that do not read or do not answer."""

import asyncio
import struct
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine

import pytest
from websockets.frames import Opcode

from duolog.server.http.routes import Endpoint
from duolog.server.http.websocket import MESSAGE_BYTES_MAX
from duolog.server.limits import Limits
from duolog.server.messages import Closing, Messages, Request
from duolog.server.operations.context import ServerContext
from unit.registry.turns import turns
from unit.server.http.test_http1 import LATE, SOON, run, with_deadline
from unit.server.memory import MemoryServer
from unit.server.sockets import SocketClient

PATH = "/ws/query"
QUIET = with_deadline(LATE, ping_s=1e6, linger_s=1e6)


class Talk:
    """An operation whose texts a test sends; it notes its end."""

    def __init__(self) -> None:
        self.parts: asyncio.Queue[list[bytes] | Closing] = asyncio.Queue()
        self.taken = 0
        self.ended = asyncio.Event()
        self.made: object = None
        """Keeps the iterator, which Python would otherwise close some time."""

    async def __call__(self, _request: Request, _context: ServerContext) -> Messages:
        parts = self.made = self._parts()
        return Messages(parts)

    async def _parts(self) -> AsyncGenerator[list[bytes] | Closing, None]:
        try:
            while True:
                part = await self.parts.get()
                self.taken += 1
                yield part
        finally:
            self.ended.set()


def serve(talk: Talk, limits: Limits = QUIET) -> MemoryServer:
    return MemoryServer(limits=limits, endpoints=[Endpoint("GET", PATH, talk, socket=True)])


def talking(
    test: Callable[[Talk, SocketClient], Coroutine[None, None, None]],
) -> Callable[[], None]:
    """Run a test with a client whose WebSocket is open."""

    def bounded() -> None:
        async def scenario() -> None:
            talk = Talk()
            client = SocketClient(serve(talk), PATH)
            await client.until_opened()
            await test(talk, client)

        run(scenario())

    return bounded


def frame(opcode: int, data: bytes, *, fin: bool = True, size: int | None = None) -> bytes:
    """Return a masked frame, whose header may lie about its size."""
    length = len(data) if size is None else size
    start = bytes([opcode | (0x80 if fin else 0)])
    if length < 126:
        head = start + bytes([0x80 | length])
    elif length < 65536:
        head = start + bytes([0x80 | 126]) + struct.pack("!H", length)
    else:
        head = start + bytes([0x80 | 127]) + struct.pack("!Q", length)
    return head + b"\0\0\0\0" + data


TEXT, BINARY, CONTINUED, PING = 1, 2, 0, 9


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(frame(TEXT, b"", size=MESSAGE_BYTES_MAX + 1), 1009, id="too large"),
        pytest.param(frame(BINARY, b"", size=2**62), 1009, id="4 EiB"),
        pytest.param(
            frame(TEXT, b"x" * 60_000, fin=False) + frame(CONTINUED, b"x" * 60_000),
            1009,
            id="parts",
        ),
        pytest.param(frame(CONTINUED, b"x"), 1002, id="a part of nothing"),
        pytest.param(frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"), 1002, id="two starts"),
        pytest.param(b"\x81\x01a", 1002, id="not masked"),
        pytest.param(frame(3, b""), 1002, id="unknown kind"),
        pytest.param(frame(TEXT | 0x40, b"a"), 1002, id="compressed"),
        pytest.param(frame(PING, b"x" * 126), 1002, id="long ping"),
        pytest.param(frame(PING, b"", fin=False), 1002, id="ping in parts"),
        pytest.param(frame(8, b"\x03"), 1002, id="half a code"),
        pytest.param(frame(8, b"\x03\xe8\xff\xfe"), 1007, id="reason not UTF-8"),
        pytest.param(frame(TEXT, b"\xff\xfe"), 1007, id="text not UTF-8"),
        pytest.param(frame(TEXT, b"a\xe2\x82"), 1007, id="half a character"),
        pytest.param(
            frame(TEXT, b"\xe2", fin=False) + frame(CONTINUED, b"a"), 1007, id="parts not UTF-8"
        ),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 1002, id="HTTP"),
    ],
)
def test_a_frame_that_is_not_valid_ends_the_connection(sent: bytes, code: int) -> None:
    async def test(talk: Talk, client: SocketClient) -> None:
        client.http.send(sent)

        assert (await client.end())[0] == code
        await talk.ended.wait()

    talking(test)()


@pytest.mark.parametrize(
    "sent",
    [
        frame(TEXT, b"hello"),
        frame(TEXT, b"\xe2", fin=False) + frame(PING, b"\xff") + frame(CONTINUED, b"\x82\xac"),
        frame(TEXT, b"\xe2", fin=False) + frame(CONTINUED, b"\x82\xac") + frame(TEXT, b"\xc3\xa4"),
        frame(BINARY, b"\xff", fin=False) + frame(CONTINUED, b"\xff"),
        frame(BINARY, bytes(MESSAGE_BYTES_MAX)),
        frame(TEXT, b"a", fin=False) + frame(CONTINUED, b"b"),
        frame(10, b"no ping"),
    ],
)
def test_messages_of_a_client_are_ignored(sent: bytes) -> None:
    async def test(talk: Talk, client: SocketClient) -> None:
        client.http.send(sent)
        talk.parts.put_nowait([b"still here"])
        talk.parts.put_nowait(Closing(1000, "done"))

        assert await client.end() == (1000, "done")
        assert client.texts == ["still here"]

    talking(test)()


@talking
async def test_a_frame_may_arrive_byte_by_byte(talk: Talk, client: SocketClient) -> None:
    for byte in frame(PING, b"abc"):
        client.http.send(bytes([byte]))

    await client.http.until(lambda: client.take() or bool(client.frames))
    assert (client.frames[0].opcode, bytes(client.frames[0].data)) == (Opcode.PONG, b"abc")
    assert not talk.ended.is_set()


@talking
async def test_a_client_that_does_not_read_gets_no_answers_to_its_pings(
    talk: Talk, client: SocketClient
) -> None:
    transport = client.http.transport
    transport.protocol.pause_writing()

    assert not transport.reading
    talk.parts.put_nowait([b"one"])
    talk.parts.put_nowait([b"two"])
    await turns(20)
    assert (client.take(), client.texts, talk.taken) == (False, [], 1)

    transport.protocol.resume_writing()

    assert await client.until_texts(0) == []
    await client.http.until(lambda: client.take() or len(client.texts) == 2)
    assert transport.reading


def test_a_client_that_reads_nothing_for_too_long_is_disconnected() -> None:
    async def test() -> None:
        talk = Talk()
        client = SocketClient(serve(talk, with_deadline(QUIET, write_s=SOON)), PATH)
        await client.until_opened()

        client.http.transport.protocol.pause_writing()

        await client.http.closed()
        await talk.ended.wait()

    run(test())


def test_an_operation_ends_if_the_server_stops_while_its_client_does_not_read() -> None:
    async def test() -> None:
        talk = Talk()
        client = SocketClient(served := serve(talk), PATH)
        await client.until_opened()
        client.http.transport.protocol.pause_writing()
        talk.parts.put_nowait([b"one"])
        await turns(20)
        assert talk.taken == 1

        for task in served.door.state.tasks:
            task.cancel()

        await talk.ended.wait()
        await client.http.closed()

    run(test())


def test_a_client_that_answers_no_ping_is_disconnected() -> None:
    async def test() -> None:
        talk = Talk()
        client = SocketClient(serve(talk, with_deadline(QUIET, ping_s=SOON)), PATH)
        await client.http.until(lambda: b"\r\n\r\n" in client.http.transport.written)

        await client.http.closed()  # It reads, but does not answer.
        await talk.ended.wait()
        client.take()

        assert client.http.transport.aborted
        assert [one.opcode for one in client.frames] == [Opcode.PING]

    run(test())


def test_a_client_that_answers_pings_stays() -> None:
    async def test() -> None:
        talk = Talk()
        client = SocketClient(serve(talk, with_deadline(QUIET, ping_s=SOON)), PATH)

        await client.http.until(lambda: client.take() or len(client.frames) >= 4)

        assert not client.http.transport.closed
        assert {one.opcode for one in client.frames} == {Opcode.PING}

    run(test())


def test_a_client_that_never_answers_the_close_is_disconnected() -> None:
    async def test() -> None:
        talk = Talk()
        client = SocketClient(serve(talk, with_deadline(QUIET, linger_s=SOON)), PATH)
        await client.http.until(lambda: b"\r\n\r\n" in client.http.transport.written)
        talk.parts.put_nowait(Closing(1000, "done"))

        await client.http.closed()

        assert client.http.transport.aborted

    run(test())


@talking
async def test_a_reason_that_is_too_long_is_cut_between_characters(
    talk: Talk, client: SocketClient
) -> None:
    talk.parts.put_nowait(Closing(1011, "ü" * 100))

    code, reason = await client.end()

    assert (code, reason) == (1011, "ü" * 60 + "...")


@talking
async def test_a_text_after_the_close_of_the_client_is_dropped(
    talk: Talk, client: SocketClient
) -> None:
    client.protocol.send_close(1001, "leaving")
    client.flush()
    talk.parts.put_nowait([b"too late"])

    assert await client.end() == (1001, "leaving")
    await talk.ended.wait()
    assert client.texts == []


def test_an_operation_that_fails_closes_with_an_error() -> None:
    async def fail(_request: Request, _context: ServerContext) -> Messages:
        async def parts() -> AsyncGenerator[list[bytes] | Closing, None]:
            yield [b"one"]
            raise ValueError

        return Messages(parts())

    async def test() -> None:
        served = MemoryServer(limits=QUIET, endpoints=[Endpoint("GET", PATH, fail, socket=True)])
        client = SocketClient(served, PATH)

        assert await client.end() == (1011, "")
        assert client.texts == ["one"]

    run(test())


HANDSHAKE = b"GET /ws/query HTTP/1.1\r\nHost: 127.0.0.1:8088\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
KEY = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
VERSION = b"Sec-WebSocket-Version: 13\r\n"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (HANDSHAKE + VERSION, 400),
        (HANDSHAKE + KEY, 400),
        (HANDSHAKE + KEY + b"Sec-WebSocket-Version: 8\r\n", 400),
        (HANDSHAKE + b"Sec-WebSocket-Key: short\r\n" + VERSION, 400),
        (HANDSHAKE + KEY + KEY + VERSION, 400),
        (HANDSHAKE.replace(b"Connection: Upgrade\r\n", b"") + KEY + VERSION, 426),
        (HANDSHAKE.replace(b"/1.1", b"/1.0") + KEY + VERSION, 400),
        (HANDSHAKE + KEY + VERSION + b"Content-Length: 0\r\n", 426),
        (HANDSHAKE.replace(b"Host: ", b"Host: evil.example\r\nX: ") + KEY + VERSION, 403),
        (HANDSHAKE + b"Host: 127.0.0.1:8088\r\n" + KEY + VERSION, 400),
        (HANDSHAKE.replace(b"/ws/query", b"/x/ws/query") + KEY + VERSION, 404),
        (HANDSHAKE.replace(b"GET", b"POST") + KEY + VERSION, 405),
        (HANDSHAKE + KEY + VERSION + b"Sec-WebSocket-Protocol: graphql-ws\r\n", 101),
        (HANDSHAKE + KEY + VERSION + b"Sec-WebSocket-Extensions: permessage-deflate\r\n", 101),
    ],
)
def test_a_handshake_that_is_not_valid_is_refused_by_a_response(head: bytes, status: int) -> None:
    async def test() -> None:
        client = serve(Talk()).client()
        client.send(head + b"\r\n")

        reply = await client.reply()

        assert reply.status == status
        if status == 101:
            assert "sec-websocket-extensions" not in reply.headers
            assert "sec-websocket-protocol" not in reply.headers

    run(test())


def test_frames_before_the_response_end_the_connection() -> None:
    async def test() -> None:
        talk = Talk()
        client = serve(talk).client()

        client.send(HANDSHAKE + KEY + VERSION + b"\r\n" + frame(TEXT, b"early"))

        await client.closed()

    run(test())


def test_a_refused_client_that_does_not_disconnect_is_disconnected() -> None:
    async def test() -> None:
        client = serve(Talk(), with_deadline(QUIET, linger_s=SOON)).client()
        client.send(HANDSHAKE + VERSION + b"\r\n")
        reply = await client.reply()
        client.send(frame(TEXT, b"hello?"))

        await client.closed()

        assert reply.status == 400
        assert client.transport.ended

    run(test())


def test_a_websocket_is_never_closed_to_make_room_and_counts_as_a_request() -> None:
    async def test() -> None:
        limits = with_deadline(QUIET, connections_max=1)
        served = serve(Talk(), limits)
        client = SocketClient(served, PATH)
        await client.until_opened()

        other = served.client()
        await other.closed()

        assert b" 503 " in other.transport.written
        assert not client.http.transport.closed
        assert served.context.counts.in_progress == 1
        client.http.transport.close()
        await served.door.empty.wait()
        assert served.context.counts.connections == 0

    run(test())


def test_a_websocket_may_follow_a_request_on_its_connection() -> None:
    async def test() -> None:
        talk = Talk()
        served = serve(talk, with_deadline(QUIET, connections_max=1))
        client = served.client()
        info = b"GET /nope HTTP/1.1\r\nHost: 127.0.0.1:8088\r\n\r\n"
        client.send(info + HANDSHAKE + KEY + VERSION + b"\r\n")
        assert (await client.reply()).status == 404
        assert (await client.reply()).status == 101
        talk.parts.put_nowait([b"hello"])

        await client.until(lambda: b"hello" in client.transport.written)
        await served.client().closed()

        assert not client.transport.closed

    run(test())


def test_a_server_loads_the_library_with_the_first_websocket() -> None:
    code = "import sys, duolog.server.process; print('websockets' in sys.modules)"

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert printed.stdout.strip() == b"False", printed.stderr
