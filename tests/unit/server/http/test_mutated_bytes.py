"""Mutated requests of both protocols: no connection raises an error, and none is forgotten."""

import asyncio
import random

import h2.config
import h2.connection
import pytest

from duolog.server.limits import Limits
from unit.registry.turns import turns
from unit.server.http.test_http1 import ECHO, HEAD, post
from unit.server.memory import MemoryServer

ROUNDS = 400
HTTP1 = (
    post(b"hello"),
    post(b"one") + post(b"two") + b"GET /info?a=%20 HTTP/1.1\r\n" + HEAD + b"\r\n",
    b"POST /echo HTTP/1.1\r\n"
    + HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"POST /echo HTTP/1.1\r\n" + HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
    b"GET /info HTTP/1.1\r\n" + HEAD + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n",
)


def http2() -> bytes:
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    common = [(":scheme", "http"), (":authority", "localhost")]
    client.send_headers(1, [(":method", "POST"), (":path", "/echo"), *common])
    client.send_data(1, b"hello", end_stream=True)
    client.ping(b"12345678")
    client.send_headers(3, [(":method", "GET"), (":path", "/info"), *common], end_stream=True)
    client.increment_flow_control_window(1000)
    client.reset_stream(3)
    return client.data_to_send()


def mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0 if at < len(changed):
                changed[at] = chance.randrange(256)
            case 1:
                changed[at:at] = chance.randbytes(chance.randint(1, 9))
            case 2:
                del changed[at : at + chance.randint(1, 9)]
            case _:
                piece = data[at : at + chance.randint(1, 40)]
                changed[at:at] = piece
    return bytes(changed) or b"\0"


@pytest.mark.parametrize("seed", range(4))
def test_mutated_requests_raise_no_error_and_leave_no_connection(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    valid = (*HTTP1, http2())

    async def test() -> None:
        server = MemoryServer(limits=Limits(linger_s=0.0), endpoints=ECHO)
        for _ in range(ROUNDS):
            client = server.client()
            data = mutated(chance.choice(valid), chance)
            if chance.randrange(3) == 0:
                data = data[: chance.randrange(len(data))]
            while data and not client.transport.closed:
                size = chance.choice([1, 7, 100, 10_000])
                client.send(data[:size])
                data = data[size:]
                await turns(chance.randrange(3))
            client.transport.close()
            await turns(10)

        assert server.context.counts.connections == 0
        assert server.context.counts.in_progress == 0
        assert (await server.client().ask("POST", "/echo", b"after")).body == b"after"

    asyncio.run(test())
