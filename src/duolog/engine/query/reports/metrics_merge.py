"""Merge the kernel's snapshots of several JVMs into one.

A driver reports its own counts, and those of executors in other JVMs (`MetricsPlugin`). Counts are
summed; for positions and times the maximum is taken, since two executors may have read a partition
one after the other. If two executors had a store one after the other, the later count is taken.
"""

from typing import Any, Final

from duolog.engine.json_object import Json

_GREATEST: Final = frozenset({"positions", "stream_time", "last_ts", "lateness_max"})
_LATEST: Final = "stores"


def merge_snapshots(snapshot: Json) -> Json:
    """Return the counts of a driver and its executors together; samples are concatenated."""
    total: Json = {name: part for name, part in snapshot.items() if name != "executors"}
    for executor in snapshot.get("executors", ()):
        total = _added(total, executor)
    return total


def _added(one: Json, other: Json, *, greatest: bool = False) -> Json:
    return {
        name: _later(one.get(name, {}), other.get(name, {}))
        if name == _LATEST
        else _both(one.get(name), other.get(name), greatest=greatest or name in _GREATEST)
        for name in one.keys() | other.keys()
    }


def _both(one: Any, other: Any, *, greatest: bool) -> Any:
    """Merge two values of one name.

    Example:
        >>> _both({"a": 1, "stream_time": 5}, {"b": 2, "stream_time": 4}, greatest=False) == {
        ...     "a": 1, "b": 2, "stream_time": 5}
        True
        >>> _both([1, 0], [1, 2], greatest=False)
        [2, 2]
    """
    match one, other:
        case None, _:
            return other
        case _, None:
            return one
        case dict(), dict():
            return _added(one, other, greatest=greatest)
        case [int(), *_], [int(), *_]:
            return [a + b for a, b in zip(one, other, strict=True)]
        case list(), list():
            return [*one, *other]
    return max(one, other) if greatest else one + other


def _later(one: Json, other: Json) -> Json:
    """Return the latest count of each store; of two at the same time, the greater is more complete.

    Example:
        >>> _later({"a": {"rows": 9, "counted_at": 1}}, {"a": {"rows": 2, "counted_at": 5}})
        {'a': {'rows': 2, 'counted_at': 5}}
    """
    found = dict(one)
    for store, counts in other.items():
        known = found.get(store, counts)
        found[store] = max(known, counts, key=lambda told: (told["counted_at"], told["rows"]))
    return found
