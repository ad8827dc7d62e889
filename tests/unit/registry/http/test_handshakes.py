"""TLS handshakes of the registry: bounded in number and time, by events on real sockets."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

import certificates
from certificates import Certificates
from duolog.core.limited_log import LINES_MAX, LimitedLog
from duolog.registry.http import handshakes
from duolog.registry.http.handshakes import HandshakingServer
from duolog.registry.http.messages import HttpRequest, HttpResponse
from duolog.registry.http.server import HttpServer
from duolog.registry.http.tls import RegistryTls
from unit.registry.turns import until
from waiting import DEADLINE_S

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


class World:
    """A registry's HTTP server with TLS, and its clients."""

    def __init__(self, files: Certificates) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.server = HttpServer(self._answer)
        self._tls = RegistryTls(Path(files.server))
        self._context = files.client_context()

    async def start(self) -> HandshakingServer:
        await self.server.start(self.listening, self._tls)
        found = self.server._server  # noqa: SLF001
        assert isinstance(found, HandshakingServer)
        return found

    async def silent(self) -> Streams:
        """Connect and send nothing."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def honest(self) -> bytes:
        """Return the answer to a request over TLS."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self._context, server_hostname="localhost"
        )
        writer.write(REQUEST)
        answer = await reader.read()
        writer.close()
        return answer

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, request.path)


async def ended(reader: asyncio.StreamReader) -> None:
    """Wait until the server has closed the connection; nothing is received before."""
    with suppress(ConnectionResetError):
        assert await reader.read() == b""


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await scenario()

    asyncio.run(limited())


def test_the_oldest_handshake_makes_room_and_honest_clients_are_served(
    files: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Handshakes that never end were bounded by the descriptors of the process only."""
    monkeypatch.setattr(handshakes, "AT_ONCE_MAX", 3)
    monkeypatch.setattr(handshakes, "HANDSHAKE_S", 10 * DEADLINE_S)
    world = World(files)

    async def scenario() -> None:
        server = await world.start()
        held: list[Streams] = []
        for count in range(1, 4):
            held.append(await world.silent())
            await until(lambda count=count: len(server) == count)  # type: ignore[misc]

        assert b"200 OK" in await world.honest()

        await ended(held[0][0])
        assert (server.evicted, len(server)) == (1, 2)
        await world.server.stop()
        for reader, writer in held[1:]:
            await ended(reader)
            writer.close()
        held[0][1].close()

    run(scenario)


def test_a_handshake_that_takes_too_long_is_ended(
    files: Certificates, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(handshakes, "HANDSHAKE_S", 0.01)
    world = World(files)

    async def scenario() -> None:
        server = await world.start()
        reader, writer = await world.silent()

        await ended(reader)

        await until(lambda: server.failed == 1)
        assert len(server) == 0
        assert "TLS handshake failed" in caplog.text
        writer.close()
        await world.server.stop()

    run(scenario)


def test_bytes_that_are_not_of_tls_close_the_connection_and_write_few_lines(
    files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world = World(files)

    async def scenario() -> None:
        server = await world.start()
        for _ in range(2 * LINES_MAX):
            reader, writer = await world.silent()
            writer.write(REQUEST)
            await ended(reader)
            writer.close()
        await until(lambda: server.failed == 2 * LINES_MAX)
        lines = [row for row in caplog.records if row.getMessage() == "TLS handshake failed"]
        assert len(lines) == LINES_MAX
        assert b"200 OK" in await world.honest()
        await world.server.stop()

    run(scenario)


def test_without_descriptors_accepting_pauses_and_resumes(
    files: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "_PAUSE_S", 0.0)
    world = World(files)

    class Refusing(socket.socket):
        refusals = 3

        def accept(self) -> tuple[socket.socket, object]:
            if self.refusals:
                self.refusals -= 1
                raise OSError(24, "Too many open files")
            return super().accept()

    async def scenario() -> None:
        world.listening.listen(5)
        listening = Refusing(fileno=world.listening.detach())
        loop = asyncio.get_running_loop()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.server)
        server = HandshakingServer(
            listening,
            context,
            world.server._connect,  # noqa: SLF001
            LimitedLog(loop.call_later, loop.time),
        )

        assert b"200 OK" in await world.honest()

        assert listening.refusals == 0
        server.close()

    run(scenario)
