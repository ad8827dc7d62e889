"""ksqlDB's queries over WebSockets: SELECT and PRINT.

    GET /ws/query?request={"ksql":"SELECT … EMIT CHANGES;","streamsProperties":{}}

    1000  the query has ended               1003  the request or the query is invalid
    1011  the query has failed              1001  the server stops, or its service is terminated
    1013  too many queries, or a command that the request names is not known in time

A request that is not valid is refused after the handshake, because browsers show neither status nor
body of a refused one. Without a login or rights, there is no handshake.

Source: ksqlDB's WebSocket endpoint, as its clients and tests use it.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from duolog.server.errors import RequestRefused
from duolog.server.ksql.requests import socket_request
from duolog.server.ksql.socket_lines import DONE, last_line, reason_of
from duolog.server.messages import Closing, Messages, Request, Response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.information import ending_of
from duolog.server.operations.ksql import checks_of, endpoints_of, rows_of

NORMAL: Final = 1000
GOING_AWAY: Final = 1001
NOT_ACCEPTED: Final = 1003
FAILED: Final = 1011
TRY_AGAIN: Final = 1013
_BUSY: Final = frozenset({429, 503})
_STOPPED: Final = "The server is shutting down"


async def query(request: Request, context: ServerContext) -> Messages:
    """Run a query: its columns, then its rows, each as a message."""
    return Messages(_parts(request, context))


async def _parts(
    request: Request, context: ServerContext
) -> AsyncGenerator[list[bytes] | Closing, None]:
    try:
        endpoints, checks = endpoints_of(context), checks_of(request)
        if context.commands is not None:
            await context.commands.wait_as_asked(lambda: socket_request(request.query))
        answer = await rows_of(context, lambda: endpoints.socket_query(request.query, checks))
    except RequestRefused as refused:
        yield [last_line(refused.message)]
        yield _closing(refused.code, refused.message)
        return
    if isinstance(answer, Response):
        refusal: dict[str, Any] = json.loads(answer.body)
        yield [last_line(refusal["message"])]
        yield _closing(refusal["error_code"], refusal["message"])
        return
    reason = None
    body: Any = answer.pieces
    async with aclosing(body) as pieces:
        async for piece in pieces:
            lines = piece.removesuffix(b"\n").split(b"\n")
            reason = reason_of(lines[-1])
            if not (reason == DONE and context.stopping.is_set()):
                yield lines
    if context.stopping.is_set() or ending_of(context):
        if reason in {None, DONE}:
            yield [last_line(_STOPPED)]
        yield Closing(GOING_AWAY, _STOPPED)
        return
    reason = DONE if reason is None else reason
    yield Closing(NORMAL if reason == DONE else FAILED, reason)


def _closing(code: int, message: str) -> Closing:
    status = code // 100
    if status in _BUSY:
        return Closing(TRY_AGAIN, message)
    return Closing(NOT_ACCEPTED if status < 500 else FAILED, message)
