"""Events of the server for pages that are open.

    GET /v1/events     server-sent events:

    event: hello       data: {"version": …, "console": …}   first: which build runs here
    event: changed     data: {"changed": ["queries", …]}    of catalog, queries, topics
    : heartbeat        every 15 s, so that both sides notice a broken connection

A response ends after ten minutes, and with the server: the page connects again, and its login is
then checked again. Events have no names of objects: what the client may see is decided by the
routes that it reads.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final

from duolog.server.errors import NOT_READY, RequestRefused
from duolog.server.messages import Request, Streamed
from duolog.server.operations.changes import Changes, Digests, digest_of
from duolog.server.operations.console import build_of_console
from duolog.server.operations.context import ServerContext

if TYPE_CHECKING:
    from duolog.runtime.sql.persistent.query_supervisor import LiveQuery
    from duolog.runtime.sql.service import SqlService

HEARTBEAT_S: Final = 15.0
LIFE_S: Final = 600.0
EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
# Proxies must not collect events: nginx does so without the second header.
_HEADERS: Final = (("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"))


async def events(_request: Request, context: ServerContext) -> Streamed:
    """Answer with the changes from now on.

    Raises:
        RequestRefused: there is no SQL service, or too many pages listen.
    """
    if context.changes is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    # Before the response begins: later, there is no other status.
    context.changes.ensure_room()
    return Streamed(_lines(context, context.changes), EVENT_STREAM, headers=_HEADERS)


async def _lines(context: ServerContext, changes: Changes) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + LIFE_S
    listener = changes.listen()
    try:
        yield event("hello", {"version": context.version, "console": build_of_console()})
        while not context.stopping.is_set() and loop.time() < ends_at:
            changed = await listener.next(HEARTBEAT_S, context.stopping)
            yield event("changed", {"changed": changed}) if changed else b": heartbeat\n\n"
    finally:
        listener.close()


def event(kind: str, data: object) -> bytes:
    r"""Return one event.

    Example:
        >>> event("changed", {"changed": ["queries"]})
        b'event: changed\ndata: {"changed":["queries"]}\n\n'
    """
    return f"event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def digests_of(service: "SqlService") -> Callable[[], Digests]:
    """Return a function with the digests of a service, which reads what it needs."""

    def digests() -> Digests:
        service.follow()
        partitions = service.catalog.partitions
        return {
            "catalog": str(service.last_command),
            "queries": digest_of(
                f"{one.id} {one.state} {one.error}" for one in _sorted(service.queries())
            ),
            "topics": digest_of(f"{name} {partitions[name]}" for name in sorted(partitions)),
        }

    return digests


def _sorted(queries: "list[LiveQuery]") -> "list[LiveQuery]":
    return sorted(queries, key=lambda one: one.id)
