"""The stores of a spec under other names.

A store that its user has not named is numbered by its place, `count-3-store`; one more operator in front
of it makes it `count-4-store`. To see whether that is the store of a checkpoint, its spec is read as if it had that one's name.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from duolog.engine.lowering.store_layouts import fills_store
from duolog.engine.lowering.store_names import Names

Json = dict[str, Any]

_STORES: Final = (
    "store",
    "other_store",
    "unmatched",
    "other_unmatched",
    "newest",
    "results",
    "table_store",
    "subscriptions",
)
"""What nodes call stores; `results` of aggregates are expressions."""
_NUMBERED: Final = re.compile(r"(?P<kind>.*?-)(?P<number>\d+)(?P<role>-.*)")


def are_alike(store: str, other: str) -> bool:
    """Tell whether two stores may be one whose place has changed.

    Example:
        >>> are_alike("count-3-store", "count-4-store"), are_alike("count-3-store", "sum-3-store")
        (True, False)
    """
    matches = [_NUMBERED.fullmatch(name) for name in (store, other)]
    kinds = {(match["kind"], match["role"]) if match else None for match in matches}
    return len(kinds) == 1 and None not in kinds


def stores_of(node: Json) -> list[str]:
    """Return the names of all stores that a node of a spec fills or reads."""
    return [name for part in _STORES if isinstance(name := node.get(part), str)]


def filled_by(node: Json) -> list[str]:
    """Return the stores that a node has in Spark's state, where it fills one."""
    own = [node["store"]] if fills_store(node) else []
    return [*own, *([node["unmatched"]] if node.get("unmatched") else [])]


def renamed(spec: Json, names: Names, new_names: Mapping[str, str]) -> tuple[Json, Names]:
    """Return a spec and its words with stores under other names; those that are left out keep theirs."""

    def name(of: str) -> str:
        return new_names.get(of, of)

    def node(of: Json) -> Json:
        other = {part: name(of[part]) for part in _STORES if isinstance(of.get(part), str)}
        if of.get("store") == f"{of['name']}-store":
            # It says by this that its name is its place.
            other["name"] = other["store"].removesuffix("-store")
        return of | other

    nodes = {number: node(of) for number, of in spec["nodes"].items()}
    words = replace(
        names,
        accumulators={name(store): of for store, of in names.accumulators.items()},
        stores={name(store): of for store, of in names.stores.items()},
        results={name(store): of for store, of in names.results.items()},
    )
    return spec | {"nodes": nodes, "stores": [name(store) for store in spec["stores"]]}, words
