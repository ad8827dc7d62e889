"""Tables whose rows go when they were not updated for a time: time to live, by stream time.

A row is there as long as its timestamp is less than `ttl_ms` behind the greatest that its store's task has
seen. It goes without a word: nobody is told, and what was made of it stays.
"""

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.node import Node


def ttl_of(table: Node) -> int | None:
    """Return how long rows of a table live, or of what they are computed from; None: for good."""
    if table.stores:
        return table.ttl_ms
    found = [ttl for above in table.drivers if (ttl := ttl_of(above)) is not None]
    return min(found, default=None)


def ensure_ttl(ttl_ms: int | None) -> None:
    if ttl_ms is not None and ttl_ms < 1:
        raise InvalidPlan("a row has no time to live", hint="Give ttl= a millisecond or more.")


def ensure_stays(table: Node, action: str) -> None:
    """Raise a StatementError where rows of a table go and `action` would not hear of it."""
    if ttl_of(table) is not None:
        raise InvalidPlan(
            f'cannot {action} table "{table}"',
            detail=f"Its rows go after {ttl_of(table)} ms, and nobody is told: what was added could not "
            "be taken back.",
            hint="Leave ttl= out, or take the table's changes: to_stream().",
        )


def render_ttl(ttl_ms: int | None) -> str:
    return "" if ttl_ms is None else f" for {ttl_ms} ms"
