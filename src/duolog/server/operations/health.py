"""Health: alive, ready and healthy.

    /chc/live      200 as long as the process answers
    /chc/ready     200 if a broker answers, and the server neither stops nor is terminated; else 503
    /healthcheck   the same with details; 200 always, as ksqlDB does

The first two are for anyone, and their body is empty.
"""

import asyncio
from typing import Final

from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.information import ending_of

_EMPTY: Final = b"{}"


async def live(_request: Request, _context: ServerContext) -> Response:
    """Answer that the process runs."""
    await asyncio.sleep(0)
    return Response(_EMPTY, media_type=JSON)


async def ready(_request: Request, context: ServerContext) -> Response:
    """Answer whether requests can be served."""
    ending = context.stopping.is_set() or ending_of(context)
    ready_now = not ending and await context.health.healthy()
    return Response(_EMPTY, 200 if ready_now else 503, JSON)


async def healthcheck(_request: Request, context: ServerContext) -> Response:
    """Answer with the health of each part."""
    kafka = await context.health.healthy()
    running = not (context.stopping.is_set() or ending_of(context))
    parts = {"metastore": True, "kafka": kafka, "commandRunner": running}
    details: dict[str, dict[str, object]] = {
        name: {"isHealthy": healthy} for name, healthy in parts.items()
    }
    reading = [one for one in context.tables_read().values() if not one.is_complete]
    if reading:
        # Queries of these tables wait for them; all others are answered.
        details["tables"] = {"isHealthy": True, "reading": [str(one) for one in reading]}
    value = {"isHealthy": all(parts.values()), "details": details, "serverState": "READY"}
    if not running:
        value["serverState"] = "TERMINATING"
    return json_response(value)
