"""The connection as cursors and subscriptions see it."""

from typing import Protocol

from duolog.client.requests import Request
from duolog.client.stream import Stream


class Connected(Protocol):
    """Sends requests to one server."""

    properties: dict[str, object]
    variables: dict[str, str]

    def ensure_open(self) -> object: ...
    def post(self, request: Request) -> bytes: ...
    def stream(self, request: Request) -> Stream: ...
