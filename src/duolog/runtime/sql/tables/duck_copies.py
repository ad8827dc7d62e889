"""Copy the rows of tables and streams to DuckDB, for queries that are not look-ups.

    rows ─ changes since the last copy ─▶ one transaction ─▶ t3, a table of DuckDB ─▶ a cursor
                                                                                   per answer

An answer reads in one transaction of its own cursor: it sees no half of a copy, and answers run
side by side.

Threads: any; one at a time brings a copy up to date, and different copies are made side by side.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from typing import TYPE_CHECKING, Final

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.sql.duck.queries import source_columns
from duolog.runtime.sql.tables.stored_rows import number_of
from duolog.runtime.sql.tables.table_rows import TableRows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from duolog.runtime.sql.duck.tables import DuckTable

_ROWS_AT_ONCE: Final = 50_000


class _Copy:
    """A table of DuckDB with a connection of its own; one thread at a time uses it."""

    def __init__(self, duck: "DuckTable", connection: "DuckDBPyConnection") -> None:
        self.duck = duck
        self.connection = connection
        self.lock = threading.Lock()
        self.is_dropped = False
        """True if the table is dropped; set while the lock is held."""


class DuckCopies:
    """A DuckDB database with copies of tables."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        """Guards the maps, for moments: the garbage collector may drop a table while it is held.

        A thread that holds the lock of a copy may take it, but not the other way round.
        """
        self._database: DuckDBPyConnection | None = None
        self._numbers = count()
        self._copies: dict[TableRows, _Copy] = {}
        self._streams: dict[DuckTable, _Copy] = {}
        self._dropped: deque[_Copy] = deque()
        """Copies to drop by the next thread that may use them."""

    @property
    def database(self) -> "DuckDBPyConnection":
        """The database; opened by the first use."""
        # Imported here: duckdb takes 100 ms, and look-ups do not need it.
        from duolog.runtime.sql.duck.sandbox import connect  # noqa: PLC0415

        with self._lock:
            if self._database is None:
                self._database = connect()
            return self._database

    def copied(self, source: SourceInfo, rows: TableRows) -> str:
        """Return the name of a DuckDB table with the current rows.

        Copies of different tables are made side by side.

        Raises:
            Undecodable: a value cannot be decoded; the copy is as before.
            SqlError: the rows do not fit into memory.
        """
        self._tidy()
        while (name := self._copied(source, rows)) is None:
            pass  # Another thread has dropped the copy: the rows were forgotten.
        if rows.is_forgotten:
            # Only the caller reads it; the next copy drops it.
            self._forget_copy(rows)
        return name

    def new(self, source: SourceInfo) -> "DuckTable":
        """Return a new, empty table for the rows of a source; the caller drops it."""
        with self._lock:
            copy = self._created(source, "s")
            self._streams[copy.duck] = copy
        return copy.duck

    def add(self, duck: "DuckTable", rows: "list[tuple[object, ...]]") -> None:
        """Insert rows into a table of `new`.

        Raises:
            SqlError: the rows do not fit into memory.
        """
        with self._using(self._streams[duck]):
            duck.add(range(len(rows)), rows)

    def drop(self, duck: "DuckTable") -> None:
        """Drop a table of `new`, now or after the use of another thread. Does nothing if dropped.

        The garbage collector may call this in any thread, at any point.
        """
        with self._lock:
            copy = self._streams.pop(duck, None)
            if copy is not None:
                self._dropped.append(copy)
        self._tidy()

    def forget(self, rows: TableRows) -> None:
        """Drop the copy of a table, now or after the use of another thread, if there is one."""
        rows.is_forgotten = True
        self._forget_copy(rows)
        self._tidy()

    def close(self) -> None:
        """Close the database, after the copies that are being made. Does nothing if closed."""
        with self._lock:
            copies = [*self._copies.values(), *self._streams.values(), *self._dropped]
            self._copies.clear()
            self._streams.clear()
            self._dropped.clear()
            database, self._database = self._database, None
        for copy in copies:
            with copy.lock:
                copy.connection.close()
        if database is not None:
            database.close()

    def _copied(self, source: SourceInfo, rows: TableRows) -> str | None:
        """Bring a copy up to date, and return its name; None if it was dropped meanwhile."""
        with self._lock:
            copy = self._copies.get(rows)
            if copy is None:
                copy = self._copies[rows] = self._created(source, "t")
        with self._using(copy):
            if copy.is_dropped:
                return None
            copy.connection.begin()
            try:
                _bring(copy.duck, rows)
                copy.connection.commit()
            except BaseException:
                copy.connection.rollback()
                rows.forget_copy()
                raise
        return copy.duck.name

    @contextmanager
    def _using(self, copy: _Copy) -> Iterator[None]:
        """Have a copy alone, and drop what others have dropped meanwhile."""
        with copy.lock, _translated_errors():
            yield
        self._tidy()

    def _forget_copy(self, rows: TableRows) -> None:
        with self._lock:
            copy = self._copies.pop(rows, None)
            if copy is not None:
                self._dropped.append(copy)

    def _tidy(self) -> None:
        """Drop what is to be dropped, unless another thread uses it, and then does it."""
        with self._lock:
            waiting, self._dropped = self._dropped, deque()
        for copy in waiting:
            if copy.lock.acquire(blocking=False):
                try:
                    copy.is_dropped = True
                    copy.duck.drop()
                    copy.connection.close()
                finally:
                    copy.lock.release()
            else:
                with self._lock:
                    self._dropped.append(copy)

    def _created(self, source: SourceInfo, letter: str) -> _Copy:
        from duolog.runtime.sql.duck.tables import DuckTable  # noqa: PLC0415 - as in `database`

        connection = self.database.cursor()
        name = f"{letter}{next(self._numbers)}"
        return _Copy(DuckTable(connection, name, source_columns(source)), connection)


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise DuckDB's errors as those of a query."""
    from duckdb import Error  # noqa: PLC0415 - as in `_opened`

    from duolog.runtime.sql.duck.failures import sql_error  # noqa: PLC0415 - as in `_opened`

    try:
        yield
    except Error as error:
        raise sql_error(error) from error


def _bring(duck: "DuckTable", rows: TableRows) -> None:
    """Apply the changes of a table to its copy."""
    if duck.is_bloated:
        rows.forget_copy()
    changes = rows.changes(duck)
    if changes.whole:
        duck.clear()
    duck.remove(changes.removed)
    stored = iter(changes.added)
    while some := list(islice(stored, _ROWS_AT_ONCE)):
        numbers, decoded = [], []
        for key, entry in some:
            for row in rows.decoded([(key, entry)]):
                numbers.append(number_of(entry))
                decoded.append(row)
        duck.add(numbers, decoded)
