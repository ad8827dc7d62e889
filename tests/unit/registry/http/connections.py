"""A connection without a socket: what a client sends, and what it gets."""

import asyncio
from collections.abc import Awaitable, Callable

from duolog.registry.http.messages import HttpRequest, HttpResponse
from duolog.registry.http.protocol import HttpConnection, Waits
from unit.registry.turns import turns


class MemoryTransport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 4242)})
        self.written = b""
        self.closed = False
        self.aborted = False
        self.ended = False
        self.reading = True
        self.full: Callable[[], None] | None = None
        """Called after each write, as asyncio does when the client does not read."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed, "nothing is written to a closed connection"
        self.written += bytes(data)
        if self.full is not None:
            self.full()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Server:
    """The limits of a server, and a gate that holds requests back."""

    def __init__(
        self,
        body_bytes_max: int = 1000,
        connections_max: int = 10,
        bodies_bytes_max: int = 1_000_000,
    ) -> None:
        self.body_bytes_max = body_bytes_max
        self.stopping = False
        self.connections: set[HttpConnection] = set()
        self.requests: list[HttpRequest] = []
        self.open = asyncio.Event()
        self.open.set()
        self._connections_max = connections_max
        self.bodies_left = bodies_bytes_max

    def take(self, size_bytes: int) -> bool:
        if size_bytes > self.bodies_left:
            return False
        self.bodies_left -= size_bytes
        return True

    def give_back(self, size_bytes: int) -> None:
        self.bodies_left += size_bytes

    def opened(self, connection: HttpConnection) -> bool:
        self.connections.add(connection)
        return len(self.connections) <= self._connections_max

    def closed(self, connection: HttpConnection) -> None:
        self.connections.discard(connection)

    def busy(self, connection: HttpConnection) -> None: ...

    def waits(self, connection: HttpConnection, reason: Waits) -> None: ...

    async def answer(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        await self.open.wait()
        return HttpResponse(200, request.method.encode() + b" " + request.path)


class Client:
    """One connection to a `Server`."""

    def __init__(
        self,
        server: Server,
        answer: Callable[[HttpRequest], Awaitable[HttpResponse]] | None = None,
    ) -> None:
        self.server = server
        self.transport = MemoryTransport()
        self.connection = HttpConnection(answer or server.answer, server)
        self.connection.connection_made(self.transport)

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    async def settle(self) -> bytes:
        """Let the answers be written, and return all that was written since the last call."""
        await turns(20)
        written, self.transport.written = self.transport.written, b""
        return written
