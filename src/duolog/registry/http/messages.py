"""Requests and responses of the registry, independent of sockets."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that was received completely.

    Attributes:
        path: the path as sent, still percent-encoded, without the query.
        query: the text after the question mark, still percent-encoded.
        headers: by lower-case name; the values of a repeated header are joined with a comma.
        client: the address of the client, for the log.
    """

    method: str
    path: bytes
    query: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    client: str = ""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A status, a body and the headers that differ from those of every response.

    Attributes:
        note: what the access log reports in addition, for example an error's code.
    """

    status: int
    body: bytes = b""
    media_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    note: str = ""
