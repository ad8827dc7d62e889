"""Connections of one server: HTTP/1.1 and HTTP/2 on one port, counted and limited.

    accept ── full? another one is closed ──▶ first bytes ─▶ Http1 | Http2
                                         └──▶ TLS handshake ─┘

A connection counts from its start, and is idle during the handshake: asyncio alone would report it
after the handshake. ALPN selects the protocol. Without TLS, a client with prior knowledge of HTTP/2
starts with its preface.

Connections are closed to make room only if they wait for their clients (`Waits`).
`core/eviction.py` chooses: of the kind and of the client's address that have the most, the oldest.

uvicorn's classes parse and speak; the subclasses add what they do not limit (ADR 0129).

Thread: the event loop.
Source: RFC 9113 section 3.3 (prior knowledge), RFC 7301 (ALPN).
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol

from uvicorn.config import Config
from uvicorn.server import ServerState

from duolog.core.eviction import Evictable
from duolog.server.http.gathered_writes import GatheredWrites
from duolog.server.limits import Limits
from duolog.server.operations.counts import Counts

if TYPE_CHECKING:
    import ssl

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
ALPN: Final = ("h2", "http/1.1")
_CLOCK_S: Final = 0.001
_BUSY: Final = b'{"@type":"generic_error","error_code":50300,"message":"Too many connections"}'
_REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(_BUSY), _BUSY)
)


class Waits(Enum):
    """Reasons for which a connection waits for its client, and may be closed to make room."""

    NEW = "no whole request has come so far, or no handshake"
    IDLE = "a request was answered, and no other one has come"
    BODY = "the rest of a body has not come"
    STALLED = "the client does not read its response"


class Door:
    """The parts that all connections of one server share.

    Attributes:
        config: of uvicorn; it has the application.
        state: of uvicorn; it has the open connections and the tasks that answer requests.
    """

    def __init__(self, config: Config, limits: Limits, counts: Counts) -> None:
        self.config = config
        self.limits = limits
        self.counts = counts
        self.state = ServerState()
        self.empty = asyncio.Event()
        """Set when no connection is open."""
        self.empty.set()
        self._open: Evictable[asyncio.Transport, Waits] = Evictable()

    def enter(self, transport: asyncio.Transport) -> bool:
        """Count a new connection; return False if no other one is to be closed for it."""
        host = _host_of(transport)
        if len(self._open) >= self.limits.connections_max:
            evicted = self._open.for_new(host)
            if evicted is None:
                return False
            self._evict(evicted)
        self._open.open(transport, host)
        self.waits(transport, Waits.NEW)
        self.empty.clear()
        self.counts.connections = len(self._open)
        return True

    def busy(self, transport: asyncio.Transport) -> None:
        """Note that the server works for a connection."""
        self._open.keep(transport)

    def waits(self, transport: asyncio.Transport, reason: Waits) -> None:
        """Note that a connection waits for its client, from now on."""
        self._open.set(transport, reason)

    def evict_unfinished(self) -> bool:
        """Close a connection whose client does not send its request or read its response."""
        evicted = self._open.next(Waits.BODY, Waits.STALLED)
        if evicted is not None:
            self._evict(evicted)
        return evicted is not None

    def leave(self, transport: asyncio.Transport) -> None:
        """Forget a connection that is closed."""
        self._open.close(transport)
        self.counts.connections = len(self._open)
        if not len(self._open):
            self.empty.set()

    def exchange(self, old: asyncio.Transport, new: asyncio.Transport) -> None:
        """Count a connection by another transport; abort it if it has been closed meanwhile."""
        if old not in self._open:
            new.abort()
            return
        self._open.close(old)
        self._open.open(new, _host_of(new))
        self.waits(new, Waits.NEW)

    def abort_all(self) -> None:
        """Close all connections at once."""
        for transport in self._open:
            transport.abort()

    def _evict(self, transport: asyncio.Transport) -> None:
        self.counts.evicted += 1
        transport.abort()
        self.leave(transport)


def _host_of(transport: asyncio.Transport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if peer else ""  # It has left already.


class _Made(Protocol):
    """A class of protocols."""

    def __call__(self, door: Door, loop: asyncio.AbstractEventLoop) -> asyncio.Protocol: ...


class FirstBytes(asyncio.Protocol):
    """A new connection, until it is known which protocol it speaks."""

    def __init__(
        self, door: Door, http1: _Made, http2: _Made, tls: "ssl.SSLContext | None" = None
    ) -> None:
        self._door = door
        self._http1, self._http2 = http1, http2
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._received = b""
        self._tls = tls
        self._handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._door.enter(transport):
            if self._tls is None:
                transport.write(_REFUSAL)
            transport.close()
            return
        self._door.state.connections.add(self)  # type: ignore[arg-type]  # uvicorn calls shutdown only
        if self._tls is not None:
            transport.pause_reading()
            self._handshake = self._loop.create_task(self._secure(transport, self._tls))
            return
        self._timer = self._loop.call_later(self._door.limits.idle_s, transport.abort)

    def data_received(self, data: bytes) -> None:
        if self._handshake is not None:
            # The end of the handshake came with the start of a request.
            self._received += data
            return
        if not self._received and self._timer is not None:
            self._timer.cancel()
            self._timer = self._loop.call_later(self._door.limits.head_s, self._abort)
        self._received += data
        if len(self._received) < len(PREFACE) and PREFACE.startswith(self._received):
            return
        self._switch(http2=self._received.startswith(PREFACE))

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._forget()
        if self._transport is not None:
            self._door.leave(self._transport)

    def shutdown(self) -> None:
        """Close the connection, because the server stops."""
        self._abort()

    async def _secure(self, transport: asyncio.Transport, tls: "ssl.SSLContext") -> None:
        door = self._door
        try:
            secured = await self._loop.start_tls(
                transport,
                self,
                tls,
                server_side=True,
                ssl_handshake_timeout=door.limits.handshake_s,
            )
        except OSError:  # Errors of TLS and a handshake that takes too long are such errors, too.
            secured = None
        if secured is None:  # The connection is lost; asyncio does not report it in a handshake.
            transport.abort()
            self._forget()
            door.leave(transport)
            return
        self._transport = secured
        door.exchange(transport, secured)
        if not secured.is_closing():
            chosen: Any = secured.get_extra_info("ssl_object")
            self._switch(http2=chosen.selected_alpn_protocol() == "h2")

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _forget(self) -> None:
        self._door.state.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _switch(self, *, http2: bool) -> None:
        transport = self._transport
        assert transport is not None
        self._forget()
        made = self._http2 if http2 else self._http1
        protocol = made(self._door, self._loop)
        transport.set_protocol(protocol)
        protocol.connection_made(GatheredWrites(transport, self._loop))
        if self._received:
            protocol.data_received(self._received)


class Timer:
    """At most one deadline of a connection.

    A later deadline does not replace the call in the event loop, which looks for itself whether it
    came too early: most deadlines are moved with each request, and never reached.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None
        self._call: Callable[[], object] | None = None
        self._due_at = 0.0

    def set(self, seconds: float, call: Callable[[], object]) -> None:
        """Set the deadline, in place of an earlier one."""
        self._call = call
        self._due_at = self._loop.time() + seconds
        if self._handle is None or self._due_at < self._handle.when():
            self._schedule()

    def cancel(self) -> None:
        """Remove the deadline."""
        self._call = None

    def close(self) -> None:
        """Remove the deadline, and the call in the event loop with it."""
        self._call = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _schedule(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._loop.call_at(self._due_at, self._reach)

    def _reach(self) -> None:
        due_at = self._due_at
        self._handle = None
        if self._call is None:
            return
        # The clock of the loop may be coarser than the deadline.
        if self._loop.time() < due_at - _CLOCK_S:
            self._schedule()
            return
        call, self._call = self._call, None
        call()
