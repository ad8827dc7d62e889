"""Connections over TLS count, and are limited, from their start."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from duolog.security.certificates.authority import Authority
from duolog.server.http.connections import ALPN, FirstBytes
from duolog.server.http.http1 import Http1
from duolog.server.http.http2 import Http2
from duolog.server.limits import Limits
from unit.registry.turns import until
from unit.server.memory import MemoryServer
from waiting import DEADLINE_S


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates")
    Authority.create(path, hosts=["localhost"], client="ann", days=1)
    return path


class Secured:
    """A server whose connections are pairs of sockets."""

    def __init__(self, certificates: Path, limits: Limits) -> None:
        self.served = MemoryServer(limits=limits)
        self._certificates = certificates
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates / "server.pem")
        self._context.set_alpn_protocols(list(ALPN))
        self._ours: list[socket.socket] = []

    @property
    def open(self) -> int:
        return self.served.context.counts.connections

    async def connect(self) -> socket.socket:
        """Return a client's socket, on which no handshake has begun."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the signature of socket
        self._ours.append(ours)
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: FirstBytes(self.served.door, Http1, Http2, self._context), theirs
        )
        return ours

    async def shake_hands(
        self, ours: socket.socket
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        trusting = ssl.create_default_context(cafile=str(self._certificates / "ca.pem"))
        return await asyncio.open_connection(sock=ours, ssl=trusting, server_hostname="localhost")

    async def close(self) -> None:
        """Close all connections."""
        self.served.door.abort_all()
        await until(lambda: self.open == 0)
        for ours in self._ours:
            ours.close()


async def is_closed(ours: socket.socket) -> bool:
    return await asyncio.get_running_loop().sock_recv(ours, 1) == b""


def run(
    certificates: Path, limits: Limits, test: Callable[[Secured], Coroutine[None, None, None]]
) -> None:
    async def tested() -> None:
        async with asyncio.timeout(DEADLINE_S):
            server = Secured(certificates, limits)
            await test(server)
            await server.close()

    asyncio.run(tested())


def test_a_request_over_tls_is_answered(certificates: Path) -> None:
    async def test(server: Secured) -> None:
        reader, writer = await server.shake_hands(await server.connect())
        writer.write(b"GET /chc/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        await until(lambda: server.open == 0)
        writer.close()

    run(certificates, Limits(), test)


def test_connections_that_shake_no_hands_make_room_for_others(certificates: Path) -> None:
    async def test(server: Secured) -> None:
        silent = [await server.connect() for _ in range(2)]
        await until(lambda: server.open == 2)

        reader, writer = await server.shake_hands(await server.connect())
        writer.write(b"GET /chc/live HTTP/1.1\r\nHost: localhost\r\n\r\n")

        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        assert await is_closed(silent[0])
        assert server.open == 2
        writer.transport.abort()

    run(certificates, Limits(connections_max=2), test)


def test_a_handshake_that_takes_too_long_is_given_up(certificates: Path) -> None:
    async def test(server: Secured) -> None:
        silent = await server.connect()

        assert await is_closed(silent)
        await until(lambda: server.open == 0)

    run(certificates, Limits(handshake_s=0.01), test)


def test_bytes_that_are_not_tls_end_the_connection(certificates: Path) -> None:
    async def test(server: Secured) -> None:
        ours = await server.connect()
        await asyncio.get_running_loop().sock_sendall(ours, b"GET / HTTP/1.1\r\n\r\n" * 10)

        await until(lambda: server.open == 0)

    run(certificates, Limits(), test)
