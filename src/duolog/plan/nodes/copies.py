"""Copy plans with changed nodes."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from duolog.plan.nodes.node import Node
from duolog.plan.nodes.plan import Plan

Change = Callable[[Node, dict[str, Any]], None]
"""Changes the values of a copied node's fields, given the original."""


def copied(plan: Plan, change: Change) -> tuple[Plan, dict[Node, Node]]:
    """Return a plan of copied nodes, each of them with its changes, and the copies by original."""
    made: dict[Node, Node] = {}

    def changed(value: Any) -> Any:
        match value:
            case Node():
                if value not in made:
                    made[value] = of(value)
                return made[value]
            case tuple() if any(isinstance(one, Node) for one in value):
                return tuple(map(changed, value))
            case _:
                return value

    def of(node: Node) -> Node:
        values = {one.name: changed(getattr(node, one.name)) for one in fields(node) if one.init}  # type: ignore[arg-type]
        change(node, values)
        return replace(node, **values)  # type: ignore[type-var]

    nodes = tuple(changed(node) for node in plan.nodes)
    sinks = tuple(changed(sink) for sink in plan.sinks)
    return Plan(sinks, nodes, plan.places, plan.place), made
