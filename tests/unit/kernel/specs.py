"""Specs for the tests of the kernel, put together from small parts."""

from collections.abc import Sequence
from typing import Any

from duolog.engine.settings import CACHE_BYTES_MAX_DEFAULT

Spec = dict[str, Any]
Node = dict[str, Any]

KEY_BYTES = "CAST(k0 AS BINARY)"


def types(key: str, values: str) -> Node:
    """The layout of a node's input, such as `types("STRING", "STRING, BIGINT")`."""
    return {"key_types": key.split(", "), "value_types": values.split(", ")}


def json_source(source_id: int, topic: str, columns: str, children: Sequence[int]) -> Node:
    """A topic with a STRING key and JSON values; the first column is required."""
    names, column_types = zip(*(column.split() for column in columns.split(", ")), strict=True)
    return {
        "id": source_id,
        "topic": topic,
        "parse": {"columns": [f"duolog_from_json(value, '{columns}')"]},
        "corrupt": f"CASE WHEN value IS NOT NULL AND (p0 IS NULL OR p0.{names[0]} IS NULL) "
        "THEN 'its value is no JSON' END",
        "keys": ["CAST(key AS STRING)"],
        "key_types": ["STRING"],
        "values": [f"p0.{name}" for name in names],
        "value_types": list(column_types),
        "children": list(children),
    }


def route(edge: int, layout: Node, *, keys: list[str] | None = None, table: bool = False) -> Node:
    return {
        "kind": "route",
        "edge": edge,
        "keys": keys,
        "key_bytes": KEY_BYTES,
        "table": table,
        **layout,
    }


def json_sink(sink: int, layout: Node, *names: str) -> Node:
    struct = ", ".join(f"v{i} AS {name}" for i, name in enumerate(names))
    value_bytes = f"CAST(to_json(struct({struct})) AS BINARY)"
    return {
        "kind": "sink",
        "sink": sink,
        "key_bytes": KEY_BYTES,
        "value_bytes": value_bytes,
        **layout,
    }


def spec(
    *,
    sources: list[Node],
    edges: list[tuple[int, int, Node]],
    nodes: dict[int, Node],
    sinks: list[str],
    **changes: Any,
) -> Spec:
    """A spec of two tasks, with the record cache that a user gets; a level for each sub-topology.

    `edges` are (sub-topology, node, layout).
    """
    subtopologies = sorted({subtopology for subtopology, _, _ in edges})
    return {
        "application_id": "test",
        "tasks": 2,
        "shuffle_partitions": 2,
        "real_time": False,
        "cache_bytes_max": CACHE_BYTES_MAX_DEFAULT,
        "sources": sources,
        "edges": [
            {"id": i, "subtopology": subtopology, "node": node, **layout}
            for i, (subtopology, node, layout) in enumerate(edges)
        ],
        "levels": [[subtopology] for subtopology in subtopologies],
        "nodes": {str(node): operator for node, operator in nodes.items()},
        "sinks": [{"id": i, "topic": topic} for i, topic in enumerate(sinks)],
        **changes,
    }


FLIGHT = types("STRING", "STRING, BIGINT")
AIRLINE = types("STRING", "STRING")
TOTALS = types("STRING", "BIGINT, BIGINT")
COUNT_AND_SUM: Node = {
    "acc_types": ["BIGINT", "BIGINT"],
    "init": ["0", "NULL"],
    "add": ["a0 + 1", "CASE WHEN v1 IS NULL THEN a1 ELSE coalesce(a1, 0) + v1 END"],
    "subtract": ["a0 - 1", "CASE WHEN v1 IS NULL THEN a1 ELSE a1 - v1 END"],
    "results": ["a0", "a1"],
}


def flights_spec(*, left: bool = False, **changes: Any) -> Spec:
    """Flights joined with airlines, counted by airline name.

    flights  ─ edge 0, by carrier ─► join ─ sink "joined"
    airlines ─ edge 1 ─► table ─────┘  └── edge 2, by name ─► count, sum ─ sink "by_airline"
    """
    return spec(
        sources=[
            json_source(0, "flights", "carrier STRING, delay BIGINT", [0]),
            json_source(1, "airlines", "name STRING", [1]),
        ],
        edges=[(0, 2, FLIGHT), (0, 3, AIRLINE), (1, 6, FLIGHT)],
        nodes={
            0: route(0, FLIGHT, keys=["v0"]),
            1: route(1, AIRLINE),
            2: {
                "kind": "lookup",
                "store": "airlines",
                "left": left,
                "right_types": ["STRING"],
                "values": ["r0", "v1"],
                "children": [4, 5],
                **FLIGHT,
            },
            3: {"kind": "table", "store": "airlines", **AIRLINE},
            4: route(2, FLIGHT, keys=["v0"]),
            5: json_sink(0, FLIGHT, "name", "delay"),
            6: {"kind": "fold", "store": "totals", "children": [7], **COUNT_AND_SUM, **FLIGHT},
            7: {"kind": "to_stream", "table": True, "children": [8], **TOTALS},
            8: json_sink(1, TOTALS, "flights", "delay"),
        },
        sinks=["joined", "by_airline"],
        **changes,
    )


def regroup_spec(*, predicate: str = "true", **changes: Any) -> Spec:
    """A table of persons (city, age), filtered, counted by city.

    persons ─ edge 0 ─► table ─ filter ─ edge 1, by city ─► count, sum ─ sink "by_city"
    """
    person = FLIGHT
    return spec(
        sources=[json_source(0, "persons", "city STRING, age BIGINT", [0])],
        edges=[(0, 1, person), (1, 4, person)],
        nodes={
            0: route(0, person),
            1: {"kind": "table", "store": "persons", "children": [2], **person},
            2: {
                "kind": "filter",
                "predicate": predicate,
                "table": True,
                "children": [3],
                **person,
            },
            3: route(1, person, keys=["v0"], table=True),
            4: {
                "kind": "fold",
                "store": "cities",
                "table": True,
                "children": [5],
                **COUNT_AND_SUM,
                **person,
            },
            5: {"kind": "to_stream", "table": True, "children": [6], **TOTALS},
            6: json_sink(0, TOTALS, "persons", "age"),
        },
        sinks=["by_city"],
        **changes,
    )


def history_spec(**changes: Any) -> Spec:
    """Return two streams of numbers with one task per key; the sink shows the order of their records.

    left  ─ edge 0 ─► project ─┐
                               ├─► append to the key's history ─ sink "history"
    right ─ edge 1 ─► project ─┘
    """
    number, text = types("STRING", "BIGINT"), types("STRING", "STRING")
    return spec(
        sources=[
            json_source(0, "left", "n BIGINT", [0]),
            json_source(1, "right", "n BIGINT", [1]),
        ],
        edges=[(0, 2, number), (0, 3, number)],
        nodes={
            0: route(0, number),
            1: route(1, number),
            2: {"kind": "project", "values": ["concat('l', v0)"], "children": [4], **number},
            3: {"kind": "project", "values": ["concat('r', v0)"], "children": [4], **number},
            4: {
                "kind": "fold",
                "store": "history",
                "acc_types": ["STRING"],
                "init": ["''"],
                "add": ["concat(a0, ' ', v0)"],
                "results": ["a0"],
                "children": [5],
                **text,
            },
            5: {
                "kind": "sink",
                "sink": 0,
                "key_bytes": KEY_BYTES,
                "value_bytes": "CAST(ltrim(v0) AS BINARY)",
                **text,
            },
        },
        sinks=["history"],
        **changes,
    )
