"""/inserts-stream over a connection: acknowledgements, and rows that are refused."""

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest

from duolog.core.units import MIB
from duolog.server.access.client import NOBODY
from duolog.server.messages import Request
from duolog.server.operations.ksql import ROWS_AT_ONCE, inserts_stream
from unit.server.ksql.sessions import Catalog
from unit.server.memory import context
from unit.server.operations.test_ksql import STREAM, _chunk, _post, body, in_loop, server


@in_loop
async def test_inserted_rows_are_acknowledged_while_the_request_goes_on() -> None:
    catalog = Catalog()
    client = server(catalog).client()
    await client.ask("POST", "/ksql", body(STREAM))

    client.send(
        b"POST /inserts-stream HTTP/1.1\r\nHost: 127.0.0.1:8088\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    client.send(_chunk(b'{"target": "s"}\n{"id":'))
    client.send(_chunk(b' "a"}\n'))
    await client.until(lambda: b'{"status":"ok","seq":0}' in client.transport.written)
    client.send(_chunk(b'{"id": "b"}') + b"0\r\n\r\n")
    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))

    assert b'{"status":"ok","seq":1}\n' in client.transport.written
    assert catalog.performed[1:] == [
        "INSERT INTO `S` (`ID`) VALUES ('a');",
        "INSERT INTO `S` (`ID`) VALUES ('b');",
    ]


@in_loop
async def test_rows_of_one_piece_are_inserted_together_and_not_too_many() -> None:
    catalog = Catalog()
    client = server(catalog).client()
    await client.ask("POST", "/ksql", body(STREAM))

    rows = b"".join(b'{"n":%d}\n' % number for number in range(ROWS_AT_ONCE + 2))
    client.send(_post("/inserts-stream", b'{"target": "s"}\n\n' + rows + b'{"n":-1}'))
    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))

    assert sum(catalog.batches) == ROWS_AT_ONCE + 3
    assert max(catalog.batches) <= ROWS_AT_ONCE
    assert len(catalog.batches) <= 4
    found = re.findall(rb'{"status":"ok","seq":(\d+)}\n', client.transport.written)
    assert list(map(int, found)) == list(range(ROWS_AT_ONCE + 3))


@in_loop
async def test_no_row_is_inserted_after_an_error_in_an_earlier_piece() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"target": "s"}\n{"n": "x"}\n'
        yield b'{"n": 1}\n'

    catalog = Catalog()
    endpoints = catalog.endpoints()
    endpoints.ksql(body(STREAM))

    request = Request(NOBODY, pieces=pieces())
    streamed = await inserts_stream(request, context(ksql=endpoints))
    acks = [piece async for piece in streamed.pieces]

    assert len(acks) == 1
    assert acks[0].startswith(b'{"status":"error","seq":0,')
    assert len(catalog.performed) == 1


@in_loop
async def test_the_acknowledgement_of_an_error_is_the_last_one() -> None:
    catalog = Catalog()
    client = server(catalog).client()
    await client.ask("POST", "/ksql", body(STREAM))

    rows = b'{"target": "s"}\n{"n": "x"}\n{"id": "b"}\n'
    client.send(_post("/inserts-stream", rows))
    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))

    assert b'{"status":"error","seq":0,"error_code":40001,' in client.transport.written
    assert b'"seq":1' not in client.transport.written
    assert len(catalog.performed) == 1


@in_loop
async def test_a_row_that_is_too_long_is_acknowledged_with_the_reason() -> None:
    catalog = Catalog()
    client = server(catalog).client()
    await client.ask("POST", "/ksql", body(STREAM))

    long = b'{"id": "' + b"x" * MIB + b'"}\n'
    rows = b'{"target": "s"}\n{"id": "a"}\n' + long + b'{"id": "b"}\n'
    client.send(_post("/inserts-stream", rows))
    await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))

    assert b'{"status":"ok","seq":0}' in client.transport.written
    assert b'{"status":"error","seq":1,"error_code":41300,' in client.transport.written
    assert len(catalog.performed) == 2


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (b'{"id": "a"}\n{"id": "b"}\n', [{"status": "ok", "seq": 0}, {"status": "ok", "seq": 1}]),
        (b"", []),
    ],
)
def test_acknowledgements_may_be_an_array(rows: bytes, wanted: list[object]) -> None:
    async def run() -> bytes:
        client = server(Catalog()).client()
        await client.ask("POST", "/ksql", body(STREAM))
        content = b'{"target": "s"}\n' + rows
        head = f"Content-Length: {len(content)}\r\nAccept: application/json\r\n\r\n".encode()
        client.send(b"POST /inserts-stream HTTP/1.1\r\nHost: 127.0.0.1:8088\r\n" + head + content)
        await client.until(lambda: client.transport.written.endswith(b"0\r\n\r\n"))
        return client.transport.written

    written = asyncio.run(run())

    chunks = written.partition(b"\r\n\r\n")[2].split(b"\r\n")
    assert b"content-type: application/json" in written.lower()
    assert json.loads(b"".join(chunks[1::2])) == wanted


@in_loop
async def test_rows_for_an_unknown_stream_are_refused() -> None:
    refused = await server(Catalog()).client().ask("POST", "/inserts-stream", b'{"target": "s"}')

    assert refused.status == 400
    assert "unknown stream: S" in json.loads(refused.body)["message"]
