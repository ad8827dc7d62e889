"""Closing of windows without records, in plain Python: a tick carries the wall-clock time.

A task is idle from the first tick before which no record has arrived since the previous tick. After
the idle timeout, stream time follows the wall clock, up to the close of the last window.
"""

from collections.abc import Callable, Sequence

from duolog.plan.nodes import AggregateNode
from duolog.testing.reference.entries import Entry, Stores, TimestampedRow

Emit = Callable[[Entry, Stores], Sequence[Entry]]
"""Emits the windows that have closed by the current stream time."""

_BUSY = -1


def saw_record(node: AggregateNode, stores: Stores) -> None:
    """Record that a task is not idle."""
    if node.idle_ms is not None:
        stores[_idle(node)] = {(): TimestampedRow((), _BUSY)}


def tick(node: AggregateNode, now_ms: int, emit: Emit, stores: Stores) -> Sequence[Entry]:
    """Process a tick: return the windows that close because no record arrived in time."""
    times = stores.get(f"{node.store}, stream time")
    if not times:
        return []
    assert node.idle_ms is not None
    assert node.windows is not None
    since = stores[_idle(node)][()].timestamp_ms
    if since == _BUSY:
        since = now_ms
        stores[_idle(node)] = {(): TimestampedRow((), since)}
    if now_ms - since >= node.idle_ms:
        ends = [key[-1] for key in stores[node.store] if isinstance(key[-1], int)]
        last = max(ends, default=0) + node.windows.closes_after_ms
        times[()] = TimestampedRow((), max(times[()].timestamp_ms, min(now_ms, last)))
    return emit(Entry((), None, times[()].timestamp_ms), stores)


def _idle(node: AggregateNode) -> str:
    """Return the name of the store with the start of a task's idle time."""
    return f"{node.store}, idle since"
