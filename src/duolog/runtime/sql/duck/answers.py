"""Run queries on a database of `sandbox`, and read their results within limits.

Threads: any; an answer is read by one thread at a time, and answers run side by side.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

import duckdb
from duckdb import DuckDBPyConnection

from duolog.plan.types import Type
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.failures import sql_error
from duolog.runtime.sql.duck.interrupting import AnswerLimits, interruptible
from duolog.runtime.sql.duck.lambda_sizes import SIZE_VARIABLE
from duolog.runtime.sql.duck.lists import SERIES_VARIABLE
from duolog.runtime.sql.duck.types import reader
from duolog.runtime.sql.functions.call_limits import limit_of
from duolog.runtime.sql.functions.registry import ensure_functions

_TURNS: Final[WeakKeyDictionary[DuckDBPyConnection, Lock]] = WeakKeyDictionary()
"""For each database, the turn of an answer with a limit on its memory."""
_NO_LIMITS: Final = AnswerLimits()
_ANSWERED_AT_ONCE: Final = 2_000
SERIES_MAX: Final = 1 << 15
"""Most elements of GENERATE_SERIES over columns: 0.5 GiB in each thread, which has 2,048 rows."""


LISTS_BYTES_MAX: Final = 1 << 29
"""Most memory of the lists of a lambda in each thread, by the estimate of `lambda_sizes`."""
_ROWS_AT_ONCE: Final = 2_048
"""Rows for which DuckDB computes an expression at once."""
_MULTIPLIES: Final = re.compile(r"\b(?:JOIN|unnest)\b", re.IGNORECASE)


class Snapshot:
    """A cursor that reads the tables of a database as they are now.

    Args:
        connection: the database.
        tables: names of the tables; later changes of others may be visible.
    """

    def __init__(self, connection: DuckDBPyConnection, tables: Iterable[str] = ()) -> None:
        self.connection = connection
        self.cursor = connection.cursor()
        try:
            self.cursor.execute(f"SET VARIABLE {SERIES_VARIABLE} = {SERIES_MAX}")
            limit_of(self.cursor)
            self.tables = tuple(tables)
            self.cursor.begin()
            # The transaction starts with its first access.
            for name in self.tables:
                self.cursor.execute(f"SELECT 1 FROM {name} LIMIT 0")  # noqa: S608 - generated names
        except BaseException:
            self.cursor.close()
            raise

    def close(self) -> None:
        self.cursor.close()


def answered(
    database: DuckDBPyConnection | Snapshot,
    query: Query,
    end: Callable[[], None] = lambda: None,
    limits: AnswerLimits = _NO_LIMITS,
) -> Iterator[tuple[object, ...]]:
    """Run a query and return its rows, from a snapshot that later writes do not affect.

    Args:
        database: the database, or a snapshot of it, which is closed at the end.
        query: the query.
        end: called after the last row, or when reading stops.
        limits: time and memory limits.

    Raises:
        SqlError: a value cannot be computed, DuckDB refuses the query, or it exceeds a limit.
        KeyboardInterrupt: Ctrl-C was pressed before the first row.
    """
    snapshot = database if isinstance(database, Snapshot) else Snapshot(database)
    connection, cursor = snapshot.connection, snapshot.cursor
    try:
        ensure_functions(connection, query.sql)
        if SIZE_VARIABLE in query.sql:
            most = LISTS_BYTES_MAX // _rows_at_once(snapshot, query, limits)
            cursor.execute(f"SET VARIABLE {SIZE_VARIABLE} = {most}")
        with _within(connection, limits):
            interruptible(cursor, lambda: cursor.execute(query.sql), limits)
    except duckdb.Error as error:
        cursor.close()
        end()
        raise sql_error(error) from error
    except BaseException:
        cursor.close()
        end()
        raise
    return _Answered(connection, cursor, [column.type for column in query.columns], end, limits)


def _rows_at_once(snapshot: Snapshot, query: Query, limits: AnswerLimits) -> int:
    """Return an upper bound of the rows for which a lambda is computed at once.

    Only a query over one table is known to have no more rows than it, and a single SELECT no more
    than its WHERE leaves. A WHERE with such a lambda is computed for all rows.
    """
    if len(snapshot.tables) != 1 or _MULTIPLIES.search(query.sql) is not None:
        return _ROWS_AT_ONCE
    rows = f"FROM {snapshot.tables[0]}"
    if query.input and SIZE_VARIABLE not in query.input:
        rows = query.input
    counting = f"SELECT count(*) FROM (SELECT 1 {rows} LIMIT {_ROWS_AT_ONCE})"  # noqa: S608 - translated
    cursor = snapshot.cursor
    counted = interruptible(cursor, lambda: cursor.execute(counting).fetchone(), limits)
    assert counted is not None
    return max(1, int(counted[0]))


@contextmanager
def _within(connection: DuckDBPyConnection, limits: AnswerLimits) -> Iterator[None]:
    """Limit the additional memory that the database uses while it computes a result.

    DuckDB has one limit for all that a database holds: tables, results that were not read yet, and
    queries that run. Results with a limit are therefore computed one at a time.

    Raises:
        SqlError: its time was up before its turn came.
    """
    if not limits.memory_bytes_max:
        yield
        return
    turn = _TURNS.setdefault(connection, Lock())
    if not turn.acquire(timeout=limits.timeout_s):
        raise limits.out_of_time()
    try:
        # Another thread may use the connection itself.
        setter = connection.cursor()
        taken = setter.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchone()
        assert taken is not None
        most = int(taken[0]) + limits.memory_bytes_max
        setter.execute(f"SET GLOBAL memory_limit = '{most}B'")
        try:
            yield
        finally:
            setter.execute("RESET GLOBAL memory_limit")
            setter.close()
    finally:
        turn.release()


class _Answered(Iterator[tuple[object, ...]]):
    """Rows of a result; releases its resources after the last row, or when closed."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        cursor: DuckDBPyConnection,
        types: Sequence[Type],
        end: Callable[[], None],
        limits: AnswerLimits,
    ) -> None:
        self._connection = connection
        self._cursor = cursor
        self._limits = limits
        self._readers = [reader(of) for of in types]
        self._end = end
        self._rows: Iterator[tuple[object, ...]] = iter(())
        self._ended = False
        self._count = 0

    def __next__(self) -> tuple[object, ...]:
        row = next(self._rows, None)
        if row is None:
            if self._ended:
                raise StopIteration
            self._rows = iter(self._more())
            row = next(self._rows)
        self._count += 1
        if self._count > self._limits.rows_max > 0:
            self.close()
            raise self._limits.too_many_rows()
        if not any(self._readers):
            return row
        return tuple(
            value if read is None else read(value)
            for read, value in zip(self._readers, row, strict=True)
        )

    def close(self) -> None:
        """Release the resources. Does nothing if closed."""
        if not self._ended:
            self._ended = True
            self._rows = iter(())
            self._cursor.close()
            self._end()

    def __del__(self) -> None:
        self.close()

    def _more(self) -> Sequence[tuple[object, ...]]:
        try:
            with _within(self._connection, self._limits):
                rows: Sequence[tuple[object, ...]] = interruptible(
                    self._cursor, lambda: self._cursor.fetchmany(_ANSWERED_AT_ONCE), self._limits
                )
        except duckdb.Error as error:
            self.close()
            raise sql_error(error) from error
        except BaseException:
            self.close()
            raise
        if not rows:
            self.close()
        return rows
