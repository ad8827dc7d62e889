"""Streams and tables, with their columns, their sizes, and the queries that use them.

    GET /v1/sources                    all that the client may describe, by name
    GET /v1/sources/TOTALS             one of them

    {"version": 1, "sources": [{"name": "TOTALS", "type": "TABLE", "topics": ["TOTALS"],
      "isPattern": false, "isReadOnly": false, "keyFormat": "KAFKA", "valueFormat": "JSON",
      "windowType": null, "windowMs": null, "timestamp": null, "statement": "CREATE …",
      "columns": [{"name": "ID", "type": "STRING", "role": "KEY"}…],
      "partitions": 1, "records": 120, "recordsPerSecond": 2.5, "lastResultAgeMs": 800,
      "writtenBy": ["CTAS_TOTALS_1"], "readBy": []}]}

`records` and `recordsPerSecond` are those of the topics, by offsets: see
`duolog.runtime.sql.figures.topic_growth`. They are null for topics that the client may not
describe, that do not exist, and at first. `partitions` is null if a topic is unknown, and
`statement` if the client may not describe all streams and tables that it names.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

from duolog.core.clock import SystemClock
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.statements.state import SessionState
from duolog.ksql.syntax.types import sql_name
from duolog.security.authorization.operations import ResourceType
from duolog.server.access.checks import Checks
from duolog.server.errors import NOT_FOUND, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.visible_state import visible_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from duolog.runtime.sql.figures.query_figures import QueryFigures
    from duolog.runtime.sql.figures.topic_growth import TopicSize

Json = dict[str, Any]
VERSION: Final = 1
_CLOCK: Final = SystemClock()


async def sources(request: Request, context: ServerContext) -> Response:
    """Answer with all visible streams and tables, by name."""
    state = await visible_state(request, context)
    names = sorted(state.catalog.sources)
    return json_response(
        {"version": VERSION, "sources": await _described(names, state, request, context)},
        media_type=JSON,
    )


async def source(request: Request, context: ServerContext) -> Response:
    """Answer with one stream or table.

    Raises:
        RequestRefused: the client sees none of that name.
    """
    state = await visible_state(request, context)
    asked = request.path["source"]
    for name in (asked, asked.upper()):
        if name in state.catalog.sources:
            (found,) = await _described([name], state, request, context)
            return json_response({"version": VERSION, **found}, media_type=JSON)
    raise RequestRefused(f"Stream or table not found: {asked}", NOT_FOUND)


async def sizes_of(
    topics: list[str], request: Request, context: ServerContext
) -> "dict[str, TopicSize]":
    """Return the sizes of those topics that the client may describe."""
    checks = Checks(request.client, asyncio.get_running_loop())
    seen = checks.visible(ResourceType.TOPIC, topics)
    return await context.workers.run(context.sql.figures.topics, seen)


async def _described(
    names: list[str], state: SessionState, request: Request, context: ServerContext
) -> list[Json]:
    found = [state.catalog.sources[name] for name in names]
    there = state.catalog.partitions
    topics = {
        one.name: list(one.topics_among(there) if one.is_pattern else one.topics) for one in found
    }
    wanted = sorted({name for of in topics.values() for name in of})
    sizes = await sizes_of(wanted, request, context)
    queries = {query.id for name in names for query in state.writers(name)}
    figures = await context.workers.run(context.sql.figures.all, queries)
    return [source_json(one, topics[one.name], state, sizes, figures) for one in found]


def source_json(
    one: SourceInfo,
    topics: list[str],
    state: SessionState,
    sizes: "Mapping[str, TopicSize]",
    figures: "Mapping[str, QueryFigures]",
) -> Json:
    """Return a stream or table; `topics` are those that it reads now."""
    known = [sizes[name] for name in topics if name in sizes]
    rates = [size.per_second for size in known if size.per_second is not None]
    whole = len(known) == len(topics) and bool(topics)
    counts = [state.catalog.partitions.get(name) for name in topics]
    writers = [query.id for query in state.writers(one.name)]
    return {
        "name": one.name,
        "type": one.kind,
        "topics": topics if one.is_pattern else list(one.topics),
        "isPattern": one.is_pattern,
        "pattern": one.topic if one.is_pattern else None,
        "isReadOnly": one.read_only,
        "keyFormat": one.key_format.name,
        "valueFormat": one.value_format.name,
        "windowType": None if one.window is None else one.window.kind,
        "windowMs": None if one.window is None else one.window.size_ms,
        "timestamp": None if one.timestamp is None else one.timestamp.name,
        # It would name streams and tables that the client may not describe.
        "statement": one.statement if one.query in ("", *state.queries) else None,
        "columns": [
            {"name": column.name, "type": sql_name(column.type), "role": column.role}
            for column in one.columns
        ],
        "partitions": None if None in counts else sum(filter(None, counts)),
        "records": sum(size.records for size in known) if whole else None,
        "recordsPerSecond": sum(rates) if whole and len(rates) == len(known) else None,
        "lastResultAgeMs": _last_result_age_ms(writers, figures),
        "writtenBy": writers,
        "readBy": [query.id for query in state.readers(one.name)],
    }


def _last_result_age_ms(writers: list[str], figures: "Mapping[str, QueryFigures]") -> int | None:
    now_ms = _CLOCK.now_ms()
    ages = [
        max(0, now_ms - at_ms)
        for name in writers
        if name in figures and (at_ms := figures[name].last_result_at_ms) is not None
    ]
    return min(ages, default=None)
