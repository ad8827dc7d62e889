"""One connection of HTTP/1.1: bytes to requests, one request at a time, responses to bytes.

    idle ── first byte ──► reading ── last byte ──► answering ── response ──► idle
     │ IDLE_S                │ READ_S                  (pipelined requests wait)
     ▼ closed                ▼ 408, closed

llhttp parses (through httptools). Everything that a client can make long is limited: the request
line, the headers, the body, the number of waiting requests, and the time for each state. What was
received is parsed as far as requests are answered: parsed requests take far more memory. The bodies
of all connections share `Connections.take`, because a client sends one before it is authenticated.
A client that does not read its answer is disconnected.

Thread: the event loop.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final, Protocol

import httptools

from duolog.registry.http.messages import HttpRequest, HttpResponse
from duolog.registry.http.wire import CONTINUE, encode, error_response

IDLE_S: Final = 75.0
READ_S: Final = 30.0
WRITE_S: Final = 30.0
LINGER_S: Final = 2.0
TARGET_BYTES_MAX: Final = 32 * 1024
HEADER_BYTES_MAX: Final = 32 * 1024
PIECE_BYTES: Final = 4 * 1024
"""So much is parsed at a time: a piece has at most some hundred requests."""
WAITING_MAX: Final = 16
"""Pipelined requests that were received while another one is answered."""
_HOP_BY_HOP: Final = frozenset({"upgrade", "connection", "http2-settings", "expect"})

Answer = Callable[[HttpRequest], Awaitable[HttpResponse]]


class Waits(Enum):
    """Reasons for which a connection waits for its client, and may be closed to make room."""

    NEW = "no whole request has come so far"
    IDLE = "a request was answered, and no whole other one has come"
    STALLED = "the client does not read its response"


class Connections(Protocol):
    """The part of a server that a connection needs."""

    body_bytes_max: int
    stopping: bool

    def opened(self, connection: "HttpConnection") -> bool:
        """Note a connection; return whether it may be served."""

    def closed(self, connection: "HttpConnection") -> None:
        """Forget a connection."""

    def busy(self, connection: "HttpConnection") -> None:
        """Note that a request of a connection is being answered."""

    def waits(self, connection: "HttpConnection", reason: Waits) -> None:
        """Note that a connection waits for its client, from now on."""

    def take(self, size_bytes: int) -> bool:
        """Hold bytes of a body; return False if all bodies together would be too large."""

    def give_back(self, size_bytes: int) -> None:
        """Hold these bytes no more."""


class _Refused(Exception):
    """A request that the parser's callbacks refuse."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.response = error_response(status, message)


class HttpConnection(asyncio.Protocol):
    """Receives requests of one client and answers them in order."""

    def __init__(self, answer: Answer, server: Connections) -> None:
        self._answer = answer
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self.host = ""
        """The address of the client, without its port."""
        self._client = ""
        self._waiting: deque[tuple[HttpRequest, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._refusal: HttpResponse | None = None
        self._unparsed = bytearray()
        self._held_bytes = 0
        """Bytes of bodies that the server counts."""
        self._reading = False
        self._ended = False
        self._start_request()

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self.host = str(peer[0]) if peer else ""
        self._client = f"{peer[0]}:{peer[1]}" if peer else ""
        if self._server.opened(self):
            self._arm(IDLE_S, self._close)
        else:
            self._refuse(error_response(503, "Too many connections"))

    def data_received(self, data: bytes) -> None:
        if self._refusal is None:
            self._unparsed += data
            self._parse()

    def _parse(self) -> None:
        """Parse what was received, unless enough requests wait to be answered."""
        while self._unparsed and self._refusal is None and len(self._waiting) <= WAITING_MAX:
            data = bytes(self._unparsed[:PIECE_BYTES])
            del self._unparsed[:PIECE_BYTES]
            self._feed(data)
        if len(self._waiting) > WAITING_MAX and self._transport is not None:
            self._transport.pause_reading()

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data, upgrade)
        except httptools.HttpParserError as error:
            refused = error.__context__
            self._refuse(
                refused.response
                if isinstance(refused, _Refused)
                else error_response(400, "HTTP 400 Bad Request")
            )

    def eof_received(self) -> bool:
        """Keep the connection if an answer is outstanding: the client may still read it."""
        self._ended = True
        return self.busy

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._disarm()
        self._transport = None
        self._waiting.clear()
        self._unparsed.clear()
        self._release(self._held_bytes)
        self._writable.set()
        self._server.closed(self)

    def pause_writing(self) -> None:
        self._writable.clear()
        self._arm(WRITE_S, self._abort)
        self._server.waits(self, Waits.STALLED)

    def resume_writing(self) -> None:
        self._writable.set()
        self._disarm()
        if self.busy:
            self._server.busy(self)

    # llhttp's callbacks

    def on_message_begin(self) -> None:
        self._start_request()
        self._reading = True
        if self._task is None:
            self._arm(READ_S, self._too_slow)

    def on_url(self, url: bytes) -> None:
        self._target += url
        if len(self._target) > TARGET_BYTES_MAX:
            raise _Refused(414, "HTTP 414 Request-URI Too Long")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > HEADER_BYTES_MAX:
            raise _Refused(431, "HTTP 431 Request Header Fields Too Large")
        if self._in_body:  # A trailer: a proxy before us has not looked for headers there.
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        if key == "host" and key in self._headers:
            raise _Refused(400, "HTTP 400 Bad Request")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        self._in_body = True
        length = self._headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self._server.body_bytes_max:
            raise _Refused(413, self._too_large)
        if self._headers.get("expect", "").lower() == "100-continue" and self._transport:
            self._transport.write(CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > self._server.body_bytes_max:
            raise _Refused(413, self._too_large)
        if not self._server.take(len(body)):
            raise _Refused(503, "Too many large requests are being received")
        self._held_bytes += len(body)

    def on_message_complete(self) -> None:
        if self._parser.should_upgrade():
            return  # `_ignore_upgrade` reads it again.
        self._reading = False
        path, _, query = bytes(self._target).partition(b"?")
        if not path.startswith(b"/"):
            path = _path_of_absolute(bytes(self._target)) or path
        request = HttpRequest(
            self._parser.get_method().decode("ascii"),
            path,
            query.partition(b"#")[0],
            self._headers,
            bytes(self._body),
            self._client,
        )
        self._waiting.append((request, self._parser.should_keep_alive()))
        self._start_answering()

    # Own steps

    @property
    def busy(self) -> bool:
        """True if a request is being answered or waits for it."""
        return self._task is not None or bool(self._waiting)

    def stop(self) -> None:
        """Close the connection after the answers that are outstanding."""
        if not self.busy:
            self._close()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._task is not None:
            self._task.cancel()
        self._abort()

    @property
    def _too_large(self) -> str:
        return f"Request body is larger than {self._server.body_bytes_max} bytes"

    def _start_request(self) -> None:
        self._target = bytearray()
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._in_body = False
        self._body = bytearray()

    def _start_answering(self) -> None:
        if self._task is None and self._waiting:
            self._disarm()
            self._server.busy(self)
            self._task = self._loop.create_task(self._answer_waiting())

    async def _answer_waiting(self) -> None:
        try:
            while self._waiting and self._transport is not None:
                request, keep_alive = self._waiting.popleft()
                response = await self._answer(request)
                self._release(len(request.body))
                keep_alive = keep_alive and not self._server.stopping
                self._write(response, method=request.method, keep_alive=keep_alive)
                if not keep_alive:
                    self._close()
                    return
                await self._writable.wait()
        finally:
            self._task = None
        self._after_answers()

    def _after_answers(self) -> None:
        if self._transport is None:
            return
        self._parse()
        if self.busy:
            return
        if self._refusal is not None:
            self._refuse(self._refusal)
        elif self._server.stopping or self._ended:
            self._close()
        else:
            self._transport.resume_reading()
            self._server.waits(self, Waits.IDLE)
            if self._reading:
                self._arm(READ_S, self._too_slow)
            else:
                self._arm(IDLE_S, self._close)

    def _write(self, response: HttpResponse, *, method: str = "GET", keep_alive: bool) -> None:
        if self._transport is not None:
            self._transport.write(encode(response, method=method, keep_alive=keep_alive))

    def _refuse(self, response: HttpResponse) -> None:
        """Answer what cannot be parsed, after the answers that are outstanding, and close.

        The rest of the request is read and dropped for a short time: a connection that is closed
        with unread bytes is reset, and the client may lose the answer.
        """
        self._refusal = response
        self._unparsed.clear()
        if self._reading:  # Its body goes no further.
            self._release(len(self._body))
            self._start_request()
        if self.busy or self._transport is None:
            return
        self._write(response, keep_alive=False)
        if self._ended or not self._transport.can_write_eof():
            self._close()
        else:
            self._transport.write_eof()
            self._arm(LINGER_S, self._abort)

    def _too_slow(self) -> None:
        self._refuse(error_response(408, "HTTP 408 Request Timeout"))

    def _ignore_upgrade(self, data: bytes, upgrade: Exception) -> None:
        """Read a request that offers an upgrade, as Java's HTTP client does, as one without.

        llhttp ends such a request after its headers and takes the body for the other protocol.
        """
        method = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse(error_response(405, "HTTP 405 Method Not Allowed"))
            return
        lines = [method + b" " + bytes(self._target) + b" HTTP/1.1"]
        lines.extend(
            f"{name}: {value}".encode("latin-1")
            for name, value in self._headers.items()
            if name not in _HOP_BY_HOP
        )
        self._parser = httptools.HttpRequestParser(self)
        rest = data[int(upgrade.args[0]) :]
        self._unparsed[:0] = b"\r\n".join(lines) + b"\r\n\r\n" + rest

    def _release(self, size_bytes: int) -> None:
        size_bytes = min(size_bytes, self._held_bytes)
        self._held_bytes -= size_bytes
        self._server.give_back(size_bytes)

    def _arm(self, seconds: float, then: Callable[[], None]) -> None:
        self._disarm()
        self._timer = self._loop.call_later(seconds, then)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._arm(WRITE_S, self._abort)  # A client that does not read never lets it close.

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _path_of_absolute(target: bytes) -> bytes | None:
    """Return the path of `http://HOST/PATH`, the form that proxies receive."""
    try:
        parsed = httptools.parse_url(target)
    except httptools.HttpParserError:
        return None
    path: bytes | None = parsed.path
    return path or b"/"
