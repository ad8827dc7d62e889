"""Describe each operator of a plan: what it stores and until when, in which modes it runs, and why.

filter-2      both modes; keeps nothing
aggregate-4   both modes; store aggregate-4-store: a row for each group for good: groups never end;
in micro-batches only the last update of a row is emitted, by the record cache
"""

from collections.abc import Iterator

from duolog.plan.cutting.levels import Levels
from duolog.plan.nodes import AggregateNode, Node


def explain_operators(levels: Levels, *, cache_bytes_max: int) -> Iterator[str]:
    """Yield a line for each operator, in plan order."""
    for node in levels.nodes:
        parts = [node.modes, *_kept(node), *_told(node, levels, cache_bytes_max)]
        yield f"  {node.name}: {'; '.join(parts)}"


def _kept(node: Node) -> Iterator[str]:
    if not node.stores:
        yield "keeps no state"
    else:
        yield f"store {', '.join(node.stores)}: {node.expiry}"


def _told(node: Node, levels: Levels, cache_bytes_max: int) -> Iterator[str]:
    if not isinstance(node, AggregateNode):
        return
    if node in levels.cut.copied:
        yield "each update is emitted, because a replicated copy needs all of them"
    elif cache_bytes_max:
        yield "in micro-batches only the last update of a row is emitted, by the record cache"
    else:
        yield "each update is emitted: statestore.cache.max.bytes is 0"
