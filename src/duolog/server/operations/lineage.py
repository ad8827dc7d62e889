"""Lineage of streams, tables and their columns.

    GET /v1/lineage                              of all that the client may describe
    GET /v1/lineage/TOTALS                       what leads to a source, and what follows
    GET /v1/lineage/TOTALS?direction=upstream    what leads to it only; or downstream

What a client may not describe is not there: neither a stream or table, nor a query that uses one.
`duolog.ksql.lineage` has the form.
"""

from typing import Final

from duolog.ksql.lineage import Direction, Json, around, lineage_of
from duolog.server.errors import BAD_REQUEST, NOT_FOUND, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.visible_state import visible_state

_DIRECTIONS: Final[tuple[Direction, ...]] = ("both", "upstream", "downstream")


async def lineage(request: Request, context: ServerContext) -> Response:
    """Answer with the lineage of all visible streams and tables."""
    return json_response(await _whole(request, context), media_type=JSON)


async def lineage_of_source(request: Request, context: ServerContext) -> Response:
    """Answer with the lineage of one stream or table.

    Raises:
        RequestRefused: the client sees no such source, or the direction is not one.
    """
    wanted = request.query.get("direction", "both")
    for direction in _DIRECTIONS:
        if direction == wanted:
            break
    else:
        raise RequestRefused(
            f"Invalid direction '{wanted}': use {', '.join(_DIRECTIONS)}", BAD_REQUEST
        )
    found = await _whole(request, context)
    name = request.path["source"]
    names = {one["name"] for one in found["sources"]}
    for source in (name, name.upper()):
        if source in names:
            return json_response(around(found, source, direction), media_type=JSON)
    raise RequestRefused(f"Stream or table not found: {name}", NOT_FOUND)


async def _whole(request: Request, context: ServerContext) -> Json:
    state = await visible_state(request, context)
    return await context.workers.run(lineage_of, state, context.service_id)
