"""A look into a store of an application, by key, range and window: interactive queries.

    store = application.store("totals")
    store.get("ann")                  {"total": 7.5}, or None

What is read is the application's checkpoint: what the last commit has left, with each record counted once. In
micro-batches that is the last one that is done, in real time the end of the last epoch (`epoch.ms`, a minute). For
what is newer there is the table's topic: `application.table("name")`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from duolog.plan.nodes import Node
from duolog.runtime.store_rows import (
    LAST_CHARACTER,
    Bounds,
    StoredRow,
    StoreRows,
    Windows,
    ensure_text,
    ensure_windowed,
    whole_key,
)

if TYPE_CHECKING:
    from duolog.engine.stores import CommittedRows
    from duolog.plan.types import Column

Read = Callable[[Bounds], "CommittedRows"]
"""Reads the rows of a store whose keys may be within bounds."""


@dataclass(frozen=True)
class StoreView:
    """A store as the last commit has left it; each call reads it anew.

    What `range`, `prefix_scan`, `all` and `fetch_all` return has a `position`: the offsets that it stands for.
    A call takes a second or more, and goes through the whole store on disk whatever is asked for: to look, and not to
    serve requests. `get`, `fetch` and `range` bring only what is asked for into this process.

    Raises (each call):
        QueryError: the checkpoint cannot be read, or belongs to another topology.
    """

    table: Node
    read: Read

    def get(self, key: Any) -> dict[str, Any] | None:
        """Return the row of a key, or None. Of a window the key ends with its start and end."""
        return self._look(self._of(key)).get(key)

    def range(self, low: Any = None, high: Any = None) -> StoreRows:
        """Return the rows from one key to another, both with them; None is no bound."""
        column = self.table.schema.key[0].name
        ends = (
            None if low is None else whole_key(low)[0],
            None if high is None else whole_key(high)[0],
        )
        return self._look({column: ends}).range(low, high)

    def prefix_scan(self, prefix: str) -> StoreRows:
        """Return the rows whose key, or its first column, is a text that begins so.

        Raises:
            StatementError: the keys of the store begin with something else.
        """
        ensure_text(self.table)
        ends = (prefix, prefix + LAST_CHARACTER)
        return self._look({self.table.schema.key[0].name: ends}).prefix_scan(prefix)

    def all(self) -> StoreRows:
        """Return all rows, as a read-only dict. They are brought into this process: of millions ask for a range."""
        return self._look({})

    def fetch(self, key: Any, *, from_ms: int | None = None, to_ms: int | None = None) -> Windows:
        """Return the windows of a key that begin in a span of time, both ends with it.

        They are dicts of rows by (start, end), in milliseconds, the earliest first.

        Raises:
            StatementError: the store has no windows.
        """
        found = self._look(self._of(key) | self._starting(from_ms, to_ms))
        return found.fetch(key, from_ms=from_ms, to_ms=to_ms)

    def fetch_all(self, *, from_ms: int | None = None, to_ms: int | None = None) -> StoreRows:
        """Return the windows of all keys that begin in a span of time, both ends with it.

        Raises:
            StatementError: the store has no windows.
        """
        return self._look(self._starting(from_ms, to_ms))

    def find_sessions(
        self, key: Any, *, earliest_end_ms: int | None = None, latest_start_ms: int | None = None
    ) -> Windows:
        """Return the sessions of a key that end at a time or behind it, and begin at one or before it.

        Raises:
            StatementError: the store has no windows.
        """
        found = self._look(self._of(key) | self._starting(None, latest_start_ms))
        return found.find_sessions(
            key, earliest_end_ms=earliest_end_ms, latest_start_ms=latest_start_ms
        )

    def _look(self, bounds: Bounds) -> StoreRows:
        found = self.read(bounds)
        rows = (StoredRow(*row) for row in found.rows)
        return StoreRows(self.table, rows, position=found.position)

    def _of(self, key: Any) -> Bounds:
        columns: tuple[Column, ...] = self.table.schema.key
        values = whole_key(key)
        return {column.name: (at, at) for column, at in zip(columns, values, strict=False)}

    def _starting(self, from_ms: int | None, to_ms: int | None) -> Bounds:
        ensure_windowed(self.table)
        return {self.table.schema.key[-2].name: (from_ms, to_ms)}
