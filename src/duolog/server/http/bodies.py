"""Bodies of requests: their size and their time are limited.

A body above the limit is refused by its Content-Length, before it is received, or as soon as it is
too large. All bodies share one more limit, from their first byte to the end of the response: those
of statements that wait for a thread, or of queries that run, need memory like others. Each client
has its share of that.

Thread: the event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final

from duolog.server.errors import (
    BAD_REQUEST,
    BODY_TOO_LARGE,
    REQUEST_TIMEOUT,
    RequestRefused,
)
from duolog.server.limits import Limits
from duolog.server.operations.shares import Shares

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

_DIGITS_MAX: Final = 19


class ClientGone(ConnectionError):
    """The client has closed the connection before its request was complete."""


class Bodies:
    """The bodies of all requests that are being received or answered."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held = Shares(
            limits.bodies_bytes_max,
            full="Too many large requests are being answered",
            noun="bytes for the bodies of requests",
            hint="Wait for the answers to some of them before you send more.",
        )

    def ensure_length(self, header: str | None) -> None:
        """Refuse a header Content-Length above the limit.

        Raises:
            RequestRefused: it is too large, or not a number.
        """
        if header is None:
            return
        if not (header.isascii() and header.isdigit()):
            raise RequestRefused("The header Content-Length is not a number", BAD_REQUEST)
        if len(header) > _DIGITS_MAX or int(header) > self._limits.body_bytes_max:
            raise self._too_large()

    async def read(self, receive: Receive) -> bytes:
        """Return a whole body; the caller passes it to `release` when the request is answered.

        Raises:
            RequestRefused: it is too large, takes too long, or there are too many others.
            ClientGone: the client has left.
        """
        body, whole = bytearray(), False
        try:
            async with asyncio.timeout(self._limits.body_s):
                async for piece in pieces(receive):
                    self._held.add(len(piece))
                    body += piece
                    if len(body) > self._limits.body_bytes_max:
                        raise self._too_large()
            whole = True
        except TimeoutError:
            raise RequestRefused(
                f"The body of the request took longer than {self._limits.body_s:g} s",
                REQUEST_TIMEOUT,
            ) from None
        finally:
            if not whole:
                self._held.remove(len(body))
        return bytes(body)

    def release(self, body: bytes) -> None:
        """Forget a body, because its request is answered."""
        self._held.remove(len(body))

    def _too_large(self) -> RequestRefused:
        most = self._limits.body_bytes_max
        return RequestRefused(
            f"The body of the request is larger than {most} bytes", BODY_TOO_LARGE
        )


async def pieces(receive: Receive) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they come.

    Raises:
        ClientGone: the client has left before its end.
    """
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        if piece := message.get("body", b""):
            yield piece
        if not message.get("more_body", False):
            return
