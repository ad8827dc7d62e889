"""HTTP/2 with limits of time and size, on uvicorn's protocol.

    no stream ── idle_s ─▶ closed
    a stream  ── its client opens no window for write_s ─▶ reset

A response waits as soon as `PARKED_BYTES_MAX` of it do not fit into the window of its client, as a
response of HTTP/1.1 waits for the socket. A client that resets most of its streams is
disconnected (CVE-2023-44487).

Thread: the event loop.
Source: RFC 9113.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final

import zttp
from uvicorn.protocols.http.zttp_h2_impl import RequestResponseCycle, ZttpH2Protocol

from duolog.core.units import KIB
from duolog.server.http.connections import Door, Timer, Waits
from duolog.server.http.lines import by_line, prefers_batches

PARKED_BYTES_MAX: Final = 64 * KIB
RESETS_MAX: Final = 100
"""The number of streams that may be reset in addition to those that were answered."""
UNPRODUCTIVE_BYTES_MAX: Final = 256 * KIB
"""Bytes that complete neither headers nor a part of a body."""
_REFUSED_STREAM: Final = 7
_ENHANCE_YOUR_CALM: Final = 11
_PROTOCOL_ERROR: Final = 1


class Http2(ZttpH2Protocol):
    """One connection."""

    def __init__(self, door: Door, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(door.config, door.state, {}, loop)
        self._door = door
        self._timer = Timer(loop)
        self._write_timer = Timer(loop)
        self._window = asyncio.Event()
        """Replaced whenever a window has grown."""
        self._resets_left = RESETS_MAX
        self._unproductive_bytes = 0
        self._has_asked = False
        self._stalled = False
        """True while the socket of the client is full."""
        self._parked = 0
        """Streams whose response waits for a window of the client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        self._unproductive_bytes += len(data)
        super().data_received(data)
        self._unset_keepalive_if_required()
        if self._resets_left < 0 or self._unproductive_bytes > UNPRODUCTIVE_BYTES_MAX:
            self._end(_ENHANCE_YOUR_CALM)
            return
        self._window.set()
        self._window = asyncio.Event()
        if self.cycles:
            self._note_work()

    def events(self) -> Generator[zttp.Event]:
        for event in super().events():
            if isinstance(event, zttp.Request | zttp.Data):
                self._unproductive_bytes = 0
            elif isinstance(event, zttp.RstStream):
                self._resets_left -= 1
            yield event

    def handle_request(self, event: zttp.Request) -> None:
        stream = event.stream_id
        if len(self.cycles) >= self._door.limits.streams_max:
            self.conn.stream(stream).reset(_REFUSED_STREAM)
            return
        try:
            super().handle_request(event)
        except UnicodeDecodeError:  # A target that is not ASCII.
            self.conn.stream(stream).reset(_PROTOCOL_ERROR)
            return
        self._timer.cancel()
        self._has_asked = True
        cycle = self.cycles[stream]
        if event.end_stream:
            # zttp reports no end after such headers; uvicorn 0.54 waits for it.
            cycle.more_body = False
            cycle.message_event.set()
        self._bound(cycle)

    def on_response_complete(self, stream_id: int) -> None:
        self._resets_left = min(self._resets_left + 1, RESETS_MAX)
        cycle = self.cycles.get(stream_id)
        if cycle is not None:
            # Its `send` refers to it; the collector of reference cycles would stop all requests.
            vars(cycle).pop("send", None)
        super().on_response_complete(stream_id)

    def on_stream_closed(self) -> None:
        super().on_stream_closed()
        self._unset_keepalive_if_required()
        if not self.cycles and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._window.set()
        self._timer.close()
        self._write_timer.close()
        self._unset_keepalive_if_required()
        self._door.leave(self.transport)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer.set(self._door.limits.write_s, self.transport.abort)
        self._stalled = True
        self._door.waits(self.transport, Waits.STALLED)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._write_timer.cancel()
        self._stalled = False
        if self.cycles:
            self._note_work()
        elif self._has_asked:
            self._door.waits(self.transport, Waits.IDLE)

    def _wait(self) -> None:
        self._timer.set(self._door.limits.idle_s, self._close_connection)
        if self._has_asked:
            self._door.waits(self.transport, Waits.IDLE)

    def _note_work(self) -> None:
        """Note if the connection waits for its client, while requests are in progress."""
        if self._stalled or 0 < len(self.cycles) == self._parked:
            self._door.waits(self.transport, Waits.STALLED)
        elif all(cycle.more_body for cycle in self.cycles.values()):
            self._door.waits(self.transport, Waits.BODY)
        else:
            self._door.busy(self.transport)

    def _end(self, reason: int) -> None:
        if not self.transport.is_closing():
            self.conn.close(reason)
            self.flush()
            self.transport.abort()

    def _bound(self, cycle: RequestResponseCycle) -> None:
        """Let a response wait for the window of its client."""

        def add(line: bytes) -> None:
            cycle.stream.send_data(line)
            if cycle.expected_content_length is not None:
                # uvicorn counts only what it sends itself.
                cycle.expected_content_length -= len(line)

        send: Callable[[Any], Awaitable[None]] = cycle.send
        if not prefers_batches(cycle.scope["headers"]):
            send = by_line(send, add, lambda: not cycle.disconnected)

        async def send_within_window(message: Any) -> None:
            await send(message)
            if not self._parks(cycle):
                return
            self._parked += 1
            self._note_work()
            try:
                async with asyncio.timeout(self._door.limits.write_s):
                    while self._parks(cycle):
                        await self._window.wait()
            except TimeoutError:
                cycle.abort_stream()
                cycle.message_event.set()
            finally:
                self._parked -= 1
                if self.cycles:
                    self._note_work()

        cycle.send = send_within_window  # type: ignore[method-assign]

    def _parks(self, cycle: RequestResponseCycle) -> bool:
        if cycle.disconnected or cycle.response_complete or self.transport.is_closing():
            return False
        return (cycle.stream.pending_bytes or 0) > PARKED_BYTES_MAX
