"""A request on its way through the gate: what is known of it, and what was sent.

Thread: the event loop.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from secrets import token_hex
from typing import Any, Final
from urllib.parse import unquote_plus

from duolog.server.access.client import NOBODY, Client
from duolog.server.errors import BAD_REQUEST, RequestRefused

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
KEY: Final = "duolog.passage"
"""The entry of a scope with the passage of its request."""
PAGE_HEADER: Final = "x-requested-with"
"""The name in lower case of the header by which the page of the console names itself."""

_REQUEST_ID: Final = "x-request-id"
_REQUEST_ID_MAX: Final = 128
_SECURE: Final = frozenset({"https", "wss"})
_STARTS: Final = frozenset({"http.response.start", "websocket.accept"})
_SWITCHED: Final = 101
_GONE: Final = 499
"""The status in log and metrics of a client that left before its response began."""


class Passage:
    """One request.

    Attributes:
        headers: by names in lower case.
        path: as the client has sent it. What follows a question mark is not logged: it may be a
            statement or a token.
        target_bytes: the size of both.
        is_socket: True for a request to a WebSocket, which is refused by a response of HTTP.
        client: set after the login.
        operation: the name of the endpoint; empty as long as none is found.
        is_poll: True if the client asks this again and again, see `Endpoint.polled`.
        note: the code of an error, for the access log.
        status: of the response that was sent.
        give_back: gives back the request's place among those that are being answered.
    """

    def __init__(self, scope: Message, send: Send) -> None:
        self.headers = headers_of(scope)
        self.host = scope["client"][0] if scope.get("client") else ""
        self.path: bytes = scope["raw_path"]
        self.target_bytes = len(self.path) + len(scope["query_string"])
        self.method: str = scope["method"]
        self.is_socket: bool = scope["type"] == "websocket"
        self.secure: bool = scope["scheme"] in _SECURE
        self.client: Client = NOBODY
        self.operation = ""
        self.is_poll = False
        self.note = ""
        self.status = _GONE
        self.give_back: Callable[[], None] = _nothing
        self.started = False
        self.begun_at = time.perf_counter()
        self._id = _request_id(self.headers)
        self._send = answering(scope, send)

    @property
    def seconds(self) -> float:
        """The time since the headers were received."""
        return time.perf_counter() - self.begun_at

    async def send(self, message: Message) -> None:
        """Send a part of the response, with the headers that every response has."""
        if message["type"] in _STARTS:
            self.started = True
            self.status = message.get("status", _SWITCHED)
            message["headers"] = [
                *message.get("headers", ()),
                (b"x-request-id", self._id),
                (b"x-content-type-options", b"nosniff"),
            ]
        await self._send(message)


def _nothing() -> None:
    """Do nothing: the request has no place."""


def headers_of(scope: Message) -> Mapping[str, str]:
    """Return the headers of a request; repeated ones are joined.

    Raises:
        RequestRefused: there is more than one header Host.
    """
    headers: dict[str, str] = {}
    for name_bytes, value_bytes in scope["headers"]:
        name, value = name_bytes.decode("latin-1"), value_bytes.decode("latin-1").strip()
        known = headers.get(name)
        if known is not None and name == "host":
            raise RequestRefused("The request has more than one header Host", BAD_REQUEST)
        separator = "; " if name == "cookie" else ", "
        headers[name] = value if known is None else f"{known}{separator}{value}"
    return headers


def answering(scope: Message, send: Send) -> Send:
    """Return a function that sends responses of HTTP, also in place of a WebSocket's handshake.

    Source: ASGI's extension "WebSocket Denial Response".
    """
    if scope["type"] != "websocket":
        return send

    async def answer(message: Message) -> None:
        kind: str = message["type"]
        await send({**message, "type": f"websocket.{kind.removeprefix('websocket.')}"})

    return answer


def token_of(scope: Message) -> str | None:
    """Return the token in the address of a request, which only a WebSocket may have there.

    Browsers cannot send the header Authorization with a WebSocket.
    """
    found = (one.partition(b"=") for one in scope["query_string"].split(b"&"))
    tokens = [value for name, _, value in found if name == b"access_token"]
    return unquote_plus(tokens[-1].decode("latin-1")) if tokens else None


def _request_id(headers: Mapping[str, str]) -> bytes:
    given = headers.get(_REQUEST_ID, "")
    usable = 0 < len(given) <= _REQUEST_ID_MAX and given.isascii() and given.isprintable()
    # As random as a UUID, at a fifth of its cost.
    return given.encode() if usable else token_hex(16).encode()
