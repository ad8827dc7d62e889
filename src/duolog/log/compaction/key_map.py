"""The last offset of each key of a log, in 24 bytes a key.

A key is known by two 64-bit hashes with random coefficients of its own for each map. Two keys
with the same first hash are distinguished by the second; a record whose second hash differs from
what is found counts as unknown, and stays. So a collision of one hash never loses a record, and
of both it has a chance of 2**-100 for a pair of keys that were not made for it, nor can be.

    hash of b0 b1 b2 … = c0 · b0 + c1 · b1 + c2 · b2 + … + length · c   (modulo 2**64)

Entries are kept as sorted columns and a few unsorted rows that wait to be merged.

Source: Kafka `SkimpyOffsetMap`, which hashes keys with MD5; Thorup, "High Speed Hashing for
Integers and Strings" (2015), for the hash.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from duolog.log.compaction.scan import Integers, Records

Hashes = NDArray[np.uint64]

UNKNOWN: Final = -1
BYTES_PER_KEY: Final = 24
_SHORT_KEY_BYTES: Final = 256
_BLOCK_BYTES: Final = 1024 * 1024
_MERGE_ROWS: Final = 1024 * 1024


class KeyHashes(NamedTuple):
    """Two hashes for each of some keys."""

    first: Hashes
    second: Hashes


class KeyHasher:
    """Hashes keys; `random_bytes(n)` gives the coefficients."""

    def __init__(self, random_bytes: Callable[[int], bytes]) -> None:
        words = np.frombuffer(random_bytes(16 * (_SHORT_KEY_BYTES + 1)), np.uint64)
        self._coefficients = words.reshape(2, _SHORT_KEY_BYTES + 1) | np.uint64(1)
        self._secret = random_bytes(32)

    def hash(self, records: Records, rows: Integers) -> KeyHashes:
        """Return the hashes of the keys of some rows; all of these have keys."""
        starts = records.key_starts[rows]
        lengths = records.key_lengths[rows]
        hashes = np.empty((2, len(rows)), np.uint64)
        data = records.bytes_view
        for length in np.unique(lengths).tolist():
            same = np.flatnonzero(lengths == length)
            if length > _SHORT_KEY_BYTES:
                for row in same.tolist():
                    start = int(starts[row])
                    hashes[:, row] = self._hash_long(records.plain[start : start + length])
                continue
            step = max(1, _BLOCK_BYTES // max(length, 1))
            for block in range(0, len(same), step):
                chosen = same[block : block + step]
                hashes[:, chosen] = self._hash_short(data, starts[chosen], length)
        return KeyHashes(hashes[0], hashes[1])

    def _hash_short(self, data: NDArray[np.uint8], starts: Integers, length: int) -> Hashes:
        columns = self._coefficients
        hashes = np.empty((2, len(starts)), np.uint64)
        hashes[:] = (columns[:, -1] * np.uint64(length + 1))[:, None]
        for index in range(length):
            byte = data[starts + index].astype(np.uint64)
            hashes[0] += byte * columns[0, index]
            hashes[1] += byte * columns[1, index]
        return hashes

    def _hash_long(self, key: bytes) -> Hashes:
        return np.frombuffer(blake2b(key, digest_size=16, key=self._secret).digest(), np.uint64)


class KeyMap:
    """A map from the hashes of a key to its last offset. Rows are put in the order of offsets."""

    def __init__(self, keys_max: int) -> None:
        self._keys_max = keys_max
        self._first = np.empty(0, np.uint64)
        self._second = np.empty(0, np.uint64)
        self._offsets = np.empty(0, np.int64)
        self._waiting: list[tuple[KeyHashes, Integers]] = []
        self._waiting_rows = 0

    def __len__(self) -> int:
        self._merge()
        return len(self._first)

    def accepts(self, rows: int) -> bool:
        """Return whether `rows` more keys fit; an empty map accepts any number."""
        if len(self._first) + self._waiting_rows + rows <= self._keys_max:
            return True
        self._merge()
        return not len(self._first) or len(self._first) + rows <= self._keys_max

    def put(self, keys: KeyHashes, offsets: Integers) -> None:
        self._waiting.append((keys, offsets))
        self._waiting_rows += len(offsets)
        if self._waiting_rows > max(_MERGE_ROWS, len(self._first)):
            self._merge()

    def last_offsets(self, keys: KeyHashes) -> Integers:
        """Return the last offset of each key, `UNKNOWN` for those that were never put."""
        self._merge()
        if not len(self._first):
            return np.full(len(keys.first), UNKNOWN, np.int64)
        found = np.minimum(np.searchsorted(self._first, keys.first), len(self._first) - 1)
        known = (self._first[found] == keys.first) & (self._second[found] == keys.second)
        return np.where(known, self._offsets[found], UNKNOWN)

    def _merge(self) -> None:
        if not self._waiting:
            return
        first = np.concatenate([self._first, *(keys.first for keys, _ in self._waiting)])
        second = np.concatenate([self._second, *(keys.second for keys, _ in self._waiting)])
        offsets = np.concatenate([self._offsets, *(rows for _, rows in self._waiting)])
        self._waiting.clear()
        self._waiting_rows = 0
        # Stable, so that the last offset of a key comes last.
        order = np.argsort(first, kind="stable")
        first, second, offsets = first[order], second[order], offsets[order]
        last = np.ones(len(first), np.bool_)
        last[:-1] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        self._first, self._second, self._offsets = first[last], second[last], offsets[last]
