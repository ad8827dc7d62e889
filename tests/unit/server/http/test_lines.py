"""Lines of the delimited form in chunks of HTTP/1.1; `test_http2` has those in frames."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from duolog.server.http.lines import by_line
from duolog.server.http.routes import Endpoint
from duolog.server.messages import Request, Response, Streamed
from duolog.server.operations.context import ServerContext
from duolog.server.queries.row_forms import ARRAY, DELIMITED
from unit.server.http.test_http1 import HEAD, LATE, run
from unit.server.memory import MemoryServer


@pytest.mark.parametrize(("is_open", "added"), [(True, [b"[1]\n", b"[2]\n"]), (False, [])])
def test_nothing_is_added_to_the_stream_of_a_client_that_has_gone(
    *, is_open: bool, added: list[bytes]
) -> None:
    sent: list[Any] = []
    found: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def test() -> None:
        wrapped = by_line(send, found.append, lambda: is_open)
        headers = [(b"content-type", DELIMITED.encode())]
        await wrapped({"type": "http.response.start", "headers": headers})
        await wrapped({"type": "http.response.body", "body": b"[1]\n[2]\n[3]\n"})

    asyncio.run(test())
    assert found == added
    assert b"".join([*found, sent[1]["body"]]) == b"[1]\n[2]\n[3]\n"


@pytest.mark.parametrize(
    ("media_type", "prefer", "chunks"),
    [
        (DELIMITED, b"", [b'{"queryId":"q"}\n', b"[1]\n", b"[2]\n", b"[3]\n", b""]),
        (DELIMITED, b"row-batches", [b'{"queryId":"q"}\n', b"[1]\n[2]\n[3]\n", b""]),
        (ARRAY, b"", [b'{"queryId":"q"}\n', b"[1]\n[2]\n[3]\n", b""]),
    ],
)
def test_each_line_of_the_delimited_form_is_a_chunk(
    media_type: str, prefer: bytes, chunks: list[bytes]
) -> None:
    """PyPI's ksql parses each chunk as a row. The second request is pipelined."""

    async def rows(request: Request, context: ServerContext) -> Streamed:
        async def pieces() -> AsyncIterator[bytes]:
            yield b'{"queryId":"q"}\n'
            yield b"[1]\n[2]\n[3]\n"
            yield b""

        return Streamed(pieces(), media_type)

    async def test() -> None:
        client = MemoryServer(limits=LATE, endpoints=(Endpoint("GET", "/rows", rows),)).client()
        client.send(b"GET /rows HTTP/1.1\r\n%bPrefer: %b\r\n\r\n" % (HEAD, prefer) * 2)

        end = b"0\r\n\r\n"
        await client.until(lambda: client.transport.written.count(end) == 2)
        for answer in client.transport.written.split(end)[:2]:
            body = answer.partition(b"\r\n\r\n")[2] + end
            assert body == b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks)

    run(test())


def test_a_whole_response_in_the_delimited_form_has_its_length() -> None:
    async def whole(request: Request, context: ServerContext) -> Response:
        return Response(b'{"queryId":"q"}\n[1]\n', media_type=DELIMITED)

    async def test() -> None:
        client = MemoryServer(limits=LATE, endpoints=(Endpoint("GET", "/rows", whole),)).client()
        client.send(b"GET /rows HTTP/1.1\r\n%b\r\n" % HEAD)

        assert (await client.reply()).body == b'{"queryId":"q"}\n[1]\n'

    run(test())
