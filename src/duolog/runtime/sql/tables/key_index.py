"""Sort the keys of a store, for look-ups by range and by prefix.

Keys are kept in sorted lists of at most 2,000, so that an insert moves few of them.

Threads: none of its own; the caller locks.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import Final

_KEYS_PER_LIST: Final = 2_000


class KeyIndex:
    """Sorted distinct keys.

    Example:
        >>> list(KeyIndex([b"b", b"c", b"a"]).between(b"a", b"b"))
        [b'a', b'b']
    """

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        ordered = sorted(keys)
        half = _KEYS_PER_LIST // 2
        self._lists = [ordered[at : at + half] for at in range(0, len(ordered), half)] or [[]]
        self._firsts = [some[0] if some else b"" for some in self._lists]
        """A lower bound of the keys of each list; of the first list, unused."""

    def add(self, key: bytes) -> None:
        """Add a key that is not in the index."""
        at = self._list_of(key)
        some = self._lists[at]
        insort(some, key)
        if len(some) > _KEYS_PER_LIST:
            half = len(some) // 2
            self._lists.insert(at + 1, some[half:])
            self._firsts.insert(at + 1, some[half])
            del some[half:]

    def remove(self, key: bytes) -> None:
        """Remove a key that is in the index."""
        at = self._list_of(key)
        some = self._lists[at]
        del some[bisect_left(some, key)]
        if not some and len(self._lists) > 1:
            del self._lists[at], self._firsts[at]

    def between(self, low: bytes | None, high: bytes | None) -> Iterator[bytes]:
        """Yield the keys from low to high, both inclusive, in order; None means no bound."""
        at = 0 if low is None else self._list_of(low)
        start = 0 if low is None else bisect_left(self._lists[at], low)
        for some in self._lists[at:]:
            end = len(some) if high is None else bisect_right(some, high)
            yield from some[start:end]
            if end < len(some):
                return
            start = 0

    def with_prefix(self, prefix: bytes) -> Iterator[bytes]:
        """Yield the keys that start with a prefix, in order."""
        for key in self.between(prefix, None):
            if not key.startswith(prefix):
                return
            yield key

    def _list_of(self, key: bytes) -> int:
        return max(0, bisect_right(self._firsts, key, lo=1) - 1)
