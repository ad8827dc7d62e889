"""WebSockets with limits of time and size, on the frames of the library websockets.

    GET with Upgrade ─▶ the gate ─▶ 101 ─▶ texts of the application ─▶ close ── linger_s ─▶ closed
                            └─▶ any other status, with the body of an error ── linger_s ─▶ closed

The application sends texts, and its client's messages are dropped: nothing is asked for after the
request. Messages are limited in size nevertheless, fragments included, and compression is not
offered, so that a small frame stays small. A client whose socket is full is not read either:
otherwise it could fill this process with answers to its pings.

A client that answers no ping for `ping_s` has left without a word, and is disconnected.

Thread: the event loop.
Source: RFC 6455; ASGI's specification of WebSockets.
"""

import asyncio
import logging
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Final

from websockets.datastructures import Headers as RequestHeaders
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from duolog.core.units import KIB
from duolog.server.errors import BAD_REQUEST, RequestRefused
from duolog.server.http.connections import Door, Timer, Waits
from duolog.server.http.passage import Message
from duolog.server.messages import error_response

logger = logging.getLogger(__name__)

MESSAGE_BYTES_MAX: Final = 64 * KIB
"""The size of a message of a client, of which none is used."""
CLOSE_SERVER_ERROR: Final = 1011
_INVALID: Final = "The handshake of the WebSocket is not valid"
_JSON: Final = (b"content-type", b"application/json")
_LIBRARY: Final = logging.getLogger("uvicorn.error")
"""Clients cause the lines of the library; the access log has all that an operator needs."""
Application = Callable[..., Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


class WebSocket(asyncio.Protocol):
    """One connection, after the headers of its handshake.

    Args:
        scope: of ASGI, as for a request of HTTP.
    """

    def __init__(self, door: Door, loop: asyncio.AbstractEventLoop, scope: Message) -> None:
        self._door = door
        self._loop = loop
        self._scope: Message = {
            **scope,
            "type": "websocket",
            "scheme": "wss" if scope["scheme"] == "https" else "ws",
            "subprotocols": [],
            "extensions": {"websocket.http.response": {}},
        }
        self._frames = ServerProtocol(state=State.OPEN, max_size=MESSAGE_BYTES_MAX, logger=_LIBRARY)
        self._transport: asyncio.Transport
        self._accepted = b""
        """The response that opens the WebSocket."""
        self._refusal: Message | None = None
        self._received: asyncio.Queue[Message] = asyncio.Queue()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ping_timer, self._write_timer, self._end_timer = (Timer(loop) for _ in range(3))
        self._is_alive = True
        self._is_ending = False
        self._decoder: IncrementalDecoder | None = None
        """Of the text that the client sends in several frames."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the transport of a connection, and run the application."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._door.state.connections.add(self)  # type: ignore[arg-type]  # its shutdown is called
        response = ServerProtocol(logger=_LIBRARY).accept(_request(self._scope))
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            refused = error_response(RequestRefused(_INVALID, BAD_REQUEST))
            self._write_response(refused.status, [_JSON], refused.body)
            return
        del response.headers["Date"]
        self._accepted = response.serialize().removesuffix(b"\r\n")
        # Frames may follow only after the response.
        transport.pause_reading()
        self._received.put_nowait({"type": "websocket.connect"})
        task = self._loop.create_task(self._run(self._door.config.loaded_app))
        self._door.state.tasks.add(task)
        task.add_done_callback(self._door.state.tasks.discard)

    def data_received(self, data: bytes) -> None:
        if self._is_ending and not self._accepted:
            return
        self._is_alive = True
        self._frames.receive_data(data)
        invalid = self._has_invalid_text()
        if invalid and self._frames.state is State.OPEN:
            self._frames.fail(CloseCode.INVALID_DATA, "a text is not UTF-8")
        self._flush()
        if invalid or self._frames.parser_exc is not None or self._frames.close_rcvd is not None:
            self._note_end()
            self._end_timer.set(self._door.limits.linger_s, self._transport.abort)
            self._transport.close()

    def _has_invalid_text(self) -> bool:
        """Return true if a text is not UTF-8, which the library leaves to its callers."""
        for event in self._frames.events_received():
            if not isinstance(event, Frame):
                continue
            if event.opcode is Opcode.TEXT:
                self._decoder = getincrementaldecoder("utf-8")()
            elif event.opcode is not Opcode.CONT:
                if event.opcode is Opcode.BINARY:
                    self._decoder = None
                continue
            if self._decoder is None:
                continue
            try:
                self._decoder.decode(bytes(event.data), final=event.fin)
            except UnicodeDecodeError:
                return True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._is_ending = True
        for timer in (self._ping_timer, self._write_timer, self._end_timer):
            timer.close()
        self._writable.set()
        self._note_end()
        self._door.state.connections.discard(self)
        self._door.leave(self._transport)

    def pause_writing(self) -> None:
        self._writable.clear()
        self._transport.pause_reading()
        self._write_timer.set(self._door.limits.write_s, self._transport.abort)
        self._door.waits(self._transport, Waits.STALLED)

    def resume_writing(self) -> None:
        self._write_timer.cancel()
        self._door.busy(self._transport)
        self._writable.set()
        if not self._transport.is_closing():
            self._is_alive = True
            self._transport.resume_reading()

    def shutdown(self) -> None:
        """Do nothing: the application ends when the server stops, or its task is cancelled."""

    async def _run(self, application: Application) -> None:
        try:
            await application(self._scope, self._received.get, self._send)
        except Exception:
            logger.exception("a WebSocket has failed")
            self._close(CLOSE_SERVER_ERROR, "")
        finally:
            if not self._is_ending:
                self._transport.abort()

    async def _send(self, message: Message) -> None:
        """Send a message of ASGI; nothing is sent to a client that has left."""
        await self._writable.wait()
        if self._is_ending:
            return
        match message["type"]:
            case "websocket.accept":
                self._accept(message["headers"])
            case "websocket.send":
                self._frames.send_text(message["text"])
                self._flush()
            case "websocket.close":
                self._close(message["code"], message["reason"])
            case "websocket.http.response.start":
                self._refusal = message
            case "websocket.http.response.body":
                assert self._refusal is not None, "the body follows the start"
                self._write_response(
                    self._refusal["status"], self._refusal["headers"], message["body"]
                )
            case other:
                raise AssertionError(other)

    def _accept(self, headers: Headers) -> None:
        more = _lines((*self._door.state.default_headers, *headers))
        self._transport.write(self._accepted + more + b"\r\n")
        self._ping_timer.set(self._door.limits.ping_s, self._ping)
        self._transport.resume_reading()

    def _close(self, code: int, reason: str) -> None:
        """Begin to close; the client answers, or the connection is aborted."""
        if self._is_ending:
            return
        self._is_ending = True
        self._frames.send_close(code, reason)
        self._flush()
        self._ping_timer.cancel()
        self._end_timer.set(self._door.limits.linger_s, self._transport.abort)

    def _write_response(self, status: int, headers: Headers, body: bytes) -> None:
        """Answer with a response of HTTP in place of the handshake, and close the connection."""
        self._is_ending, self._accepted = True, b""
        end = ((b"content-length", b"%d" % len(body)), (b"connection", b"close"))
        every = {**dict(self._door.state.default_headers), **dict(headers), **dict(end)}
        start = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
        self._transport.write(start + _lines(every.items()) + b"\r\n" + body)
        if not self._transport.can_write_eof():
            self._transport.close()
            return
        # Closing it while the client still sends would reset it, and the answer could be lost.
        self._transport.write_eof()
        self._transport.resume_reading()
        self._end_timer.set(self._door.limits.linger_s, self._transport.abort)

    def _ping(self) -> None:
        if not self._is_alive:
            self._transport.abort()
            return
        # A client that is not read cannot answer; the time for writing limits it.
        self._is_alive = not self._writable.is_set()
        self._frames.send_ping(b"")
        self._flush()
        self._ping_timer.set(self._door.limits.ping_s, self._ping)

    def _flush(self) -> None:
        data = b"".join(self._frames.data_to_send())
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def _note_end(self) -> None:
        """Report to the application that the client has left, and send nothing more."""
        self._is_ending = True
        self._received.put_nowait({"type": "websocket.disconnect"})


def _request(scope: Message) -> Request:
    given = ((name.decode(), value.decode("latin-1")) for name, value in scope["headers"])
    return Request(
        scope["path"],
        RequestHeaders(given),
        scope["method"],
        f"HTTP/{scope['http_version']}",
    )


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%s: %s\r\n" % pair for pair in headers)
