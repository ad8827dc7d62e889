"""Tables with a time to live: rows expire, by stream time, if they are not updated.

A row exists while its timestamp is less than `ttl_ms` below the greatest timestamp that its store's
task has seen. It expires silently: no change is emitted, and results computed from it stay.
"""

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.node import Node


def ttl_of(table: Node) -> int | None:
    """Return the time to live of a table's rows, or of their source's rows; None: no limit."""
    if table.stores:
        return table.ttl_ms
    found = [ttl for above in table.drivers if (ttl := ttl_of(above)) is not None]
    return min(found, default=None)


def ensure_ttl(ttl_ms: int | None) -> None:
    if ttl_ms is not None and ttl_ms < 1:
        raise InvalidPlan("the ttl must be positive", hint="Use at least a millisecond for ttl=.")


def ensure_stays(table: Node, action: str) -> None:
    """Raise a StatementError if rows of a table expire, because `action` would not be notified."""
    if ttl_of(table) is not None:
        raise InvalidPlan(
            f'cannot {action} table "{table}"',
            detail=f"Its rows expire silently after {ttl_of(table)} ms: what they added could not "
            "be subtracted.",
            hint="Remove ttl=, or use the table's changes: to_stream().",
        )


def render_ttl(ttl_ms: int | None) -> str:
    return "" if ttl_ms is None else f" for {ttl_ms} ms"
