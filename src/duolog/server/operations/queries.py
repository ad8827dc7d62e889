"""Persistent queries with their figures: rates, lag, errors, state, ages.

    GET /v1/queries                    all queries that the client may describe
    GET /v1/queries/CTAS_TOTALS_1      one of them

A query is visible if all streams and tables that it reads and writes are.
`duolog.runtime.sql.figures.query_figures` has the form of the figures; `version` increases when a
member is removed or changes its meaning. Members that are unknown are null: while no server runs
the query, or before the first measurement.
"""

from typing import Any, Final

from duolog.core.clock import SystemClock
from duolog.ksql.statements.state import PersistentQuery
from duolog.runtime.sql.figures.query_figures import QueryFigures
from duolog.server.errors import NOT_FOUND, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.visible_state import visible_state

VERSION: Final = 1
_CLOCK: Final = SystemClock()


async def queries(request: Request, context: ServerContext) -> Response:
    """Answer with all visible queries, by id."""
    state = await visible_state(request, context)
    figures = await context.workers.run(context.sql.figures.all, list(state.queries))
    found = [query_json(one, figures.get(name)) for name, one in sorted(state.queries.items())]
    return json_response({"version": VERSION, "queries": found}, media_type=JSON)


async def query(request: Request, context: ServerContext) -> Response:
    """Answer with one query.

    Raises:
        RequestRefused: the client sees no such query.
    """
    state = await visible_state(request, context)
    name = request.path["query"]
    one = state.queries.get(name) or state.queries.get(name.upper())
    if one is None:
        raise RequestRefused(f"Query not found: {name}", NOT_FOUND)
    figures = await context.workers.run(context.sql.figures.all, [one.id])
    found = query_json(one, figures.get(one.id))
    return json_response({"version": VERSION, **found}, media_type=JSON)


def query_json(query: PersistentQuery, figures: QueryFigures | None) -> dict[str, Any]:
    """Return a query with its figures; state and error are those of now."""
    now_ms = _CLOCK.now_ms()
    found = (figures or QueryFigures(query.id, now_ms)).shown(now_ms)
    if figures is None:
        found |= {"atMs": None, "ageMs": None}
    return {
        **found,
        "state": query.state,
        "error": query.error,
        "statement": query.statement,
        "sources": sorted(set(query.reads)),
        "sink": query.sink,
        "topic": query.planned.topic,
    }
