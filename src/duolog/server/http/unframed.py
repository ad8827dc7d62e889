"""Responses to HTTP/1.0 whose length is not known: their end is the end of the connection.

    HTTP/1.1 200 OK
    connection: close

    the body, without chunks

Clients of HTTP/1.0 do not know chunks: they would take their sizes for data.

Thread: the event loop.
Source: RFC 9112, sections 6.1 and 6.3.
"""

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.zttp_impl import RequestResponseCycle

OLD: Final = "1.0"
_BODILESS: Final = frozenset({204, 304})
_CLOSE: Final = (b"connection", b"close")


def unframed(cycle: RequestResponseCycle) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """Return `send` of a response to HTTP/1.0."""
    framed = cycle.send
    plain = False

    async def send(message: Any) -> None:
        nonlocal plain
        if message["type"] == "http.response.start":
            plain = not _has_length(cycle, message)
        if not plain:
            await framed(message)
            return
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        if message["type"] == "http.response.start":
            cycle.response_started = True
            cycle.transport.write(_head(cycle, message))
            return
        cycle.transport.write(message.get("body", b""))
        if not message.get("more_body", False):
            cycle.response_complete = True
            cycle.message_event.set()
            cycle.transport.close()
            cycle.on_response()

    return send


def _has_length(cycle: RequestResponseCycle, start: Any) -> bool:
    names = {name.lower() for name, _ in start.get("headers", ())}
    bodiless = cycle.scope["method"] == "HEAD" or start["status"] in _BODILESS
    return bodiless or b"content-length" in names


def _head(cycle: RequestResponseCycle, start: Any) -> bytes:
    status = HTTPStatus(start["status"])
    headers = [*cycle.default_headers, *start.get("headers", ()), _CLOSE]
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    return f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() + lines + b"\r\n"
