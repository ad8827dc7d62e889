"""The aborted transactions of a segment: its `.txnindex` file.

An entry belongs to the segment that holds the marker, so the index of a segment may name records
of an earlier one. Entries rise by the offset of their marker.

    entry: version i16 = 0 · producer id i64 · first offset i64 · offset of the marker i64 ·
           last stable offset after the marker i64

These are Kafka's bytes. A segment without aborted transactions has no file. A read up to an offset
scans the entries from there on, until one says that everything below that offset is decided.

A start truncates the index to the recovery point before it reads on: a marker does not record where
its transaction started, so the transaction would be listed twice.

Source: Kafka `TransactionIndex`, `AbortedTxn`.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from struct import Struct
from typing import Final, NamedTuple

from duolog.log.producers.transactions import Ended

_ENTRY: Final = Struct(">hqqqq")
_VERSION: Final = 0

ABORTED_ENTRY_BYTES: Final = _ENTRY.size


class AbortedTransaction(NamedTuple):
    """The fields of an aborted transaction in a Fetch response."""

    producer_id: int
    first_offset: int


class AbortedEntry(NamedTuple):
    """An aborted transaction as it is stored in the file."""

    producer_id: int
    first_offset: int
    marker_offset: int
    last_stable_offset: int


class AbortedIndex:
    """The aborted transactions whose marker lies in one segment."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[AbortedEntry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, producer_id: int, ended: Ended) -> None:
        self._entries.append(AbortedEntry(producer_id, *ended))

    def add(self, entry: AbortedEntry) -> None:
        """Add a transaction that another index held."""
        self._entries.append(entry)

    @property
    def entries(self) -> Sequence[AbortedEntry]:
        """All of them, by the offset of their marker."""
        return self._entries

    def cut(self, next_offset: int) -> None:
        """Forget the transactions whose marker is at or after `next_offset`."""
        del self._entries[bisect_left(self._entries, next_offset, key=_marker_offset) :]

    def collect(
        self, first_offset: int, up_to_offset: int, found: list[AbortedTransaction]
    ) -> bool:
        """Add those with records in the range to `found`; returns whether there are no others.

        Records of a transaction end with its marker.
        """
        entries = self._entries
        for index in range(bisect_left(entries, first_offset, key=_marker_offset), len(entries)):
            entry = entries[index]
            if entry.first_offset < up_to_offset:
                found.append(AbortedTransaction(entry.producer_id, entry.first_offset))
            if entry.last_stable_offset >= up_to_offset:
                return True
        return False

    def encode(self, first: int = 0) -> bytes:
        """Return the entries from number `first` on, as they are stored in the file."""
        return b"".join(_ENTRY.pack(_VERSION, *entry) for entry in self._entries[first:])

    @classmethod
    def decode(cls, data: bytes, base_offset: int) -> "AbortedIndex | None":
        """Decode a file; return None if it cannot be the index of this segment."""
        if len(data) % ABORTED_ENTRY_BYTES:
            return None
        index = cls()
        for version, *fields in _ENTRY.iter_unpack(data):
            entry = AbortedEntry._make(fields)
            plausible = (
                version == _VERSION
                and entry.producer_id >= 0
                and 0 <= entry.first_offset < entry.marker_offset
                and base_offset <= entry.marker_offset
            )
            if not plausible:
                return None
            index._entries.append(entry)
        rises = all(a.marker_offset < b.marker_offset for a, b in pairwise(index._entries))
        return index if rises else None


def _marker_offset(entry: AbortedEntry) -> int:
    return entry.marker_offset
