"""Keep the rows of an application's stores until something is committed.

    store name  ->  version, and either all rows or the results of the last reads within bounds

Reading a store takes Spark a second or more. As long as the version of a store is that of the last
read, its kept rows answer: all rows answer every call, other results only those within the same
bounds.

Threads: any. Two that read at the same time do not wait for each other.
"""

import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from duolog.plan.nodes import Node, ProcessorRows
from duolog.runtime.store_rows import Bounds, StoredRow, StoreRows

if TYPE_CHECKING:
    from duolog.engine.stores import CommittedStore

_RESULTS_MAX: Final = 16
_ALL: Final = ()


@dataclass(slots=True)
class _Kept:
    """Rows of one version of a store, by the bounds of the read."""

    version: Hashable
    results: dict[Hashable, StoreRows] = field(default_factory=dict)


class CommittedStores:
    """Rows of the stores of one application, read again after each commit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def rows(self, table: Node, store: "CommittedStore | None", bounds: Bounds) -> StoreRows:
        """Return the rows within bounds, or all rows if they are kept.

        Args:
            table: the table of the store.
            store: the store as of the last commit; None before the first start.
            bounds: of the key; the caller must still apply them.

        Raises:
            QueryError: the checkpoint cannot be read.
        """
        name = table.stores[0]
        if store is None:
            self._forget(name)
            return StoreRows(table, ())
        # The entries of a processor's store are read regardless of bounds.
        wanted = _ALL if isinstance(table, ProcessorRows) else _name_of(bounds)
        with self._lock:
            kept = self._kept.get(name)
            if kept is not None and kept.version == store.version:
                # Results may be empty, and so false.
                found = kept.results.get(_ALL, kept.results.get(wanted))
                if found is not None:
                    return found
            else:
                # Rows of an earlier commit are not needed while those of this one are read.
                self._kept.pop(name, None)
        read = store.read(bounds)
        rows = StoreRows(table, (StoredRow(*row) for row in read.rows), position=read.position)
        self._keep(name, store.version, wanted, rows)
        return rows

    def clear(self) -> None:
        """Drop all rows."""
        with self._lock:
            self._kept.clear()

    def _forget(self, name: str) -> None:
        with self._lock:
            self._kept.pop(name, None)

    def _keep(self, name: str, version: Hashable, bounds: Hashable, rows: StoreRows) -> None:
        with self._lock:
            kept = self._kept.get(name)
            if kept is None or kept.version != version or bounds == _ALL:
                kept = self._kept[name] = _Kept(version)
            elif _ALL in kept.results:
                # Another thread has read all rows meanwhile. These answer every call.
                return
            kept.results[bounds] = rows
            if len(kept.results) > _RESULTS_MAX:
                del kept.results[next(iter(kept.results))]


def _name_of(bounds: Bounds) -> Hashable:
    """Return a form of bounds that differs for bounds that differ, 1 and 1.0 included."""
    given = ((name, ends) for name, ends in bounds.items() if ends != (None, None))
    return tuple(sorted((name, repr(ends)) for name, ends in given))
