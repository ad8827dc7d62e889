"""Tables of DuckDB with the rows of sources, and the execution of queries.

t3(id, c0, c1, …)     the columns of `queries.source_columns`; rows are deleted by id
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from duolog.core.engine_packages import ensure_engine_installed
from duolog.plan.types import Type
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.failures import sql_error
from duolog.runtime.sql.duck.interrupting import AnswerLimits, interruptible
from duolog.runtime.sql.duck.queries import SourceColumn
from duolog.runtime.sql.duck.types import duck_type, giver, reader, taken
from duolog.runtime.sql.functions.registry import ensure_functions
from duolog.serde.row import Row

ensure_engine_installed(("duckdb",))  # duolog-broker is installed without it.
import duckdb  # noqa: E402 - as above
from duckdb import DuckDBPyConnection  # noqa: E402 - as above

_TURNS: Final[WeakKeyDictionary[DuckDBPyConnection, Lock]] = WeakKeyDictionary()
"""For each database, the turn of an answer with a limit on its memory."""
_NO_LIMITS: Final = AnswerLimits()
_ROWS_AT_ONCE: Final = 50_000
_ANSWERED_AT_ONCE: Final = 2_000


def connect() -> DuckDBPyConnection:
    """Open an in-memory database without access to files and networks."""
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    # Division by zero gives null, as in SQL; DOUBLEs have Java's infinity.
    connection.execute("SET GLOBAL error_on_division_by_zero = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


class DuckTable:
    """A table with the rows of a source; used from one thread at a time."""

    def __init__(
        self, connection: DuckDBPyConnection, name: str, columns: Sequence[SourceColumn]
    ) -> None:
        self.name = name
        self._connection = connection
        types = [column.type for column in columns]
        self._givers = [giver(of) for of in types]
        listed = ", ".join(f"c{at} {duck_type(of)}" for at, of in enumerate(types))
        connection.execute(f"CREATE TABLE {name} (id BIGINT, {listed})")
        given = ", ".join(
            f"unnest(?::{duck_type(of, given=True)}[]) AS p{at}" for at, of in enumerate(types)
        )
        made = ", ".join(taken(f"p{at}", of) for at, of in enumerate(types))
        self._insert = (
            f"INSERT INTO {name} SELECT id, {made} FROM (SELECT "  # noqa: S608 - generated names
            f"unnest(?::BIGINT[]) AS id, {given})"
        )

    def add(self, ids: Sequence[int], rows: Sequence[Row]) -> None:
        """Insert rows with their ids."""
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            columns = [list(values) for values in zip(*some, strict=True)]
            given = [
                values if give is None else [give(value) for value in values]
                for give, values in zip(self._givers, columns, strict=True)
            ]
            self._connection.execute(
                self._insert, [list(ids[start : start + _ROWS_AT_ONCE]), *given]
            )

    def remove(self, ids: Sequence[int]) -> None:
        """Delete rows by id."""
        if ids:
            self._connection.execute(
                f"DELETE FROM {self.name} WHERE id IN (SELECT unnest(?::BIGINT[]))",  # noqa: S608
                [list(ids)],
            )

    def clear(self) -> None:
        """Delete all rows."""
        self._connection.execute(f"DELETE FROM {self.name}")  # noqa: S608

    def drop(self) -> None:
        self._connection.execute(f"DROP TABLE IF EXISTS {self.name}")


def answered(
    connection: DuckDBPyConnection,
    query: Query,
    end: Callable[[], None] = lambda: None,
    limits: AnswerLimits = _NO_LIMITS,
) -> Iterator[tuple[object, ...]]:
    """Run a query and return its rows, from a snapshot that later writes do not affect.

    Args:
        connection: the database.
        query: the query.
        end: called after the last row, or when reading stops.
        limits: time and memory limits.

    Raises:
        SqlError: a value cannot be computed, DuckDB refuses the query, or it exceeds a limit.
        KeyboardInterrupt: Ctrl-C was pressed before the first row.
    """
    cursor = connection.cursor()
    try:
        ensure_functions(connection, query.sql)
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
        taken = connection.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchone()
        assert taken is not None
        most = int(taken[0]) + limits.memory_bytes_max
        connection.execute(f"SET GLOBAL memory_limit = '{most}B'")
        try:
            yield
        finally:
            connection.execute("RESET GLOBAL memory_limit")
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

    def __next__(self) -> tuple[object, ...]:
        row = next(self._rows, None)
        if row is None:
            if self._ended:
                raise StopIteration
            self._rows = iter(self._more())
            row = next(self._rows)
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
