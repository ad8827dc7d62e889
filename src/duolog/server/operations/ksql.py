"""ksqlDB's endpoints: statements, queries, and the status of commands.

`server.ksql.endpoints` has what they do; here they run on threads, and their rows are sent while
the query runs. A push query over one stream or table needs no thread while it waits for rows; any
other query that has no end keeps one of its own.

Source: the documentation of ksqlDB's REST API.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from itertools import takewhile
from typing import Final

from duolog.core.units import MIB
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.statement_rights import source_name
from duolog.server.errors import BODY_TOO_LARGE, NOT_FOUND, NOT_READY, RequestRefused
from duolog.server.failures import Failure
from duolog.server.ksql.endpoints import Endpoints, FormOf
from duolog.server.ksql.inserts import RowInserts
from duolog.server.ksql.reply import Reply
from duolog.server.ksql.requests import (
    StatementRequest,
    query_request,
    statement_request,
    stream_request,
)
from duolog.server.messages import Request, Response, Streamed, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.queries.row_forms import (
    ARRAY,
    DELIMITED,
    accepts_array,
    query_form,
    stream_form,
)

_OF_SOURCES: Final = frozenset({"stream", "table"})
"""Kinds of commands whose id has the name of a stream or table."""
_LINE_MAX: Final = MIB
ROWS_AT_ONCE: Final = 1_000
"""Rows of /inserts-stream that are written together."""


async def ksql(request: Request, context: ServerContext) -> Response:
    """Run statements."""
    await _commands_known(request, context, statement_request)
    endpoints, checks = endpoints_of(context), checks_of(request)
    return await context.workers.run(_whole, lambda: endpoints.ksql(request.body, checks))


async def query(request: Request, context: ServerContext) -> Response | Streamed:
    """Run a query; rows are objects unless delimited ones are asked for."""
    quick = await _quick(request, context, query_request, query_form)
    if quick is not None:
        return quick
    await _commands_known(request, context, query_request)
    endpoints, checks = endpoints_of(context), checks_of(request)
    return await rows_of(context, lambda: endpoints.query(request.body, _accept(request), checks))


async def query_stream(request: Request, context: ServerContext) -> Response | Streamed:
    """Run a query; rows are delimited unless another form is asked for."""
    quick = await _quick(request, context, stream_request, stream_form)
    if quick is not None:
        return quick
    endpoints, checks = endpoints_of(context), checks_of(request)
    return await rows_of(
        context, lambda: endpoints.query_stream(request.body, _accept(request), checks)
    )


async def close_query(request: Request, context: ServerContext) -> Response:
    """End a query of another request."""
    endpoints, checks = endpoints_of(context), checks_of(request)
    return await context.workers.run(_whole, lambda: endpoints.close_query(request.body, checks))


async def inserts_stream(request: Request, context: ServerContext) -> Streamed:
    """Insert rows that arrive line by line, and acknowledge each of them.

    Raises:
        RequestRefused: the first line does not name a stream.
    """
    lines = _lines(request.pieces)
    first, *rest = await anext(lines, [b""])
    opened = endpoints_of(context).open_inserts
    inserts = await context.workers.run(opened, first, checks_of(request))
    acks = _acknowledged(rest, lines, inserts, context)
    if accepts_array(_accept(request)):
        return Streamed(_array(acks), ARRAY)
    return Streamed(_delimited(acks), DELIMITED)


async def statuses(request: Request, context: ServerContext) -> Response:
    """Answer with the state of each command that this server has run, and the client may see."""
    kept = endpoints_of(context).statements.statuses.all()
    seen = {name: state for name, state in kept.items() if _may_see(request, context, name)}
    return json_response({"commandStatuses": seen})


async def status(request: Request, context: ServerContext) -> Response:
    """Answer with the status of a command.

    The name of a stream or table may be without its backquotes, as in ksqlDB's documentation.

    Raises:
        RequestRefused: the command is unknown.
    """
    kind, entity, action = (request.path[part] for part in ("type", "entity", "action"))
    if kind in _OF_SOURCES and not entity.startswith("`"):
        entity = f"`{entity}`"
    name = f"{kind}/{entity}/{action}"
    found = endpoints_of(context).statements.statuses.of(name)
    if found is None or not _may_see(request, context, name):
        raise RequestRefused("Command not found", NOT_FOUND)
    return json_response(found)


def _may_see(request: Request, context: ServerContext, command_id: str) -> bool:
    """Return whether the client may describe what a command is about."""
    kind, _, rest = command_id.partition("/")
    if kind not in _OF_SOURCES:
        return request.client.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    source = source_name(context.service_id, rest.rpartition("/")[0].strip("`"))
    return request.client.may(Operation.DESCRIBE, ResourceType.SOURCE, source)


async def _acknowledged(
    first: list[bytes],
    more: AsyncIterator[list[bytes]],
    inserts: RowInserts,
    context: ServerContext,
) -> AsyncIterator[list[bytes]]:
    """Yield the acknowledgements of the rows that have arrived together."""
    try:
        if first:
            yield await context.workers.run(inserts.insert, first)
        if inserts.failed:
            return
        async for lines in more:
            yield await context.workers.run(inserts.insert, lines)
            if inserts.failed or context.stopping.is_set():
                return
    except RequestRefused as refused:  # A line that is too long, or too many statements.
        yield [inserts.refused(refused)]


async def _delimited(values: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    async for some in values:
        yield b"".join(value + b"\n" for value in some)


async def _array(values: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    before = b"["
    async for some in values:
        yield before + b",\n".join(some)
        before = b",\n"
    yield b"]\n" if before != b"[" else b"[]\n"


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Yield the lines of a body that are not blank, as soon as they are complete.

    Those of one piece come together, but not too many.

    Raises:
        RequestRefused: a line is too long. Those before it have been yielded.
    """
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        short = [line for line in takewhile(_is_short, whole) if line.strip()]
        for start in range(0, len(short), ROWS_AT_ONCE):
            yield short[start : start + ROWS_AT_ONCE]
        if not all(map(_is_short, (*whole, rest))):
            raise RequestRefused(f"A row is longer than {_LINE_MAX} bytes", BODY_TOO_LARGE)
    if rest.strip():
        yield [rest]


def _is_short(line: bytes) -> bool:
    return len(line) <= _LINE_MAX


async def _quick(
    request: Request,
    context: ServerContext,
    read: Callable[[bytes], StatementRequest],
    form_of: FormOf,
) -> Response | None:
    """Answer a repeated look-up; None if it has to be answered in the usual way."""
    if context.quick is None:
        return None
    try:
        asked = read(request.body)
    except Failure:
        return None
    reply = await context.quick.reply(asked, _accept(request), form_of, request.client)
    return None if reply is None else Response(reply.body, 200, reply.content_type)


async def _commands_known(
    request: Request, context: ServerContext, read: Callable[[bytes], StatementRequest]
) -> None:
    """Wait for the command that a request names, if any; raises as `CommandWaits.wait_for`."""
    if context.commands is not None and b"commandSequenceNumber" in request.body:
        await context.commands.wait_as_asked(lambda: read(request.body))


def endpoints_of(context: ServerContext) -> Endpoints:
    if context.ksql is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    return context.ksql


def checks_of(request: Request) -> Checks:
    """Return the rights of a client, to be checked from the threads of statements."""
    return Checks(request.client, asyncio.get_running_loop())


def _accept(request: Request) -> str:
    return request.headers.get("accept", "")


def _whole(run: Callable[[], Reply]) -> Response:
    return _response(run())


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, reply.content_type, note=reply.note)


async def rows_of(context: ServerContext, run: Callable[[], Reply]) -> Response | Streamed:
    reply = await context.workers.run(run)
    if reply.is_whole:
        return _response(reply)
    release: Callable[[], None] | None = None
    if reply.is_unbounded and reply.live is None:
        # It would keep the threads from other queries, which only wait for their next turn.
        try:
            release = context.readers.reserve()
        except RequestRefused:
            await _closed(reply)
            raise
    body = _Body(_sent(reply, context), reply, release)
    return Streamed(body, reply.content_type, reply.status)


class _Body(AsyncIterator[bytes]):
    """The pieces of a reply. Its query ends with them, also if none of them was asked for.

    Args:
        release: called once, after the end of the query.
    """

    def __init__(
        self, pieces: AsyncGenerator[bytes], reply: Reply, release: Callable[[], None] | None
    ) -> None:
        self._pieces = pieces
        self._reply = reply
        self._release = release

    async def __anext__(self) -> bytes:
        return await self._pieces.__anext__()

    async def aclose(self) -> None:
        """End the query, and wait for its end."""
        try:
            await self._pieces.aclose()
        finally:
            try:
                # A generator that has not started does not run its own end.
                await _closed(self._reply)
            finally:
                release, self._release = self._release, None
                if release is not None:
                    release()


async def _sent(reply: Reply, context: ServerContext) -> AsyncGenerator[bytes]:
    """Yield the pieces of a reply; end its query if the client leaves or the server stops."""
    try:
        if reply.live is not None:
            async with aclosing(reply.live.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
            return
        # A query without an end is ended by the stop, and then reports it.
        while reply.is_unbounded or not context.stopping.is_set():
            batch = await context.readers.run(reply.next_batch)
            if not batch:
                return
            yield batch
    finally:
        await _closed(reply)


async def _closed(reply: Reply) -> None:
    """End the query of a reply on a thread: on Spark, that takes seconds.

    The pools of statements and readers may be full of threads that wait for such an end.
    """
    # Submitted at once: a task would be lost if the loop stops before its first step.
    await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, reply.close))
