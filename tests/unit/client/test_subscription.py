"""Subscriptions over several connections, to a server that sends what the test says."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest

import duolog
from duolog.client.errors import OperationalError, ProgrammingError
from duolog.client.requests import TOKEN

_HEADER = b'{"queryId":"q","columnNames":["A"],"columnTypes":["INTEGER"]}\n'
_STOPS = b'{"@type":"generic_error","error_code":50302,"message":"the SQL engine stops"}\n'
_TOO_SLOW = b'{"@type":"generic_error","error_code":40800,"message":"the client read too slowly"}\n'
_QUERY = "SELECT a FROM s EMIT CHANGES"


def _token(text: str) -> bytes:
    return json.dumps({"continuationToken": text}).encode() + b"\n"


class _Server(BaseHTTPRequestHandler):
    """Answers each request with the next body, and closes the connection."""

    bodies: ClassVar[list[bytes]] = []
    requests: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.requests.append(json.loads(self.rfile.read(size)))
        body = self.bodies.pop(0)
        self.send_response(200)
        # A body that is shorter than announced is a lost connection.
        self.send_header("Content-Length", str(len(body) + body.endswith(b"\x00")))
        self.end_headers()
        self.wfile.write(body.rstrip(b"\x00"))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - of the library
        pass


@contextmanager
def serving(*bodies: bytes) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    kept: list[dict[str, Any]] = []
    handler = type("Handler", (_Server,), {"bodies": list(bodies), "requests": kept})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", kept
        finally:
            server.shutdown()
            thread.join()


def _rows(url: str) -> list[int]:
    with duolog.connect(url) as connection, connection.subscribe(_QUERY) as changes:
        return [row.a for row in changes]


def _rows_of_asyncio(url: str) -> list[int]:
    async def rows() -> list[int]:
        async with duolog.connect_async(url) as connection:
            return [row.a async for row in connection.subscribe(_QUERY)]

    return asyncio.run(rows())


@pytest.mark.parametrize("read", [_rows, _rows_of_asyncio])
@pytest.mark.parametrize("end", [_STOPS, b"\x00", _TOO_SLOW], ids=["stopped", "lost", "too slow"])
def test_it_continues_with_the_last_token(read: Any, end: bytes) -> None:
    first = _HEADER + _token("none") + b"[1]\n" + _token("one") + end
    with serving(first, _HEADER + b"[2]\n" + end, _HEADER + b"[2]\n[3]\n") as (url, requests):
        assert read(url) == [1, 2, 2, 3]

    assert [one["properties"].get(TOKEN) for one in requests] == [None, "one", "one"]


@pytest.mark.parametrize("read", [_rows, _rows_of_asyncio])
def test_the_end_of_a_query_is_the_end_of_its_rows(read: Any) -> None:
    with serving(_HEADER + _token("t") + b"[1]\n") as (url, requests):
        assert read(url) == [1]

    assert len(requests) == 1


@pytest.mark.parametrize("read", [_rows, _rows_of_asyncio])
def test_rows_without_a_token_end_with_the_error(read: Any) -> None:
    with serving(_HEADER + b"[1]\n\x00") as (url, _), pytest.raises(OperationalError) as raised:
        read(url)

    assert "cannot be continued" in raised.value.hint


@pytest.mark.parametrize("read", [_rows, _rows_of_asyncio])
def test_a_refused_token_is_an_error_at_once(read: Any) -> None:
    refused = b'{"@type":"statement_error","error_code":40001,"message":"no such token"}\n'
    with (
        serving(_HEADER + _token("t") + _STOPS, refused) as (url, _),
        pytest.raises(ProgrammingError, match="no such token"),
    ):
        read(url)
