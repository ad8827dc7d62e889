"""Topics: list, describe, create, change, delete; see `server.topics`.

GET     /v1/topics?search=&internal=&after=&limit=&formats=     topics, with figures
POST    /v1/topics                                              create one
GET     /v1/topics/{topic}                                      partitions and settings
PATCH   /v1/topics/{topic}                                      settings, more partitions
DELETE  /v1/topics/{topic}                                      delete it
GET     /v1/topics/{topic}/form                                 the form of a new record
POST    /v1/topics/{topic}/records                              write a record
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from duolog.core.errors import DuologError
from duolog.server.access.checks import Checks
from duolog.server.access.visible_service import ensure_runs
from duolog.server.errors import NOT_READY, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.topics.changes import change, create, delete, read_change, read_new_topic
from duolog.server.topics.listing import Topics, read_asked
from duolog.server.topics.producing import form, produce, read_write
from duolog.server.topics.refusals import refusal_of

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService

T = TypeVar("T")
Stopped = Callable[[], bool]
_CREATED: Final = 201
_ANSWER_S: Final = 30.0


async def topics(request: Request, context: ServerContext) -> Response:
    """Answer with topics, by name."""
    ensure_service(context)
    asked = read_asked(request.query)

    def found(service: "SqlService", checks: Checks, _: Stopped) -> object:
        return Topics(service, checks).listed(asked)

    return json_response(await run(request, context, found), media_type=JSON)


async def topic(request: Request, context: ServerContext) -> Response:
    """Answer with one topic."""

    def found(service: "SqlService", checks: Checks, _: Stopped) -> object:
        return Topics(service, checks).described(request.path["topic"])

    return json_response(await run(request, context, found), media_type=JSON)


async def create_topic(request: Request, context: ServerContext) -> Response:
    """Create a topic."""
    ensure_service(context)
    wanted = read_new_topic(request.body)

    def made(service: "SqlService", checks: Checks, _: Stopped) -> object:
        return create(service, checks, wanted)

    answer = await run(request, context, made)
    return json_response(answer, status=_CREATED, media_type=JSON)


async def change_topic(request: Request, context: ServerContext) -> Response:
    """Change settings or the number of partitions of a topic."""
    ensure_service(context)
    wanted = read_change(request.body)

    def made(service: "SqlService", checks: Checks, _: Stopped) -> object:
        return change(service, checks, request.path["topic"], wanted)

    return json_response(await run(request, context, made), media_type=JSON)


async def delete_topic(request: Request, context: ServerContext) -> Response:
    """Delete a topic."""

    def made(service: "SqlService", checks: Checks, _: Stopped) -> object:
        return delete(service, checks, request.path["topic"])

    return json_response(await run(request, context, made), media_type=JSON)


async def topic_form(request: Request, context: ServerContext) -> Response:
    """Answer with the form of a topic's records."""

    def found(service: "SqlService", checks: Checks, _: Stopped) -> object:
        return form(service, checks, request.path["topic"])

    return json_response(await run(request, context, found), media_type=JSON)


async def produce_record(request: Request, context: ServerContext) -> Response:
    """Write a record."""
    ensure_service(context)
    wanted = read_write(request.body)

    def made(service: "SqlService", checks: Checks, _: Stopped) -> object:
        return produce(service, checks, request.path["topic"], wanted)

    answer = await run(request, context, made)
    return json_response(answer, status=_CREATED, media_type=JSON)


async def run(
    request: Request,
    context: ServerContext,
    call: "Callable[[SqlService, Checks, Stopped], T]",
) -> T:
    """Run a call on a thread, and translate its errors.

    The call is asked to stop when the client closes the connection, as a page does when its reader
    asks for something else.

    Raises:
        RequestRefused: it has failed.
    """
    ensure_service(context)
    gone = threading.Event()
    watching = asyncio.ensure_future(_watch(request, gone))
    checks = Checks(request.client, asyncio.get_running_loop())
    deadline = time.monotonic() + _ANSWER_S

    def stopped() -> bool:
        return gone.is_set() or context.stopping.is_set() or time.monotonic() > deadline

    try:
        return await context.workers.run(call, context.sql, checks, stopped)
    except DuologError as error:
        raise refusal_of(error) from error
    finally:
        watching.cancel()


async def _watch(request: Request, gone: threading.Event) -> None:
    """Set an event when the client has closed the connection."""
    try:
        async for _ in request.pieces:  # The body was read before.
            pass
    except ConnectionError:
        gone.set()


def ensure_service(context: ServerContext) -> None:
    """Ensure that the server has a SQL service that runs; raises RequestRefused."""
    if context.sql is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    ensure_runs(context.sql)
