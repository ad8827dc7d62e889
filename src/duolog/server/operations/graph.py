"""The graph of the whole application, with what flows in it now.

    GET /v1/graph                             the largest connected parts first
    GET /v1/graph?around=query:CTAS_TOTALS_1  what leads to a node, and what follows it
    GET /v1/graph?limit=50                    at most 50 nodes; 200 if it is not given

    {"version": 1, "leftOut": 0,
     "nodes": [{"id": "query:CTAS_TOTALS_1", "kind": "query", "name": "CTAS_TOTALS_1",
                "state": "RUNNING", "error": "", "server": "db1:8088", "lagRecords": 7,
                "lagMs": 2100, "lagMsTrend": "steady", "errors": 0},
               {"id": "source:TOTALS", "kind": "table", "name": "TOTALS"},
               {"id": "topic:TOTALS", "kind": "topic", "name": "TOTALS", "records": 120}],
     "edges": [{"from": "query:CTAS_TOTALS_1", "to": "source:TOTALS", "recordsPerSecond": 2.5}]}

A client sees what it may describe, as in /v1/lineage. Rates that are unknown are null. An edge from
a topic has the growth of the topic: what its readers can read, not what they have read.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from duolog.ksql.graph import Graph, graph_of
from duolog.ksql.statements.state import SessionState
from duolog.runtime.sql.figures.query_figures import Flow, QueryFigures
from duolog.server.errors import BAD_REQUEST, NOT_FOUND, RequestRefused
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext
from duolog.server.operations.sources import sizes_of
from duolog.server.operations.visible_state import visible_state

if TYPE_CHECKING:
    from duolog.runtime.sql.figures.topic_growth import TopicSize

Json = dict[str, Any]
VERSION: Final = 1
NODES: Final = 200
NODES_MAX: Final = 1_000
_DIGITS_MAX: Final = 4


async def graph(request: Request, context: ServerContext) -> Response:
    """Answer with the graph of all visible streams, tables and queries, or a part of it.

    Raises:
        RequestRefused: the limit is not valid, or the client sees no such node.
    """
    limit = _limit(request.query.get("limit"))
    state = await visible_state(request, context)
    whole = graph_of(state)
    around = request.query.get("around")
    if around is not None and around not in whole.nodes:
        raise RequestRefused(f"Node not found: {around[:300]}", NOT_FOUND)
    shown = whole.first(limit) if around is None else whole.around(around, limit)
    queries = [name for kind, name in map(_parts, shown.nodes) if kind == "query"]
    topics = [name for kind, name in map(_parts, shown.nodes) if kind == "topic"]
    figures = await context.workers.run(context.sql.figures.all, queries)
    sizes = await sizes_of(topics, request, context)
    return json_response(graph_json(shown, state, figures, sizes), media_type=JSON)


def graph_json(
    shown: Graph,
    state: SessionState,
    figures: Mapping[str, QueryFigures],
    sizes: "Mapping[str, TopicSize]",
) -> Json:
    """Return a part of the graph of a catalog, with figures and sizes as far as they are known."""

    def node(of: str) -> Json:
        kind, name = _parts(of)
        found: Json = {"id": of, "kind": kind, "name": name}
        match kind:
            case "query":
                query = state.queries[name]
                return {
                    **found,
                    "state": query.state,
                    "error": query.error,
                    **_figures_json(figures.get(name)),
                }
            case "source":
                return {**found, "kind": state.catalog.sources[name].kind.lower()}
            case _:
                size = sizes.get(name)
                return {**found, "records": None if size is None else size.records}

    def rate(start: str, end: str) -> float | None:
        (kind, name), (end_kind, end_name) = _parts(start), _parts(end)
        topic = name if kind == "topic" else end_name
        if "topic" in (kind, end_kind):
            size = sizes.get(topic)
            return None if size is None else size.per_second
        source = state.catalog.sources[name if kind == "source" else end_name]
        known = figures.get(end_name if kind == "source" else name)
        flows: Mapping[str, Flow] = {}
        if known is not None:
            flows = known.topics_in if kind == "source" else known.topics_out
        topics = source.topics_among(flows)
        rates = [flows[one].per_second for one in topics]
        sums = [one for one in rates if one is not None]
        return sum(sums) if sums else None

    return {
        "version": VERSION,
        "leftOut": shown.left_out,
        "nodes": [node(one) for one in shown.nodes],
        "edges": [
            {"from": start, "to": end, "recordsPerSecond": rate(start, end)}
            for start, end in shown.edges
        ],
    }


def _figures_json(figures: QueryFigures | None) -> Json:
    lag = None if figures is None else figures.lag
    return {
        "server": figures.server if figures else "",
        "lagRecords": lag.records if lag else None,
        "lagMs": lag.ms if lag else None,
        "lagMsTrend": lag.ms_trend if lag else None,
        "errors": sum(figures.errors.values()) if figures else None,
    }


def _parts(node: str) -> tuple[str, str]:
    kind, _, name = node.partition(":")
    return kind, name


def _limit(text: str | None) -> int:
    if text is None:
        return NODES
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX):
        raise RequestRefused("'limit' is not a number", BAD_REQUEST)
    if not 1 <= int(text) <= NODES_MAX:
        raise RequestRefused(f"'limit' is not between 1 and {NODES_MAX}", BAD_REQUEST)
    return int(text)
