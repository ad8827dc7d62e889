"""Query a store of an application by key, range and window (interactive queries).

    store = application.store("totals")
    store.get("ann")                  {"total": 7.5}, or None

A view reads the application's checkpoint: the state of the last commit, with each record counted
once. In micro-batches, that is the last completed one; in real time, the last completed epoch
(`epoch.ms`, one minute). Rows that were read are kept, packed, until the next commit is read
(`committed_stores`). For newer rows, read the table's topic: `application.table("name")`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duolog.plan.nodes import Node
from duolog.runtime.store_rows import (
    LAST_CHARACTER,
    Bounds,
    NamedRow,
    StoreRows,
    Windows,
    ensure_text,
    ensure_windowed,
    whole_key,
)

if TYPE_CHECKING:
    from duolog.plan.types import Column

Read = Callable[[Bounds], StoreRows]
"""Returns the rows of a store within bounds, and maybe others."""


@dataclass(frozen=True)
class StoreView:
    """A store as of the last commit; each call looks for a newer one.

    The results of `range`, `prefix_scan`, `all` and `fetch_all` have a `position`: the source
    offsets they include. The first call after a commit takes a second or more and scans the whole
    store on disk, so it is meant for inspection, not for serving requests. `get`, `fetch` and
    `range` transfer only the requested rows to this process. Until the next commit, the rows that
    `all()` has read answer every call, without Spark; those of other calls answer the same call.

    Raises (each call):
        QueryError: the checkpoint cannot be read, or belongs to another topology.
    """

    table: Node
    read: Read

    def get(self, key: object) -> NamedRow | None:
        """Return the row of a key, or None. A windowed key ends with start and end."""
        return self.read(self._of(key)).get(key)

    def range(self, low: object = None, high: object = None) -> StoreRows:
        """Return the rows of a key range, both ends inclusive; None means no bound."""
        column = self.table.schema.key[0].name
        ends = (
            None if low is None else whole_key(low)[0],
            None if high is None else whole_key(high)[0],
        )
        return self.read({column: ends}).range(low, high)

    def prefix_scan(self, prefix: str) -> StoreRows:
        """Return the rows whose key, or its first column, has a prefix.

        Raises:
            StatementError: the first key column is not a STRING.
        """
        ensure_text(self.table)
        ends = (prefix, prefix + LAST_CHARACTER)
        return self.read({self.table.schema.key[0].name: ends}).prefix_scan(prefix)

    def all(self) -> StoreRows:
        """Return all rows as a read-only dict, in memory. For large stores, use `range`."""
        return self.read({})

    def fetch(
        self, key: object, *, from_ms: int | None = None, to_ms: int | None = None
    ) -> Windows:
        """Return the windows of a key that start in a time range, both ends inclusive.

        The result has rows by (start, end) in milliseconds, earliest first.

        Raises:
            StatementError: the store is not windowed.
        """
        found = self.read(self._of(key) | self._starting(from_ms, to_ms))
        return found.fetch(key, from_ms=from_ms, to_ms=to_ms)

    def fetch_all(self, *, from_ms: int | None = None, to_ms: int | None = None) -> StoreRows:
        """Return the windows of all keys that start in a time range, both ends inclusive.

        Raises:
            StatementError: the store is not windowed.
        """
        found = self.read(self._starting(from_ms, to_ms))
        return found.fetch_all(from_ms=from_ms, to_ms=to_ms)

    def find_sessions(
        self, key: object, *, earliest_end_ms: int | None = None, latest_start_ms: int | None = None
    ) -> Windows:
        """Return the sessions of a key by their earliest end and latest start, both inclusive.

        Raises:
            StatementError: the store is not windowed.
        """
        found = self.read(self._of(key) | self._starting(None, latest_start_ms))
        return found.find_sessions(
            key, earliest_end_ms=earliest_end_ms, latest_start_ms=latest_start_ms
        )

    def _of(self, key: object) -> Bounds:
        columns: tuple[Column, ...] = self.table.schema.key
        values = whole_key(key)
        return {column.name: (at, at) for column, at in zip(columns, values, strict=False)}

    def _starting(self, from_ms: int | None, to_ms: int | None) -> Bounds:
        ensure_windowed(self.table)
        return {self.table.schema.key[-2].name: (from_ms, to_ms)}
