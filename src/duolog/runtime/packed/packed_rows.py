"""Rows of a store, packed: keys and values as columns, and a timestamp.

    key     `SortableKeys` of the columns; 03 and a text, if a value is not of its column's type
    entry   | i64 timestamp | u8 form | key and value columns |

Columns of types that `marshal` has are marshalled, others are pickled. Both restore the values as
they were. Only this module writes entries.

Threads: any, once all rows were added.
"""

import marshal
import pickle
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Final, Self, cast

from duolog.functions.processors.store import SortKey, in_order
from duolog.plan.types import BYTES, Array, Map, Struct, Type
from duolog.runtime.packed.hashable import hashable, identity
from duolog.runtime.packed.row_store import RowStore, Stored
from duolog.runtime.packed.sortable_keys import SORTED, SortableKeys
from duolog.serde.row import Row

_HEAD: Final = struct.Struct(">qB")
_AFTER_HEAD: Final = _HEAD.size
_MARSHALLED: Final = 0
_PICKLED: Final = 1
_SCALARS: Final = frozenset({bool, int, float, str, bytes, type(None)})
_OTHER: Final = b"\3"
_marshal: Final = cast("Callable[[object], bytes]", marshal.dumps)
_NOT_OF_TYPE: Final = (struct.error, OverflowError, TypeError, ValueError, AttributeError)

PackedRow = tuple[Row, Row, int]
"""Key and value columns, and the timestamp."""


class PackedRows:
    """Rows by key, ordered by key: NaN after numbers, nulls last.

    Args:
        types: types of the key columns.
        stored: rows of another instance with the same types.
    """

    def __init__(self, types: Sequence[Type], stored: Iterable[Stored] = ()) -> None:
        self._types = tuple(types)
        self._sortable = SortableKeys(types)
        self._is_sorted = all(of in SORTED or of == BYTES for of in types)
        """True if the bytes of keys have the order of the keys."""
        # A list is ordered by its text, which differs from that of the tuple that users write.
        self._is_searchable = not any(isinstance(of, Array | Map | Struct) for of in types)
        self._store = RowStore()
        self._ordered: Sequence[bytes] | None = None
        for key, entry in stored:
            self._put(key, entry)

    def __len__(self) -> int:
        return len(self._store)

    def add(self, rows: Iterable[PackedRow]) -> None:
        """Add rows. A row replaces the one with the same key."""
        for key, value, timestamp_ms in rows:
            self._put(self._encoded(key), _packed(key, value, timestamp_ms))
        self._ordered = None

    def get(self, key: Row) -> PackedRow | None:
        """Return the row of a key with all its columns, or None.

        As in a dict, 1 and 1.0 are the same key.
        """
        entry = self._store.get(self._encoded(key))
        row = None if entry is None else _unpacked(entry)
        return row if row is not None and are_equal(row[0], key) else None

    def keys(self) -> Sequence[bytes]:
        """Return the keys in order, as bytes.

        The first call sorts them. They are kept, which costs about 60 bytes each.
        """
        if self._ordered is None:
            rows = self._store.snapshot()
            if self._is_sorted:
                self._ordered = sorted(key for key, _ in rows)
            else:
                columns = ((in_order(_unpacked(entry)[0]), key) for key, entry in rows)
                self._ordered = [key for _, key in sorted(columns, key=itemgetter(0))]
        return self._ordered

    def row(self, key: bytes) -> PackedRow:
        """Return the row of one of `keys`."""
        return _unpacked(self._entry(key))

    def between(self, low: Row | None, high: Row | None) -> Sequence[bytes]:
        """Return the keys from `low` to `high`, in order; None means no bound.

        A bound may have only the first columns of a key. Then the others do not matter. If the
        bounds cannot be compared with the keys, all keys are returned.
        """
        keys = self.keys()
        if not self._is_searchable:
            return keys
        first, last = 0, len(keys)
        try:
            if low is not None:
                first = bisect_left(keys, in_order(low), key=self._first_columns(len(low)))
            if high is not None:
                last = bisect_right(keys, in_order(high), key=self._first_columns(len(high)))
        except TypeError:
            return keys
        return keys[first:last]

    def select(self, keys: Iterable[bytes]) -> Self:
        """Return a copy with only these of `keys`."""
        return type(self)(self._types, ((key, self._entry(key)) for key in keys))

    def _first_columns(self, count: int) -> Callable[[bytes], SortKey]:
        return lambda key: in_order(self.row(key)[0][:count])

    def _entry(self, key: bytes) -> bytes:
        entry = self._store.get(key)
        assert entry is not None
        return entry

    def _put(self, key: bytes, entry: bytes) -> None:
        if key.startswith(_OTHER):
            self._is_sorted = False
        self._store.put(key, entry)

    def _encoded(self, key: Row) -> bytes:
        for form in (key, tuple(_as_whole(value) for value in key)):
            try:
                return self._sortable.encode(form)
            except _NOT_OF_TYPE:
                continue
        return _OTHER + repr(identity(hashable(key))).encode("utf-8", "surrogatepass")


def _as_whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def are_equal(key: Row, other: Row) -> bool:
    """Return true if two keys are the same; NaN is the same as NaN."""
    return hashable(key) == hashable(other) or in_order(key) == in_order(other)


def _packed(key: Row, value: Row, timestamp_ms: int) -> bytes:
    if _is_plain(key) and _is_plain(value):
        return _HEAD.pack(timestamp_ms, _MARSHALLED) + _marshal((key, value))
    return _HEAD.pack(timestamp_ms, _PICKLED) + pickle.dumps((key, value), pickle.HIGHEST_PROTOCOL)


def _unpacked(entry: bytes) -> PackedRow:
    timestamp_ms, form = _HEAD.unpack_from(entry)
    loads = marshal.loads if form == _MARSHALLED else pickle.loads
    key, value = loads(entry[_AFTER_HEAD:])
    return key, value, timestamp_ms


def _is_plain(value: object) -> bool:
    """Return true if `marshal` restores a value. It writes some objects as the bytes they hold."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is list or kind is tuple:
        # Most rows have scalars only.
        return _SCALARS.issuperset(map(type, value)) or all(map(_is_plain, value))  # type: ignore[call-overload]
    if kind is dict:
        return all(_is_plain(part) for item in value.items() for part in item)  # type: ignore[attr-defined]
    return False
