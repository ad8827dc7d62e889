"""Responses in ksqlDB's delimited form: each line is a chunk or a frame of its own.

There are clients that parse a chunk of HTTP/1.1 or a frame of HTTP/2 as one row: PyPI's `ksql` and
npm's `ksqldb-client`. The rows of a batch are sent with one write nevertheless.

Clients that find the lines themselves, such as Duolog's own, ask for batches: libraries of Python
take longer for a chunk than for its row.

    Prefer: row-batches

Source: RFC 7240 (the header Prefer).
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final

from duolog.server.queries.row_forms import DELIMITED

_DELIMITED: Final = (b"content-type", DELIMITED.encode())


_BATCHES: Final = (b"prefer", b"row-batches")


def prefers_batches(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return true if a client needs no chunk or frame for each row."""
    return _BATCHES in headers


def by_line(
    send: Callable[[Any], Awaitable[None]],
    add: Callable[[bytes], None],
    is_open: Callable[[], bool],
) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """Return `send` of a response that hands over all lines of a message but the last with `add`.

    Args:
        send: sends a message of ASGI.
        add: adds a chunk or a frame to what the next call of `send` writes.
        is_open: False if the client has gone.
    """
    delimited = False

    async def send_by_line(message: Any) -> None:
        nonlocal delimited
        if message["type"] == "http.response.start":
            delimited = _DELIMITED in message["headers"]
        elif delimited and is_open():
            *lines, last = message.get("body", b"").splitlines(keepends=True) or [b""]
            for line in lines:
                add(line)
            message = {**message, "body": last}
        await send(message)

    return send_by_line
