"""Copy the rows of tables and streams to DuckDB, for queries that are not look-ups.

    rows ─ changes since the last copy ─▶ one transaction ─▶ t3, a table of DuckDB ─▶ a cursor
                                                                                   per answer

An answer reads in one transaction of its own cursor: it sees no half of a copy, and answers run
side by side.

Threads: any; one at a time copies.
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


class DuckCopies:
    """A DuckDB database with copies of tables."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._database: DuckDBPyConnection | None = None
        self._writer: DuckDBPyConnection | None = None
        self._numbers = count()
        self._copies: dict[TableRows, DuckTable] = {}
        self._forgotten: deque[TableRows] = deque()
        self._dropped: deque[DuckTable] = deque()
        """Tables to drop by the next thread that has the lock."""

    @property
    def database(self) -> "DuckDBPyConnection":
        """The database; opened by the first use."""
        self._opened()
        assert self._database is not None
        return self._database

    def copied(self, source: SourceInfo, rows: TableRows) -> str:
        """Return the name of a DuckDB table with the current rows.

        Raises:
            Undecodable: a value cannot be decoded; the copy is as before.
            SqlError: the rows do not fit into memory.
        """
        writer = self._opened()
        with self._locked():
            duck = self._copies.get(rows)
            if duck is None:
                duck = self._created(writer, source, "t")
                self._copies[rows] = duck
                if rows.is_forgotten:
                    # Only the caller reads it; the next copy drops it.
                    self._forgotten.append(rows)
            writer.begin()
            try:
                _bring(duck, rows)
                writer.commit()
            except BaseException:
                writer.rollback()
                rows.forget_copy()
                raise
        return duck.name

    def new(self, source: SourceInfo) -> "DuckTable":
        """Return a new, empty table for the rows of a source; the caller drops it."""
        writer = self._opened()
        with self._locked():
            return self._created(writer, source, "s")

    def add(self, duck: "DuckTable", rows: "list[tuple[object, ...]]") -> None:
        """Insert rows into a table of `new`.

        Raises:
            SqlError: the rows do not fit into memory.
        """
        with self._locked():
            duck.add(range(len(rows)), rows)

    def drop(self, duck: "DuckTable") -> None:
        """Drop a table of `new`, now or after the copy that is being made.

        The garbage collector may call this in the thread that copies, which has the lock.
        """
        self._dropped.append(duck)
        self._tidy()

    def forget(self, rows: TableRows) -> None:
        """Drop the copy of a table, now or before the next copy. Does nothing if there is none."""
        rows.is_forgotten = True
        self._forgotten.append(rows)
        self._tidy()

    def close(self) -> None:
        """Close the database. Does nothing if closed."""
        with self._lock:
            database, self._database = self._database, None
            self._copies.clear()
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            if database is not None:
                database.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock, and drop what others have dropped before and meanwhile."""
        with self._lock:
            self._drop_forgotten()
            with _translated_errors():
                yield
        if self._dropped:
            self._tidy()

    def _tidy(self) -> None:
        """Drop what is to be dropped, unless another thread has the lock and then does it."""
        if self._lock.acquire(blocking=False):
            try:
                self._drop_forgotten()
            finally:
                self._lock.release()

    def _drop_forgotten(self) -> None:
        while self._forgotten:
            duck = self._copies.pop(self._forgotten.popleft(), None)
            if duck is not None:
                self._dropped.append(duck)
        while self._dropped:
            duck = self._dropped.popleft()
            if self._database is not None:
                duck.drop()

    def _opened(self) -> "DuckDBPyConnection":
        """Return the connection that writes, apart from those of answers."""
        # Imported here: duckdb takes 100 ms, and look-ups do not need it.
        from duolog.runtime.sql.duck.sandbox import connect  # noqa: PLC0415

        with self._lock:
            if self._database is None or self._writer is None:
                self._database = connect()
                self._writer = self._database.cursor()
            return self._writer

    def _created(
        self, writer: "DuckDBPyConnection", source: SourceInfo, letter: str
    ) -> "DuckTable":
        from duolog.runtime.sql.duck.tables import DuckTable  # noqa: PLC0415 - as in `_opened`

        return DuckTable(writer, f"{letter}{next(self._numbers)}", source_columns(source))


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
    changes = rows.changes()
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
