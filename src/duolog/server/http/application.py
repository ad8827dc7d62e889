"""Binds the operations of the table of routes to Starlette's router.

find the endpoint ─▶ check its right ─▶ read the body ─▶ run the operation ─▶ send its response

Thread: the event loop.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from starlette.routing import Route, Router

from duolog.server.access.client import Login
from duolog.server.errors import (
    BAD_REQUEST,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    UPGRADE_REQUIRED,
    RequestRefused,
    closed,
)
from duolog.server.http.bodies import Bodies, Receive, pieces
from duolog.server.http.passage import KEY, PAGE_HEADER, Message, Passage, Send
from duolog.server.http.responses import send_messages, send_response, send_streamed
from duolog.server.http.routes import ENDPOINTS, Endpoint, Polled
from duolog.server.limits import Limits
from duolog.server.messages import Messages, Request, Response
from duolog.server.operations.administrators import ensure_own_rights
from duolog.server.operations.context import ServerContext

PARAMETERS_MAX: Final = 100
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def application(
    context: ServerContext, limits: Limits, endpoints: Sequence[Endpoint] = ENDPOINTS
) -> Application:
    """Return the ASGI application of a table of routes, to be run within a `Gate`."""
    by_path: defaultdict[str, dict[str, Endpoint]] = defaultdict(dict)
    for endpoint in endpoints:
        by_path[endpoint.path][endpoint.method] = endpoint
    bodies = Bodies(limits)
    found = {path: _AtPath(rows, context, bodies) for path, rows in by_path.items()}
    patterns = [Route(path, endpoint) for path, endpoint in found.items() if "{" in path]
    rest = Router(patterns, redirect_slashes=False, default=_not_found)

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        endpoint = found.get(path.removeprefix(scope.get("root_path", "")))
        # Starlette tries all routes in order: most requests need none of its patterns.
        if endpoint is None or endpoint.is_pattern:
            await rest(scope, receive, send)
        else:
            scope["path_params"] = {}
            await endpoint(scope, receive, send)

    return answer


class _AtPath:
    """The endpoints of one path, by method."""

    def __init__(
        self, rows: Mapping[str, Endpoint], context: ServerContext, bodies: Bodies
    ) -> None:
        self._rows = rows
        self.is_pattern = any("{" in row.path for row in rows.values())
        self._context = context
        self._bodies = bodies

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        method: str = scope["method"]
        head = method == "HEAD"
        endpoint = self._rows.get("GET" if head else method)
        if endpoint is None:
            await self._other(method, send)
            return
        passage: Passage = scope[KEY]
        passage.operation = endpoint.name
        passage.is_poll = endpoint.polled is Polled.MONITORS or (
            endpoint.polled is Polled.PAGE and PAGE_HEADER in passage.headers
        )
        if endpoint.guarded and needs_token(self._context, passage):
            raise closed()
        if endpoint.right is not None:
            passage.client.ensure(endpoint.right)
        if endpoint.changes:
            ensure_own_rights(self._context)
        if endpoint.socket != passage.is_socket:
            raise RequestRefused("This path is a WebSocket", UPGRADE_REQUIRED)
        request = await self._request(endpoint, scope, passage, receive)
        try:
            answer = await endpoint.operation(request, self._context)
            if isinstance(answer, Messages):
                await send_messages(answer, receive, passage.send, passage.client.lasts)
            elif isinstance(answer, Response):
                passage.note = answer.note
                await send_response(answer, send, head=head)
            else:
                listens = not endpoint.in_pieces
                lasts = passage.client.lasts
                await send_streamed(answer, receive, send, lasts, head=head, listens=listens)
        finally:
            self._bodies.release(request.body)

    async def _request(
        self, endpoint: Endpoint, scope: Message, passage: Passage, receive: Receive
    ) -> Request:
        query = _query(scope["query_string"])
        body, rest = b"", pieces(receive)
        if not (endpoint.in_pieces or endpoint.socket):
            self._bodies.ensure_length(passage.headers.get("content-length"))
            body = await self._bodies.read(receive)
        return Request(
            client=passage.client,
            method=passage.method,
            path=scope["path_params"],
            query=query,
            headers=passage.headers,
            body=body,
            pieces=rest,
            http_version=scope["http_version"],
            secure=passage.secure,
        )

    async def _other(self, method: str, send: Send) -> None:
        allowed = ", ".join(sorted({*self._rows, "OPTIONS"}))
        if method != "OPTIONS":
            raise RequestRefused(f"HTTP 405 Method Not Allowed: {allowed}", METHOD_NOT_ALLOWED)
        response = Response(b"", 204, headers=(("Allow", allowed),))
        await send_response(response, send, head=False)


def needs_token(context: ServerContext, passage: Passage) -> bool:
    """Return whether a request lacks the token of the console, of a server without users."""
    return context.access.console_token is not None and passage.client.login is Login.NONE


def _query(query: bytes) -> Mapping[str, str]:
    if not query:
        return {}
    try:
        return dict(
            parse_qsl(
                query.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=PARAMETERS_MAX,
            )
        )
    except ValueError:
        raise RequestRefused(
            "The part of the address after the question mark is not valid", BAD_REQUEST
        ) from None


async def _not_found(_scope: Message, _receive: Receive, _send: Send) -> None:
    raise RequestRefused("HTTP 404 Not Found", NOT_FOUND)
