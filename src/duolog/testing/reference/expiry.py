"""Expiry of rows that are not updated, in plain Python."""

from typing import Protocol

from duolog.serde.row import Row
from duolog.testing.reference.entries import Entry, Stores, TimestampedRow


class Keeping(Protocol):
    """A node with a store."""

    @property
    def store(self) -> str: ...

    @property
    def ttl_ms(self) -> int | None: ...


def see(node: Keeping, entry: Entry, stores: Stores) -> None:
    """Advance the stream time of a store."""
    times = stores.setdefault(_times(node), {})
    seen = times.get(())
    times[()] = TimestampedRow(
        (), max(entry.timestamp_ms, seen.timestamp_ms if seen else entry.timestamp_ms)
    )


def find(node: Keeping, key: Row, stores: Stores) -> TimestampedRow | None:
    """Return the row of a key, unless it has expired."""
    kept = stores[node.store].get(key)
    if kept is None or node.ttl_ms is None:
        return kept
    now = stores[_times(node)][()].timestamp_ms
    return kept if now - kept.timestamp_ms < node.ttl_ms else None


def _times(node: Keeping) -> str:
    return f"{node.store}, stream time"
