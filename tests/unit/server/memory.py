"""A server without a socket: clients write bytes to its connections, and read what it writes."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from uvicorn.config import Config

from duolog.core.clock import SystemClock
from duolog.registry.http.hosts import AllowedHosts
from duolog.server.access.authentication import (
    Authentication,
    NoAuthentication,
    TokenAuthentication,
)
from duolog.server.access.console_token import ConsoleToken
from duolog.server.access.sessions import Sessions
from duolog.server.http.application import application
from duolog.server.http.connections import Door, FirstBytes
from duolog.server.http.gate import Gate
from duolog.server.http.http1 import Http1
from duolog.server.http.http2 import Http2
from duolog.server.http.routes import ENDPOINTS, Endpoint
from duolog.server.limits import Limits
from duolog.server.operations.broker_health import BrokerHealth
from duolog.server.operations.context import ServerContext
from duolog.server.operations.workers import Workers
from waiting import DEADLINE_S


class Access:
    """Users without a topic of users."""

    def __init__(
        self,
        authentication: Authentication | None = None,
        sessions: Sessions | None = None,
        console_token: ConsoleToken | None = None,
    ) -> None:
        self.authentication: Authentication = authentication or (
            NoAuthentication() if console_token is None else TokenAuthentication(console_token)
        )
        self.sessions = sessions
        self.console_token = console_token
        self.cookie_scope = "" if console_token is None else console_token.scope

    def load(self) -> None: ...

    def start(self, loop: asyncio.AbstractEventLoop) -> None: ...

    def stop(self) -> None: ...


def context(access: Access | None = None, **more: Any) -> ServerContext:
    """Return a context of a server whose broker answers."""
    return ServerContext(
        version="1.2.3",
        cluster_id="cluster-1",
        service_id="default_",
        access=access or Access(),
        sql=more.pop("sql", None),
        workers=Workers(2, 4),
        readers=Workers(3, 100, reserved_max=2),
        health=more.pop("health", None) or BrokerHealth(lambda: True, SystemClock()),
        address="127.0.0.1:8088",
        **more,
    )


class MemoryTransport(asyncio.Transport):
    """Keeps what is written, and wakes who waits for it."""

    def __init__(self, host: str) -> None:
        super().__init__({"peername": (host, 4242), "sockname": ("127.0.0.1", 8088)})
        self.protocol: Any = None
        self.written = b""
        self.changed = asyncio.Event()
        self.closed = False
        self.ended = False
        self.aborted = False
        self.reading = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.closed:
            self.written += bytes(data)
            self.changed.set()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.changed.set()
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def abort(self) -> None:
        self.aborted = True
        self.close()

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Reply(NamedTuple):
    """A response of HTTP/1.1."""

    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """One connection to a server."""

    def __init__(self, server: "MemoryServer", host: str = "127.0.0.1") -> None:
        self.transport = MemoryTransport(host)
        protocol = FirstBytes(server.door, Http1, Http2)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)

    def send(self, data: bytes) -> None:
        assert not self.transport.closed, "the server has closed the connection"
        self.transport.protocol.data_received(data)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds after what the server writes, or after its close."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                self.transport.changed.clear()  # Before: `holds` may make the server write.
                if holds():
                    return
                await self.transport.changed.wait()

    async def closed(self) -> None:
        """Wait until the server has closed the connection."""
        await self.until(lambda: self.transport.closed)

    async def reply(self, *, head: bool = False) -> Reply:
        """Return the next response."""
        await self.until(lambda: b"\r\n\r\n" in self.transport.written)
        start, _, rest = self.transport.written.partition(b"\r\n\r\n")
        lines = start.decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines[1:])
        headers = {name.lower(): value for name, _, value in pairs}
        size = 0 if head else int(headers.get("content-length", 0))
        await self.until(lambda: len(self.transport.written) >= len(start) + 4 + size)
        self.transport.written = self.transport.written[len(start) + 4 + size :]
        return Reply(int(lines[0].split()[1]), headers, rest[:size] or self._body(b"", size))

    def _body(self, body: bytes, size: int) -> bytes:
        assert size == 0, "the body was read with the headers"
        return body

    async def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> Reply:
        """Send a request and return its response; names of headers have _ in place of -."""
        given = {"Host": "127.0.0.1:8088", **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body:
            given["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        self.send(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        return await self.reply(head=method == "HEAD")


class MemoryServer:
    """A server within the running event loop."""

    def __init__(
        self,
        server_context: ServerContext | None = None,
        limits: Limits | None = None,
        endpoints: Sequence[Endpoint] = ENDPOINTS,
        hosts: Sequence[str] = (),
    ) -> None:
        self.context = server_context or context()
        self.limits = limits or Limits()
        inner = application(self.context, self.limits, endpoints)
        gate = Gate(inner, self.context, AllowedHosts(hosts), self.limits)
        config = Config(gate, ws="none", lifespan="off", interface="asgi3", log_config=None)
        config.load()
        self.door = Door(config, self.limits, self.context.counts)
        gate.evict = self.door.evict_unfinished

    def client(self, host: str = "127.0.0.1") -> Client:
        """Return a client with an address."""
        return Client(self, host)
