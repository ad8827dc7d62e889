"""Lineage of streams and tables, down to columns, as JSON.

    {"version": 1,
     "service": "default_",
     "sources": [{"name": "TOTALS", "type": "TABLE", "topics": ["TOTALS"], …}],
     "queries": [{"id": "CTAS_TOTALS_1", "sources": ["ORDERS"], "sink": "TOTALS",
                  "columns": [{"name": "TOTAL", "inputs": [
                      {"source": "ORDERS", "column": "N", "kind": "aggregated"}]}],
                  "rows": [{"source": "ORDERS", "column": "ID", "kind": "key"}]}],
     "topics": [{"name": "orders", "sources": ["ORDERS"]}],
     "edges": [{"from": "query:CTAS_TOTALS_1", "to": "source:TOTALS"}]}

kind         meaning for a result                        in OpenLineage
copied       the same value                              DIRECT, IDENTITY
computed     an argument of an expression                DIRECT, TRANSFORMATION
aggregated   an argument of an aggregate function        DIRECT, AGGREGATION
key          decides which rows meet: groups, joins      INDIRECT, GROUP_BY or JOIN
filter       read by WHERE or HAVING                     INDIRECT, FILTER

All lists are sorted, so equal catalogs have equal texts. An edge leads from a source to a query,
from a query to its sink, and from a sink to its topic; and from a topic to a source that was
declared over it. Timestamps, headers and the bounds of windows are not columns of a source: a
result that is computed from them has no inputs.

Source: OpenLineage's facet ColumnLineageDatasetFacet (the kinds of transformations).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from typing import Literal as OneOf

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.statements.state import PersistentQuery, SessionState
from duolog.ksql.syntax.types import sql_name

Json = dict[str, Any]
Direction = OneOf["both", "upstream", "downstream"]

VERSION: Final = 1
"""Increases when a member is removed or changes its meaning; new members do not count."""


def lineage_of(state: SessionState, service_id: str) -> Json:
    """Return the lineage of all streams and tables in the catalog of a session."""
    queries = sorted(state.queries.values(), key=lambda query: query.id)
    sources = sorted(state.catalog.sources.values(), key=lambda source: source.name)
    return {
        "version": VERSION,
        "service": service_id,
        "sources": [_source(source, queries) for source in sources],
        "queries": [_query(query) for query in queries],
        "topics": _topics(sources),
        "edges": [{"from": start, "to": end} for start, end in edges_of(state)],
    }


def edges_of(state: SessionState) -> list[tuple[str, str]]:
    """Return the edges between all sources, queries and topics, sorted."""
    sources = list(state.catalog.sources.values())
    return sorted(_edges(sources, list(state.queries.values()), set(state.catalog.sources)))


def around(lineage: Json, source: str, direction: Direction = "both") -> Json:
    """Return the part of a lineage that leads to a source, or starts there, or both.

    The source must be in the lineage. A part has no sources that only share a query or a topic with
    those on the way.
    """
    ends: dict[str, set[str]] = defaultdict(set)
    starts: dict[str, set[str]] = defaultdict(set)
    for edge in lineage["edges"]:
        ends[edge["from"]].add(edge["to"])
        starts[edge["to"]].add(edge["from"])
    at = f"source:{source}"
    kept = {at}
    if direction != "downstream":
        kept |= _reached(at, starts)
    if direction != "upstream":
        kept |= _reached(at, ends)
    return {
        **lineage,
        "sources": [one for one in lineage["sources"] if f"source:{one['name']}" in kept],
        "queries": [one for one in lineage["queries"] if f"query:{one['id']}" in kept],
        "topics": [one for one in lineage["topics"] if f"topic:{one['name']}" in kept],
        "edges": [one for one in lineage["edges"] if {one["from"], one["to"]} <= kept],
    }


def _reached(start: str, following: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for one in following.get(waiting.pop(), ()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


def _source(source: SourceInfo, queries: list[PersistentQuery]) -> Json:
    return {
        "name": source.name,
        "type": source.kind,
        "topics": list(source.topics),
        "isPattern": source.is_pattern,
        "keyFormat": source.key_format.name,
        "valueFormat": source.value_format.name,
        "windowType": None if source.window is None else source.window.kind,
        "columns": [
            {"name": one.name, "type": sql_name(one.type), "role": one.role}
            for one in source.columns
        ],
        "writtenBy": [query.id for query in queries if query.sink == source.name],
        "readBy": [query.id for query in queries if source.name in query.reads],
    }


def _query(query: PersistentQuery) -> Json:
    columns: dict[str, set[tuple[str, str, str]]] = {}
    rows: set[tuple[str, str, str]] = set()
    for sink in query.planned.plan.sinks:
        names = set(sink.parent.schema.names)
        for column in query.planned.columns:
            found = columns.setdefault(column.name, set())
            if column.name in names:
                found |= _inputs(query, sink.parent, column.name)
        rows |= _deciding(query, sink.parent)
    return {
        "id": query.id,
        "state": query.state,
        "statement": query.statement,
        "sources": sorted(set(query.reads)),
        "sink": query.sink,
        "topic": query.planned.topic,
        "columns": [
            {"name": name, "inputs": _as_json(found)} for name, found in sorted(columns.items())
        ],
        "rows": _as_json(rows),
    }


def _inputs(query: PersistentQuery, node: Any, column: str) -> set[tuple[str, str, str]]:
    from duolog.plan.cutting.origins import ways_to  # noqa: PLC0415 - needs the planner's nodes

    return {
        (query.planned.read_by[origin.source.name], origin.column, kind.name.lower())
        for origin, kinds in ways_to(node, column).items()
        for kind in kinds
    }


def _deciding(query: PersistentQuery, node: Any) -> set[tuple[str, str, str]]:
    from duolog.plan.cutting.origins import deciders_of  # noqa: PLC0415 - as above

    return {
        (query.planned.read_by[origin.source.name], origin.column, decider.name.lower())
        for origin, deciders in deciders_of(node).items()
        for decider in deciders
    }


def _as_json(inputs: Iterable[tuple[str, str, str]]) -> list[Json]:
    return [
        {"source": source, "column": column, "kind": kind}
        for source, column, kind in sorted(inputs)
    ]


def _topics(sources: list[SourceInfo]) -> list[Json]:
    found: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for topic in source.topics:
            found[topic].append(source.name)
    return [{"name": topic, "sources": names} for topic, names in sorted(found.items())]


def _edges(
    sources: list[SourceInfo], queries: list[PersistentQuery], known: set[str]
) -> Iterator[tuple[str, str]]:
    written = {query.sink for query in queries}
    for source in sources:
        for topic in source.topics:
            if not source.query:
                yield f"topic:{topic}", f"source:{source.name}"
            if source.query or source.name in written:
                yield f"source:{source.name}", f"topic:{topic}"
    for query in queries:
        for name in sorted(set(query.reads) & known):
            yield f"source:{name}", f"query:{query.id}"
        if query.sink in known:
            yield f"query:{query.id}", f"source:{query.sink}"
