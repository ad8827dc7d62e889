"""Find expired rows of a table with a TTL from its topic.

Time is the greatest timestamp of a topic partition: a row expires when its own timestamp is a TTL
or more older. The tasks of a query use the time of all that they have read, which may be later.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

Key = TypeVar("Key")


class Expiring(Generic[Key]):
    """Timestamps of the rows of a table."""

    def __init__(self, ttl_ms: int) -> None:
        self._ttl_ms = ttl_ms
        self._newest: dict[int, int] = {}
        self._waiting: dict[int, list[tuple[int, int, Key]]] = {}
        self._latest: dict[Key, int] = {}
        self._numbers = count()

    def see(self, partition: int, key: Key, time_ms: int, *, deleted: bool) -> None:
        """Add a record; it replaces the timestamp of an earlier row with its key."""
        self._newest[partition] = max(time_ms, self._newest.get(partition, time_ms))
        if deleted:
            self._latest.pop(key, None)
            return
        number = self._latest[key] = next(self._numbers)
        heappush(self._waiting.setdefault(partition, []), (time_ms, number, key))

    def gone(self) -> Iterator[Key]:
        """Yield the keys of rows that have expired since the last call."""
        for partition, waiting in self._waiting.items():
            until = self._newest[partition] - self._ttl_ms
            while waiting and waiting[0][0] <= until:
                _, number, key = heappop(waiting)
                if self._latest.get(key) == number:
                    del self._latest[key]
                    yield key
