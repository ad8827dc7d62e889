"""Ticks, sent to every waiting task: close windows and call processors without records.

    ticks ─▶ route everywhere ─▶ edge ─▶ idle ┄▶ the fold of an aggregate
                                   └───▶ punctuate ┄▶ a processor

A tick has the form of a record of a topic that does not exist: its key is its timestamp, by the
wall clock; its value is the time when the query started, or 0. It is ordered after all records of
its micro-batch.
"""

from collections.abc import Iterable
from typing import Final

from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.node_spec import NodeSpec, Operator
from duolog.engine.lowering.spec.operators import IdleOperator, RouteOperator
from duolog.engine.lowering.spec.processor_operators import PunctuateOperator
from duolog.engine.lowering.spec.ticks import TICKS
from duolog.plan.cutting.levels import Levels
from duolog.plan.nodes import AggregateNode, Node, Process

# The greatest valid timestamp (the kernel's `Timestamps`): after all records of a micro-batch.
_LAST: Final = f"{(2**63 - 1) // 1000 - 1}L"
_KEY: Final = ["BIGINT", "BIGINT"]


def waits_idle(nodes: Iterable[object]) -> bool:
    """Return whether windows must close, or a processor be called, while no records arrive."""
    return any(
        isinstance(node, Process) or (isinstance(node, AggregateNode) and node.idle_ms is not None)
        for node in nodes
    )


def add_ticks(spec: Json, levels: Levels) -> None:
    """Add ticks to a spec if something must happen while no records arrive; most need none."""
    routes = []
    nodes, edges = spec["nodes"], spec["edges"]
    for part in levels.subtopologies:
        for node in part.nodes:
            if waits_idle((node,)):
                edge = len(edges)
                idle = _told(node, nodes)
                route = RouteOperator(edge=edge, keys=None, key_bytes="NULL", everywhere=True)
                edges.append(_edge(edge, part.id, _add(nodes, f"{node.name}-idle", idle)))
                routes.append(_add(nodes, f"{node.name}-ticks", route))
    if routes:
        spec["ticks"] = {
            "id": len(spec["sources"]),
            "topic": TICKS,
            "key_null": "false",
            "value_null": "true",
            "keys": ["ts", "coalesce(duolog_bigint(value), 0L)"],
            "key_types": _KEY,
            "timestamp": _LAST,
            "children": routes,
        }


def _told(node: Node, nodes: dict[str, Json]) -> Operator:
    """Return the operator that passes the time to a node."""
    if isinstance(node, AggregateNode) and node.idle_ms is not None:
        return IdleOperator(fold=_fold_of(node, nodes), store=node.store, idle_ms=node.idle_ms)
    number = next(
        n for n, of in nodes.items() if of["kind"] == "process" and of["name"] == node.name
    )
    return PunctuateOperator(process=int(number))


def _add(nodes: dict[str, Json], name: str, operator: Operator) -> int:
    number = len(nodes)
    nodes[str(number)] = NodeSpec(operator, name, _KEY, [], table=False).json()
    return number


def _edge(number: int, subtopology: int, node: int) -> Json:
    return {
        "id": number,
        "subtopology": subtopology,
        "queue": number,
        "rekeyed": False,
        "key_types": _KEY,
        "value_types": [],
        "node": node,
    }


def _fold_of(node: AggregateNode, nodes: dict[str, Json]) -> int:
    return next(
        int(number)
        for number, entry in nodes.items()
        if entry["kind"].endswith("_fold") and entry["store"] == node.store
    )
