"""HTTP/1.1 with limits of time and size, on uvicorn's protocol.

    waiting ── first byte ─▶ head ── all headers ─▶ answering ── response ─▶ waiting
      │ idle_s                │ head_s, 431                   └ body not read to its end: draining
      ▼ closed                ▼ closed                                         │ head_s ▼ closed

A request to a WebSocket leaves HTTP: another class takes its connection over (`websocket.py`).

A client that is refused while it sends a large body gets to read why: what it sends is dropped for
`head_s`, and then the connection is closed.

Thread: the event loop.
Source: RFC 9112.
"""

import asyncio
import sys
from typing import Final

import zttp
from uvicorn.protocols.http.zttp_impl import ZttpProtocol

from duolog.core.units import KIB
from duolog.server.http.connections import Door, Timer, Waits
from duolog.server.http.lines import by_line, prefers_batches
from duolog.server.http.routes import SOCKET_PATHS
from duolog.server.http.unframed import OLD, unframed

PIPELINED_BYTES_MAX: Final = 64 * KIB
"""A client may send so much before the response to its last request."""
_OF_BODIES: Final = frozenset({b"content-length", b"transfer-encoding"})
_SIZE_LIMIT: Final = "size limit"
"""In the text of zttp's error for a header of 16 KiB, or for more than 100 headers."""


def _refusal(status: str, code: int, text: str) -> bytes:
    body = f'{{"@type":"generic_error","error_code":{code},"message":"{text}"}}'
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    ).encode()


_TOO_LARGE: Final = _refusal(
    "431 Request Header Fields Too Large", 43100, "The headers of the request are too large"
)
_MALFORMED: Final = _refusal("400 Bad Request", 40000, "The request is not valid HTTP")


class Http1(ZttpProtocol):
    """One connection."""

    def __init__(self, door: Door, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(door.config, door.state, {}, loop)
        self._door = door
        self._timer = Timer(loop)
        self._write_timer = Timer(loop)
        self._head_bytes = 0
        self._pipelined_bytes = 0
        self._refused = False
        self._stalled = False
        """True while the client does not read."""
        self._socket: asyncio.Protocol | None = None
        """The WebSocket that has taken the connection over."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        refused = self._refused
        if refused:
            return
        before = self.cycle
        answering = before is not None and not before.response_complete
        draining = before is not None and before.response_complete and before.more_body
        if answering and not before.more_body:
            self._pipelined_bytes += len(data)
            if self._pipelined_bytes > PIPELINED_BYTES_MAX:
                self.transport.abort()
                return
        waiting = not answering and not draining
        receiving = answering and before.more_body
        if waiting:
            if self._head_bytes == 0:
                self._timer.set(self._door.limits.head_s, self.transport.abort)
            self._head_bytes += len(data)
        try:
            super().data_received(data)
        except (UnicodeDecodeError, AssertionError):  # A target that is not ASCII.
            self.handle_remote_protocol_error()
        self._unset_keepalive_if_required()
        if self._refused or self._socket is not None:
            if self._socket is not None and not data.endswith(b"\n"):
                # The parser has dropped what follows the headers.
                self.transport.abort()
            return
        if self.cycle is not before:
            self._answer()
        elif receiving and not before.response_complete:
            self._note_work()
        elif draining and not before.more_body:
            self._wait()
        elif waiting and self._head_bytes > self._door.limits.head_bytes_max:
            self._refuse(_TOO_LARGE)

    def handle_events(self, event: zttp.Event) -> None:
        before = self.cycle
        super().handle_events(event)
        cycle = self.cycle
        if cycle is None or cycle is before:
            return
        if cycle.scope["http_version"] == OLD:
            cycle.send = unframed(cycle)  # type: ignore[method-assign, assignment]
        elif not prefers_batches(self.headers):

            def add(line: bytes) -> None:
                self.conn.send_data(line)
                if not cycle.chunked_encoding:
                    # uvicorn counts only what it sends itself.
                    cycle.expected_content_length -= len(line)

            send = by_line(cycle.send, add, lambda: not cycle.disconnected)
            cycle.send = send  # type: ignore[method-assign, assignment]

    def on_response_complete(self) -> None:
        before = self.cycle
        # Its `send` refers to it; the collector of reference cycles would stop all requests.
        vars(before).pop("send", None)
        super().on_response_complete()
        # uvicorn's timer ends with the first byte; the timers of this class replace it.
        self._unset_keepalive_if_required()
        if self.cycle is before and self._socket is None and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
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
        if self.cycle is None or self.cycle.response_complete:
            self._door.waits(self.transport, Waits.IDLE)
        else:
            self._note_work()

    def _should_upgrade(self) -> bool:
        """Return true for a request to a WebSocket; other requests to upgrade are ignored."""
        upgrade: bytes | None = self.conn.upgrade()
        if upgrade is None or upgrade.lower() != b"websocket" or self.scope["method"] != "GET":
            return False
        has_body = any(name in _OF_BODIES for name, _ in self.headers)
        return not has_body and self.scope["path"].endswith(tuple(SOCKET_PATHS))

    def handle_websocket_upgrade(self, event: zttp.Request) -> None:
        """Leave the connection to a WebSocket."""
        del event
        # Imported here: a server without WebSockets does not need the library.
        from duolog.server.http.websocket import WebSocket  # noqa: PLC0415

        self._timer.cancel()
        self._write_timer.cancel()
        self.connections.discard(self)
        self._door.busy(self.transport)
        self._socket = WebSocket(self._door, self.loop, dict(self.scope))
        self.transport.set_protocol(self._socket)
        self._socket.connection_made(self.transport)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, in the form of all errors; zttp limits headers, too."""
        del msg
        # uvicorn calls this while it handles the error of zttp.
        large = _SIZE_LIMIT in str(sys.exception())
        self._refuse(_TOO_LARGE if large else _MALFORMED)

    def _refuse(self, refusal: bytes) -> None:
        """Answer what is not a request, and close the connection.

        Closing it while the client still sends would reset it, and the answer could be lost.
        """
        self._refused = True
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(refusal)
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self._timer.set(self._door.limits.linger_s, self.transport.abort)
        else:
            self.transport.close()

    def _answer(self) -> None:
        self._timer.cancel()
        self._head_bytes = 0
        self._pipelined_bytes = 0
        self._note_work()

    def _note_work(self) -> None:
        """Note if the connection waits for its client, while a request is in progress."""
        if self._stalled:
            self._door.waits(self.transport, Waits.STALLED)
        elif self.cycle.more_body:
            self._door.waits(self.transport, Waits.BODY)
        else:
            self._door.busy(self.transport)

    def _wait(self) -> None:
        limits = self._door.limits
        draining = self.cycle is not None and self.cycle.more_body
        self._head_bytes = 0
        self._timer.set(limits.head_s if draining else limits.idle_s, self.transport.abort)
        if self.cycle is not None:
            self._door.waits(self.transport, Waits.IDLE)
