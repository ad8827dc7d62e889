"""A request and its response, without sockets: what operations get and return."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from duolog.server.access.client import Client
from duolog.server.errors import RequestRefused

JSON: Final = "application/json"
KSQL_JSON: Final = "application/vnd.ksql.v1+json"


async def _nothing() -> AsyncIterator[bytes]:
    none: tuple[bytes, ...] = ()
    for piece in none:
        yield piece


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a client that has passed the gate.

    Attributes:
        path: the parameters of the path, decoded.
        query: the parameters after the question mark; of repeated ones, the last.
        headers: by names in lower case; the values of repeated ones are joined by commas.
        body: the whole body; empty if the route reads it in pieces.
        pieces: the body of a route that reads it in pieces, as they come.
        http_version: `1.1` or `2`.
        secure: True if the client uses HTTPS, also if a proxy ends it.
    """

    client: Client
    method: str = "GET"
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    pieces: AsyncIterator[bytes] = field(default_factory=_nothing)
    http_version: str = "1.1"
    secure: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """A response whose body is complete.

    Attributes:
        note: for the access log: the code of an error.
    """

    body: bytes = b""
    status: int = 200
    media_type: str = KSQL_JSON
    headers: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Streamed:
    """A response whose body is sent while it is made.

    The server asks for the next piece when the client has room for it, and closes the iterator
    when the client has gone or the server stops.
    """

    pieces: AsyncIterator[bytes]
    media_type: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class Closing(NamedTuple):
    """The end of a WebSocket.

    Attributes:
        code: of RFC 6455: 1000 to 4999.
        reason: for people; what exceeds 123 bytes is cut off.
    """

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Messages:
    """The texts of a WebSocket, in lists that are sent together; the last part is its end.

    The server asks for the next part when the client has room for it, and closes the iterator when
    the client has gone or the server stops.
    """

    parts: AsyncIterator[list[bytes] | Closing]


def json_response(value: object, *, status: int = 200, media_type: str = KSQL_JSON) -> Response:
    """Return a response with a value as JSON, without spaces.

    Example:
        >>> json_response({"isHealthy": True}).body
        b'{"isHealthy":true}'
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Response(text.encode(), status, media_type)


def error_response(error: RequestRefused) -> Response:
    """Return the response of a refused request."""
    body = json.dumps(error.body(), separators=(",", ":"), ensure_ascii=False)
    return Response(body.encode(), error.status, JSON, note=str(error.code))
