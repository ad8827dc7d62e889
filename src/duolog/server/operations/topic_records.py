"""Records of topics: browse, follow, export; see `server.topics`.

    GET  /v1/topics/{topic}/records                                   a page, see `selections`
    GET  /v1/topics/{topic}/records/{partition}/{offset}/{part}       all bytes of a key or value
    GET  /v1/topics/{topic}/live                                      server-sent events
    GET  /v1/topics/{topic}/export?as=csv|jsonl|parquet               a file

All need READ on the topic. Bytes are sent in a form that browsers do not run.
"""

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from duolog.core.errors import DuologError
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.errors import NOT_FOUND, RequestRefused
from duolog.server.messages import JSON, Request, Response, Streamed, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.topics import Stopped, ensure_service, run
from duolog.server.operations.workers import Workers
from duolog.server.topics.browsing import browse, data_of
from duolog.server.topics.exports import MEDIA, Export
from duolog.server.topics.live import LiveEvents, LiveTail
from duolog.server.topics.parameters import one_of
from duolog.server.topics.refusals import refusal_of
from duolog.server.topics.selections import read_filters, read_selection

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService

_BYTES: Final = "application/octet-stream"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_DIGITS_MAX: Final = 19
_SANDBOX: Final = ("Content-Security-Policy", "sandbox")


async def topic_records(request: Request, context: ServerContext) -> Response:
    """Answer with a page of records."""
    selection = read_selection(request.query)
    topic = request.path["topic"]

    def found(service: "SqlService", checks: Checks, stopped: Stopped) -> object:
        checks.ensure([_reading(topic)])
        return browse(service, checks, topic, selection, stopped)

    return json_response(await run(request, context, found), media_type=JSON)


async def record_bytes(request: Request, context: ServerContext) -> Response:
    """Answer with all bytes of a key or value; 204 if it is null.

    Raises:
        RequestRefused: there is no such record.
    """
    ensure_service(context)
    topic, part = request.path["topic"], request.path["part"]
    numbers = [request.path["partition"], request.path["offset"]]
    if part not in ("key", "value") or not all(map(_is_number, numbers)):
        raise RequestRefused("HTTP 404 Not Found", NOT_FOUND)
    partition, offset = map(int, numbers)

    def found(service: "SqlService", checks: Checks, _: Stopped) -> bytes | None:
        checks.ensure([_reading(topic)])
        return data_of(service, topic, partition, offset, part)

    data = await run(request, context, found)
    name = f"{topic}-{partition}-{offset}-{part}.bin"
    headers = (("Content-Disposition", _attachment(name)), _SANDBOX)
    return Response(data or b"", 204 if data is None else 200, _BYTES, headers)


async def live_records(request: Request, context: ServerContext) -> Streamed:
    """Send new records as server-sent events, until the client leaves."""
    filters = read_filters(request.query)
    ensure_service(context)
    topic = request.path["topic"]
    checks = Checks(request.client, asyncio.get_running_loop())
    checks.ensure([_reading(topic)])
    release = context.topic_readers.take()
    try:
        tail = LiveTail(context.sql, checks, topic, filters)
        await context.readers.run(tail.open)
    except DuologError as error:
        release()
        raise refusal_of(error) from error
    except BaseException:
        release()
        raise

    def ensure() -> None:
        checks.ensure([_reading(topic)])

    events = LiveEvents(tail, context.readers.run, release, context.stopping, ensure)
    headers = (("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"))
    return Streamed(events, "text/event-stream", headers=headers)


async def export_records(request: Request, context: ServerContext) -> Streamed:
    """Send records as a file."""
    selection = read_selection(request.query, "as", exports=True)
    form = one_of("as", request.query.get("as", "jsonl"), tuple(MEDIA))
    ensure_service(context)
    topic = request.path["topic"]
    checks = Checks(request.client, asyncio.get_running_loop())
    checks.ensure([_reading(topic)])
    release = context.topic_readers.take()
    closing = threading.Event()

    def stopped() -> bool:
        return closing.is_set() or context.stopping.is_set()

    try:
        made = partial(Export, context.sql, checks, topic, selection, form)
        export = await context.readers.run(partial(made, stopped=stopped))
        await context.readers.run(export.open)
    except DuologError as error:
        release()
        raise refusal_of(error) from error
    except BaseException:
        release()
        raise
    headers = (("Content-Disposition", _attachment(f"{topic}.{form}")), _SANDBOX)
    pieces = _Pieces(export, context.readers, release, closing)
    return Streamed(pieces, MEDIA[form], headers=headers)


class _Pieces:
    """The body of an export; an iterator to be closed, which sets `closing`."""

    def __init__(
        self,
        export: Export,
        readers: Workers,
        release: Callable[[], None],
        closing: threading.Event,
    ) -> None:
        self._closing = closing
        self._export = export
        self._readers = readers
        self._release = release
        self._running: asyncio.Future[bytes | None] | None = None
        self._is_closed = False

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> bytes:
        while True:
            self._running = asyncio.ensure_future(self._readers.run(self._export.next))
            piece = await asyncio.shield(self._running)
            if piece is None:
                raise StopAsyncIteration
            if piece:
                return piece

    async def aclose(self) -> None:
        """Stop reading when the piece that is being made is finished or given up."""
        if self._is_closed:
            return
        self._closing.set()
        self._is_closed = True
        try:
            if self._running is not None:
                with contextlib.suppress(DuologError):
                    await asyncio.shield(self._running)
            await asyncio.shield(asyncio.to_thread(self._export.close))
        finally:
            self._release()


def _reading(topic: str) -> Right:
    return Right(Operation.READ, ResourceType.TOPIC, topic)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _DIGITS_MAX


def _attachment(name: str) -> str:
    """Return a Content-Disposition; a path may have any characters, a topic of Kafka few."""
    safe = _UNSAFE.sub("_", name)
    return f'attachment; filename="{safe}"'
