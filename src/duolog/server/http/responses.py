"""Responses of operations as messages of ASGI.

A response that is made while it is sent ends with the session of its client: after a logout, or a
change of the password, nothing more is sent. Events end as usual; all else is cut off, so that no
client takes a part of a file for all of it.

Thread: the event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Final

from duolog.server.http.bodies import ClientGone, Receive
from duolog.server.http.passage import Message, Send
from duolog.server.messages import Closing, Messages, Response, Streamed

_START: Final = "http.response.start"
_BODY: Final = "http.response.body"
_DISCONNECTED: Final = frozenset({"http.disconnect", "websocket.disconnect"})
_EVENTS: Final = "text/event-stream"
_REASON_MAX: Final = 123
"""Bytes of the reason of a close, by RFC 6455."""
_LOGGED_OUT: Final = Closing(1008, "The session has ended")
"""1008 is a violation of a policy."""
_BODILESS: Final = frozenset({204, 304})


async def send_response(response: Response, send: Send, *, head: bool) -> None:
    """Send a whole response; without its body if the request was HEAD."""
    headers = _encoded(response)
    if response.status not in _BODILESS:
        headers.append((b"content-length", str(len(response.body)).encode()))
        if response.body:
            headers.append((b"content-type", response.media_type.encode("latin-1")))
    start: Message = {"type": _START, "status": response.status, "headers": headers}
    await send(start)
    await send({"type": _BODY, "body": b"" if head else response.body})


async def send_streamed(
    streamed: Streamed,
    receive: Receive,
    send: Send,
    lasts: Callable[[], bool],
    *,
    head: bool,
    listens: bool,
) -> None:
    """Send a response while it is made, and close its iterator in every case.

    With `listens`, it ends when the client leaves, also while it waits for its next piece. An
    operation that reads the request meanwhile notices that by itself.

    Raises:
        ClientGone: the session of the client has ended before the response.
    """
    headers = [(b"content-type", streamed.media_type.encode("latin-1")), *_encoded(streamed)]
    try:
        start: Message = {"type": _START, "status": streamed.status, "headers": headers}
        await send(start)
        if head:
            await send({"type": _BODY, "body": b""})
            return
        # A page connects again, and is then asked to log in.
        is_cut = not streamed.media_type.startswith(_EVENTS)
        sending = _send_pieces(streamed.pieces, send, lasts, is_cut=is_cut)
        await _while_connected(sending, receive if listens else None)
    finally:
        close = getattr(streamed.pieces, "aclose", None)
        if close is not None:
            await close()


async def send_messages(
    messages: Messages, receive: Receive, send: Send, lasts: Callable[[], bool]
) -> None:
    """Open a WebSocket, send its texts while they are made, and close it.

    It ends when the client leaves, also while it waits for the next texts, and before the next
    texts if `lasts` returns False; the iterator is closed in every case.
    """
    try:
        await receive()  # The request to connect.
        accept: Message = {"type": "websocket.accept", "headers": []}
        await send(accept)
        await _while_connected(_send_texts(messages.parts, send, lasts), receive)
    finally:
        close = getattr(messages.parts, "aclose", None)
        if close is not None:
            await close()


async def _while_connected(sending: Coroutine[None, None, None], receive: Receive | None) -> None:
    """Run a task that sends, until its end or until the client leaves if `receive` is given."""
    tasks = [asyncio.ensure_future(sending)]
    if receive is not None:
        tasks.append(asyncio.ensure_future(_gone(receive)))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send_texts(
    parts: AsyncIterator[list[bytes] | Closing], send: Send, lasts: Callable[[], bool]
) -> None:
    async for made in parts:
        part = made if lasts() else _LOGGED_OUT
        if isinstance(part, Closing):
            reason = _cut(part.reason)
            await send({"type": "websocket.close", "code": part.code, "reason": reason})
            return
        for text in part:
            await send({"type": "websocket.send", "text": text})
        await asyncio.sleep(0)  # As in `_send_pieces`.


def _cut(reason: str) -> str:
    """Return what a frame of 125 bytes has room for, besides the code."""
    encoded = reason.encode(errors="replace")
    if len(encoded) <= _REASON_MAX:
        return reason
    return encoded[: _REASON_MAX - 3].decode(errors="ignore") + "..."


async def _send_pieces(
    made: AsyncIterator[bytes], send: Send, lasts: Callable[[], bool], *, is_cut: bool
) -> None:
    async for piece in made:
        if not lasts():
            if is_cut:
                raise ClientGone
            break
        await send({"type": _BODY, "body": piece, "more_body": True})
        # uvicorn returns at once if the client has gone. An iterator that never waits would then
        # keep the loop, so that it never ends.
        await asyncio.sleep(0)
    await send({"type": _BODY, "body": b""})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] not in _DISCONNECTED:
        pass


def _encoded(response: Response | Streamed) -> list[tuple[bytes, bytes]]:
    return [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in response.headers
    ]
