"""A request on its way through the gate: what is known of it, and what was sent.

Thread: the event loop.
"""

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from duolog.server.access.client import NOBODY, Client
from duolog.server.errors import BAD_REQUEST, RequestRefused

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
KEY: Final = "duolog.passage"
"""The entry of a scope with the passage of its request."""

_REQUEST_ID: Final = "x-request-id"
_REQUEST_ID_MAX: Final = 128
_GONE: Final = 499
"""The status in log and metrics of a client that left before its response began."""


class Passage:
    """One request.

    Attributes:
        headers: by names in lower case.
        client: set after the login.
        operation: the name of the endpoint; empty as long as none is found.
        note: the code of an error, for the access log.
        status: of the response that was sent.
    """

    def __init__(self, scope: Message, send: Send) -> None:
        self.headers = headers_of(scope)
        self.host = scope["client"][0] if scope.get("client") else ""
        self.target: bytes = scope["raw_path"] + (
            b"?" + scope["query_string"] if scope["query_string"] else b""
        )
        self.method: str = scope["method"]
        self.secure: bool = scope["scheme"] == "https"
        self.client: Client = NOBODY
        self.operation = ""
        self.note = ""
        self.status = _GONE
        self.started = False
        self.begun_at = time.perf_counter()
        self._id = _request_id(self.headers)
        self._send = send

    @property
    def seconds(self) -> float:
        """The time since the headers were received."""
        return time.perf_counter() - self.begun_at

    async def send(self, message: Message) -> None:
        """Send a part of the response, with the headers that every response has."""
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            message["headers"] = [
                *message.get("headers", ()),
                (b"x-request-id", self._id),
                (b"x-content-type-options", b"nosniff"),
            ]
        await self._send(message)


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


def _request_id(headers: Mapping[str, str]) -> bytes:
    given = headers.get(_REQUEST_ID, "")
    usable = 0 < len(given) <= _REQUEST_ID_MAX and given.isascii() and given.isprintable()
    return (given if usable else str(uuid.uuid4())).encode()
