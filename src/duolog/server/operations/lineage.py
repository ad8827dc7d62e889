"""Lineage of streams, tables and their columns.

    GET /v1/lineage                              of all that the client may describe
    GET /v1/lineage/TOTALS                       what leads to a source, and what follows
    GET /v1/lineage/TOTALS?direction=upstream    what leads to it only; or downstream
    GET /v1/lineage?rates=true                   with records per second on the edges of queries

What a client may not describe is not there: neither a stream or table, nor a query that uses one.
`duolog.ksql.lineage` has the form.
"""

from collections.abc import Mapping
from typing import Final

from duolog.ksql.lineage import Direction, Json, around, lineage_of
from duolog.runtime.sql.figures.query_figures import Flow, QueryFigures
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


def with_rates(lineage: Json, figures: Mapping[str, QueryFigures]) -> Json:
    """Return a lineage whose edges to and from queries have records, and records per second.

    Both are null if they are unknown.
    """
    topics = {one["name"]: one["topics"] for one in lineage["sources"]}
    written = {one["id"]: [one["topic"]] for one in lineage["queries"]}

    def rated(edge: Json) -> Json:
        start, end = (edge[of].partition(":") for of in ("from", "to"))
        if end[0] == "query":
            known, names = figures.get(end[2]), topics[start[2]]
            flows = known.topics_in if known else {}
        elif start[0] == "query":
            known, names = figures.get(start[2]), written[start[2]]
            flows = known.topics_out if known else {}
        else:
            return edge
        return {**edge, **_sum([flows.get(name) for name in names])}

    return {**lineage, "edges": [rated(edge) for edge in lineage["edges"]]}


def _sum(flows: list[Flow | None]) -> Json:
    known = [flow for flow in flows if flow is not None]
    rates = [flow.per_second for flow in known if flow.per_second is not None]
    return {
        "records": sum(flow.records for flow in known) if known else None,
        "recordsPerSecond": sum(rates) if rates else None,
    }


async def _whole(request: Request, context: ServerContext) -> Json:
    state = await visible_state(request, context)
    found = await context.workers.run(lineage_of, state, context.service_id)
    if request.query.get("rates", "false").lower() != "true":
        return found
    figures = await context.workers.run(context.sql.figures.all, list(state.queries))
    return with_rates(found, figures)
