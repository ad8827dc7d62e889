"""Responses of operations as messages of ASGI.

Thread: the event loop.
"""

from starlette.responses import StreamingResponse

from duolog.server.http.bodies import Receive
from duolog.server.http.passage import Message, Send
from duolog.server.messages import Response, Streamed

_BODILESS = frozenset({204, 304})


async def send_response(response: Response, send: Send, *, head: bool) -> None:
    """Send a whole response; without its body if the request was HEAD."""
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in response.headers
    ]
    if response.status not in _BODILESS:
        headers.append((b"content-length", str(len(response.body)).encode()))
        if response.body:
            headers.append((b"content-type", response.media_type.encode("latin-1")))
    start: Message = {"type": "http.response.start", "status": response.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": b"" if head else response.body})


async def send_streamed(streamed: Streamed, scope: Message, receive: Receive, send: Send) -> None:
    """Send a response while it is made; its iterator ends if the client leaves."""
    response = StreamingResponse(
        streamed.pieces,
        streamed.status,
        dict(streamed.headers),
        # Starlette would add a charset to types of text.
        media_type=None,
    )
    response.raw_headers.append((b"content-type", streamed.media_type.encode("latin-1")))
    await response(scope, receive, send)
