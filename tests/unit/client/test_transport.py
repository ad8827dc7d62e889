"""Addresses, logins and connections of the client."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

import duolog
from duolog.client.errors import InterfaceError
from duolog.client.transport import KEEPALIVE, Address, unreachable
from duolog.server.http.lines import prefers_batches

_HEADER = b'{"queryId":"q","columnNames":["A"],"columnTypes":["INTEGER"]}\n'
_QUERY = "SELECT a FROM s EMIT CHANGES"


class QuietServer:
    """Answers each query with its header, and sends no rows."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._clients: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._clients.append(client)
                client.recv(65_536)
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + _HEADER)

    def close(self) -> None:
        for client in self._clients:
            client.close()


@pytest.fixture
def server() -> Iterator[QuietServer]:
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listening:
        one = QuietServer(listening)
        yield one
        listening.shutdown(socket.SHUT_RDWR)
        one.close()


@pytest.mark.parametrize(
    "url", ["localhost:8088", "http://", "http://host:port", "http://host:99999", "ftp://host"]
)
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(InterfaceError, match="is not the address of a server"):
        duolog.connect(url)


@pytest.mark.parametrize("token", ["secret\n", "sec ret", "s\u00e9cret"])
def test_a_token_that_no_header_can_have_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InterfaceError, match="the token") as raised:
        duolog.connect("http://127.0.0.1:1", token=token)

    assert "ret" not in str(raised.value)


@pytest.mark.parametrize(
    ("user", "password", "token"), [("", "p", ""), ("u", "", "t"), ("u:v", "p", "")]
)
def test_a_login_that_would_be_ignored_or_misread_is_refused(
    user: str, password: str, token: str
) -> None:
    with pytest.raises(InterfaceError, match="user"):
        duolog.connect("http://127.0.0.1:1", user=user, password=password, token=token)


def test_more_queries_run_at_once_than_a_pool_has_connections_by_default(
    server: QuietServer,
) -> None:
    with duolog.connect(server.url) as connection, ExitStack() as opened:
        cursors = [opened.enter_context(connection.execute(_QUERY)) for _ in range(120)]

    assert len(cursors) == 120


def test_more_queries_of_asyncio_run_at_once(server: QuietServer) -> None:
    async def opened() -> int:
        async with duolog.connect_async(server.url) as connection:
            cursors = [await connection.execute(_QUERY) for _ in range(120)]
            for one in cursors:
                await one.close()
            return len(cursors)

    assert asyncio.run(asyncio.wait_for(opened(), 60.0)) == 120


def test_a_connection_notices_a_server_that_has_gone_without_a_word(server: QuietServer) -> None:
    with (
        duolog.connect(server.url) as connection,
        connection.ensure_open().stream("POST", "/query-stream") as response,
    ):
        used: socket.socket = response.extensions["network_stream"].get_extra_info("socket")

        assert [used.getsockopt(level, option) for level, option, _ in KEEPALIVE] == [
            value for _, _, value in KEEPALIVE
        ]


@pytest.mark.parametrize("token", ["", "abc"])
def test_rows_are_asked_for_in_batches(token: str) -> None:
    """A chunk for each row would take longer to read than the row."""
    headers: Any = Address("http://127.0.0.1:1", token=token).settings()["headers"]

    assert prefers_batches([(name.lower().encode(), one.encode()) for name, one in headers.items()])


def test_a_certificate_that_is_not_trusted_is_reported_with_the_argument_for_its_authority() -> (
    None
):
    address = Address("https://127.0.0.1:8088")
    untrusted = OSError("[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer certificate")

    assert "authorities=FILE" in unreachable(address, untrusted).hint
    assert "authorities" not in unreachable(address, OSError("Connection refused")).hint
