"""Windows that close where no record comes, in plain Python: a tick tells the time by the wall clock.

A task is idle from the first tick on before which no record has come since the one before. When that is long ago, stream
time goes on with the wall clock, up to the close of the last window.
"""

from collections.abc import Callable, Sequence

from duolog.plan.nodes import AggregateNode
from duolog.testing.reference.entries import Entry, Kept, Stores

Tell = Callable[[Entry, Stores], Sequence[Entry]]
"""Tells what has closed by stream time as it is now."""

_BUSY = -1


def saw_record(node: AggregateNode, stores: Stores) -> None:
    """Keep in mind that a task was not idle."""
    if node.idle_ms is not None:
        stores[_idle(node)] = {(): Kept((), _BUSY)}


def tick(node: AggregateNode, now_ms: int, tell: Tell, stores: Stores) -> Sequence[Entry]:
    """Tell the time: return what closes if no record has come for long."""
    times = stores.get(f"{node.store}, stream time")
    if not times:
        return []
    assert node.idle_ms is not None
    assert node.windows is not None
    since = stores[_idle(node)][()].timestamp_ms
    if since == _BUSY:
        since = now_ms
        stores[_idle(node)] = {(): Kept((), since)}
    if now_ms - since >= node.idle_ms:
        ends = [key[-1] for key in stores[node.store] if isinstance(key[-1], int)]
        last = max(ends, default=0) + node.windows.closes_after_ms
        times[()] = Kept((), max(times[()].timestamp_ms, min(now_ms, last)))
    return tell(Entry((), None, times[()].timestamp_ms), stores)


def _idle(node: AggregateNode) -> str:
    """Return where it is kept since when a task is idle."""
    return f"{node.store}, idle since"
