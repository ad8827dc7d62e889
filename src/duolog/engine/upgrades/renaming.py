"""Rename the stores of a spec.

A store without a user-given name is numbered by its position, for example `count-3-store`; one more
operator upstream makes it `count-4-store`. To compare it with a store of a checkpoint, its spec is
read with that store's name.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from duolog.engine.json_object import Json
from duolog.engine.lowering.stores.store_names import Names
from duolog.engine.lowering.stores.stored_rows import fills_store

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
"""The fields by which nodes name stores; `results` of aggregates are expressions."""
_NUMBERED: Final = re.compile(r"(?P<kind>.*?-)(?P<number>\d+)(?P<role>-.*)")


def are_alike(store: str, other: str) -> bool:
    """Return whether two names may belong to one store that has moved.

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
    """Return the stores of a node in Spark's state, if it fills any."""
    own = [node["store"]] if fills_store(node) else []
    return [*own, *([node["unmatched"]] if node.get("unmatched") else [])]


def renamed(spec: Json, names: Names, new_names: Mapping[str, str]) -> tuple[Json, Names]:
    """Return a spec and its names with stores renamed; other stores keep their names."""

    def name(of: str) -> str:
        return new_names.get(of, of)

    def node(of: Json) -> Json:
        other = {part: name(of[part]) for part in _STORES if isinstance(of.get(part), str)}
        if of.get("store") == f"{of['name']}-store":
            # This shows that the store is named after its node's position.
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
