"""The rows of a table: look-ups by key, range and prefix, and the changes since a copy was made.

Threads: the one that writes calls `take` and `expire` while it holds `lock`; any thread may read.
"""

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from duolog.core.errors import SerdeError
from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.packed.row_store import RowStore, Stored
from duolog.runtime.packed.sortable_keys import SORTED
from duolog.runtime.sql.tables.expiring import Expiring
from duolog.runtime.sql.tables.key_index import KeyIndex
from duolog.runtime.sql.tables.source_rows import Received
from duolog.runtime.sql.tables.stored_rows import (
    PLACE,
    RowsForm,
    StoredRows,
    Undecodable,
    form_of,
    number_of,
)
from duolog.serde.row import Row

_CHANGES_MAX: Final = 10_000
_ALL: Final = sys.maxsize - 1


class Changes(NamedTuple):
    """The difference between a copy of the rows and the rows."""

    removed: list[int]
    """Numbers of rows that the copy has and that are replaced or deleted."""
    added: Iterable[Stored]
    whole: bool
    """True if `added` are all rows, and the copy must be emptied first."""


class TableRows:
    """Rows of one table by key; of a windowed table, by key and bounds.

    Args:
        source: a table with one topic, or the form of a table.
        checked: decode each value when it arrives; see `stored_rows`.

    Raises:
        SqlError: as `stored_rows.form_of`.
    """

    def __init__(self, source: SourceInfo | RowsForm, *, checked: bool = False) -> None:
        form = source if isinstance(source, RowsForm) else form_of(source)
        self.lock = threading.Lock()
        self._skipped = 0
        self.is_undecodable = False
        """True if a stored value could not be decoded."""
        self.is_forgotten = False
        """True if no further answer reads these rows."""
        self._codec = StoredRows(form, checked=checked)
        self._store = RowStore()
        self._key_columns = len(form.key_types)
        self._is_sorted = all(of in SORTED for of in form.key_types)
        # The windows of a key are found by their prefix.
        self._index: KeyIndex | None = KeyIndex() if form.windowed else None
        self._expiring: Expiring[bytes] | None = (
            None if form.ttl_ms is None else Expiring(form.ttl_ms)
        )
        self._replaced: dict[bytes, int | None] | None = None
        """Changed keys with the number of the row in the copy; None if there is no copy."""
        self._copy: object = None
        """The copy that these changes are for."""

    def __len__(self) -> int:
        return len(self._store)

    def take(self, record: Received) -> None:
        """Apply a record; ignore one without a key, or one that cannot be decoded."""
        if record.key() is None:
            return
        try:
            key, entry, time_ms = self._codec.taken(record)
        except SerdeError:
            self._skipped += 1
            return
        self._keep(key, entry)
        if self._expiring is not None:
            partition = record.partition() or 0
            self._expiring.see(partition, key, time_ms, deleted=entry is None)

    def take_all(self, records: Iterable[Received]) -> None:
        """Apply records as `take` does; most tables are read here when the server starts."""
        put, remove, take, pack = self._store.put, self._store.remove, self.take, PLACE.pack
        is_plain = self._codec.takes_bytes and self._index is None and self._expiring is None
        for record in records:
            if not is_plain or self._replaced is not None:
                take(record)
                continue
            key, value = record.key(), record.value()
            if key is None:
                continue
            assert isinstance(key, bytes), key
            assert value is None or isinstance(value, bytes), value
            if value is None:
                remove(key)
                continue
            place = pack(record.timestamp()[1], record.offset() or 0, record.partition() or 0)
            put(key, place, value)

    def expect(self, records: int) -> None:
        """Make room for the rows of records that are going to be read."""
        with self.lock:
            self._store.reserve(records)

    def report_skipped(self) -> int:
        """Return the number of records that could not be decoded since the last call."""
        if not self._skipped:
            return 0
        with self.lock:
            skipped, self._skipped = self._skipped, 0
        return skipped

    def expire(self) -> None:
        """Remove expired rows."""
        if self._expiring is not None:
            for key in self._expiring.gone():
                self._keep(key, None)

    def find(self, keys: Iterable[Row], rows_max: int | None = None) -> list[Row] | None:
        """Return the rows of keys, of one moment: for each at most one, or one per window.

        A key has all columns, or the first of them: then the rows are sorted by the others. The
        result is None if there are more than `rows_max`.

        Raises:
            Undecodable: a value cannot be decoded.
        """
        most = _ALL if rows_max is None else rows_max
        wanted = [(self._codec.wanted_key(key), len(key)) for key in keys]
        found: list[Stored] = []
        with self.lock:
            for stored, columns in wanted:
                if stored is None:
                    continue
                if columns == self._key_columns:
                    entry = self._store.get(stored)
                    if entry is not None:
                        found.append((stored, entry))
                else:
                    more = self._entries(self._sorted().with_prefix(stored))
                    found += islice(more, most + 1 - len(found))
                if len(found) > most:
                    return None
        return list(self.decoded(found))

    def between(
        self, low: Row | None, high: Row | None, rows_max: int | None = None
    ) -> list[Row] | None:
        """Return the rows from one key to another, both inclusive, in order; None means no bound.

        A bound may have only the first columns of a key. The order is that of the values if the
        columns have types of `sortable_keys.SORTED`. The result is None if there are more than
        `rows_max`, or if a number in a bound is too large for its column.

        Raises:
            Undecodable: as `find`.
        """
        most = _ALL if rows_max is None else rows_max
        first = None if low is None else self._codec.wanted_key(low)
        last = None if high is None else self._codec.wanted_key(high)
        if (first is None) != (low is None) or (last is None) != (high is None):
            return None
        with self.lock:
            index = self._sorted()
            if last is not None and high is not None and len(high) < self._key_columns:
                # Sorts after all keys with this prefix: no encoding of a column starts with ff.
                last += b"\xff"
            found = list(islice(self._entries(index.between(first, last)), most + 1))
        return None if len(found) > most else list(self.decoded(found))

    def everything(self) -> Iterator[Row]:
        """Yield all rows of one moment, in no particular order.

        Raises:
            Undecodable: as `find`.
        """
        with self.lock:
            snapshot = self._store.snapshot()
        return self.decoded(snapshot)

    def ordered(self) -> Iterator[Row]:
        """Yield all rows of one moment, ordered by key; a null is after all values.

        Keys with columns of types that cannot be sorted as bytes are decoded first; STRUCTs and
        MAPs have no order.

        Raises:
            Undecodable: as `find`.
        """
        with self.lock:
            snapshot = self._store.snapshot()
        if self._is_sorted:
            keys = sorted(key for key, _ in snapshot)
            return self.decoded((key, snapshot.get(key) or b"") for key in keys)
        rows = list(self.decoded(snapshot))
        with suppress(TypeError):
            rows.sort(key=lambda row: [(v is None, v) for v in row[: self._key_columns]])
        return iter(rows)

    def decoded(self, stored: Iterable[Stored]) -> Iterator[Row]:
        """Decode rows, without those whose key or value is null.

        Raises:
            Undecodable: as `find`.
        """
        row_of = self._codec.row
        try:
            for key, entry in stored:
                row = row_of(key, entry)
                if row is not None:
                    yield row
        except Undecodable:
            self.is_undecodable = True
            raise

    def changes(self, copy: object) -> Changes:
        """Return the changes since the previous call, in the first call for a copy all rows.

        The caller brings its copy up to date with them, or calls `forget_copy`. From the first call
        on, changed keys are collected, for the latest copy only.
        """
        with self.lock:
            replaced, self._replaced = self._replaced, {}
            before, self._copy = self._copy, copy
            if replaced is None or before is not copy:
                snapshot = self._store.snapshot()
                return Changes([], snapshot, whole=True)
            removed = [number for number in replaced.values() if number is not None]
            added = list(self._entries(replaced))
        return Changes(removed, added, whole=False)

    def forget_copy(self) -> None:
        """Return all rows in the next call of `changes`."""
        with self.lock:
            self._replaced = self._copy = None

    def _keep(self, key: bytes, entry: bytes | None) -> None:
        before = self._store.remove(key) if entry is None else self._store.put(key, entry)
        if self._index is not None:
            if before is None and entry is not None:
                self._index.add(key)
            elif before is not None and entry is None:
                self._index.remove(key)
        if self._replaced is not None and key not in self._replaced:
            self._replaced[key] = None if before is None else number_of(before)
            if len(self._replaced) > _CHANGES_MAX + len(self._store) // 2:
                # A copy that is not used is not worth the memory of its changes.
                self._replaced = None

    def _entries(self, keys: Iterable[bytes]) -> Iterator[Stored]:
        for key in keys:
            entry = self._store.get(key)
            if entry is not None:
                yield key, entry

    def _sorted(self) -> KeyIndex:
        """Return the sorted keys. The first call, which sorts them, takes about 1 s per million."""
        if self._index is None:
            self._index = KeyIndex(key for key, _ in self._store.snapshot())
        return self._index
