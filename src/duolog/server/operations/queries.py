"""Persistent queries with their figures: rates, lag, errors, state, ages.

    GET /v1/queries                            all queries that the client may describe
    GET /v1/queries/CTAS_TOTALS_1              one of them, with its plan and settings
    GET /v1/queries?history=lagMs,in           with points of the last quarter of an hour
    GET /v1/queries/CTAS_TOTALS_1?history=all

A query is visible if all streams and tables that it reads and writes are. `mayChange` is true if
the client may pause, resume and terminate it. `history` has a list for
each column that was asked for, and `atMs`; all have the same length:

    {"stepMs": 10000, "atMs": […], "in": […], "out": […], "lagRecords": […], "lagMs": […],
     "errors": […], "stateBytes": […]}

`duolog.runtime.sql.figures.query_figures` has the form of the figures; `version` increases when a
member is removed or changes its meaning. Members that are unknown are null: while no server runs
the query, or before the first measurement.
"""

from collections.abc import Sequence
from typing import Any, Final

from duolog.core.clock import SystemClock
from duolog.ksql.statements.state import PersistentQuery
from duolog.runtime.sql.figures.query_figures import QueryFigures
from duolog.runtime.sql.figures.series import STEP_MS, Point
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.statement_rights import source_name
from duolog.server.errors import BAD_REQUEST, NOT_FOUND, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.visible_state import visible_state

VERSION: Final = 1
_CLOCK: Final = SystemClock()


_COLUMNS: Final = {
    "in": "records_in_per_s",
    "out": "records_out_per_s",
    "lagRecords": "lag_records",
    "lagMs": "lag_ms",
    "errors": "errors",
    "stateBytes": "state_bytes",
}
"""Fields of `Point` by the names of columns."""


async def queries(request: Request, context: ServerContext) -> Response:
    """Answer with all visible queries, by id.

    Raises:
        RequestRefused: there is no such column of the history.
    """
    columns = _columns(request)
    state = await visible_state(request, context)
    names = sorted(state.queries)
    figures = await context.workers.run(context.sql.figures.all, names)
    histories = await _histories(columns, names, context)
    found = [
        {
            **query_json(state.queries[name], figures.get(name)),
            "mayChange": _may_change(state.queries[name], request, context),
            **histories.get(name, {}),
        }
        for name in names
    ]
    return json_response({"version": VERSION, "queries": found}, media_type=JSON)


async def query(request: Request, context: ServerContext) -> Response:
    """Answer with one query.

    Raises:
        RequestRefused: the client sees no such query, or there is no such column of the history.
    """
    columns = _columns(request)
    state = await visible_state(request, context)
    name = request.path["query"]
    one = state.queries.get(name) or state.queries.get(name.upper())
    if one is None:
        raise RequestRefused(f"Query not found: {name}", NOT_FOUND)
    figures = await context.workers.run(context.sql.figures.all, [one.id])
    histories = await _histories(columns, [one.id], context)
    found = {**query_json(one, figures.get(one.id)), **histories.get(one.id, {})}
    more = {
        "mayChange": _may_change(one, request, context),
        "plan": plan_json(one),
        "settings": settings_json(one),
    }
    return json_response({"version": VERSION, **found, **more}, media_type=JSON)


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


def plan_json(query: PersistentQuery) -> list[dict[str, Any]]:
    """Return the steps of a query, each after those whose records it reads."""
    return [
        {
            "name": node.name,
            "kind": type(node).__name__,
            "does": node.action,
            "reads": [parent.name for parent in node.parents],
            "stores": list(node.stores),
        }
        for node in query.planned.plan.nodes
    ]


def settings_json(query: PersistentQuery) -> dict[str, Any]:
    """Return the settings that a query keeps from its statement; empty texts are defaults."""
    return {
        "processing.guarantee": query.guarantee,
        "duolog.query.jvm.group": query.jvm_group,
        "DEAD_LETTER_TOPIC": query.dead_letters,
        "functions": sorted(query.functions),
    }


def _may_change(query: PersistentQuery, request: Request, context: ServerContext) -> bool:
    """Return whether the client may pause, resume and terminate a query."""
    name = source_name(context.service_id, query.sink)
    return request.client.may(Operation.ALTER, ResourceType.SOURCE, name)


def _columns(request: Request) -> tuple[str, ...]:
    """Return the columns of the history that a request wants.

    Raises:
        RequestRefused: one does not exist.
    """
    text = request.query.get("history", "")
    names = tuple(_COLUMNS) if text == "all" else tuple(filter(None, text.split(",")))
    for name in names:
        if name not in _COLUMNS:
            raise RequestRefused(
                f"The history has no column '{name[:100]}': use all, or {', '.join(_COLUMNS)}",
                BAD_REQUEST,
            )
    return names


async def _histories(
    columns: Sequence[str], names: Sequence[str], context: ServerContext
) -> dict[str, dict[str, Any]]:
    """Return the member `history` of each query; none without columns."""
    if not columns:
        return {}
    found = await context.workers.run(context.sql.figures.history, names)
    return {name: {"history": _history(points, columns)} for name, points in found.items()}


def _history(points: Sequence[Point], columns: Sequence[str]) -> dict[str, Any]:
    return {
        "stepMs": STEP_MS,
        "atMs": [one.at_ms for one in points],
        **{name: [getattr(one, _COLUMNS[name]) for one in points] for name in columns},
    }
