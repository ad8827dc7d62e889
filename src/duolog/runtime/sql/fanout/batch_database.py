"""Evaluate queries over batches of records in DuckDB.

One database serves all readers; each has a temporary table of its own, which only its connection
sees. So one SQL text is valid for all of them.

A result is read in pieces, up to a limit: EXPLODE can make a million rows of each record. DuckDB
has the arrays of all rows that it takes at once in memory, so a query that makes arrays from
numbers gets a few rows at a time.
"""

import threading
from collections.abc import Sequence
from typing import Final

import duckdb
from duckdb import DuckDBPyConnection

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.runtime.sql.duck.clauses import Query
from duolog.runtime.sql.duck.failures import sql_error
from duolog.runtime.sql.duck.queries import source_columns
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable
from duolog.runtime.sql.duck.types import reader
from duolog.runtime.sql.fanout.errors import EvaluationTooSlow, TooManyRows
from duolog.runtime.sql.functions.call_limits import CallLimit, limit_of
from duolog.runtime.sql.functions.registry import ensure_functions
from duolog.serde.row import Row

RECORDS: Final = "passing"
"""Table with the rows of a batch."""
LEFT: Final = "leaving"
"""Table with the keys of rows that left a result, and nulls."""
_BATCH_S_MAX: Final = 10.0
ROWS_MAX: Final = 500_000
"""Rows of one batch; a client's buffer has room for a tenth of them."""
_ROWS_AT_ONCE: Final = 10_000
_SERIES: Final = "generate_series("
_WITH_SERIES_AT_ONCE: Final = 16
"""Rows whose series are in memory at once: each has at most `ELEMENTS_MAX` elements of 8 bytes."""


class BatchDatabase:
    """The database; any thread may call it."""

    def __init__(self) -> None:
        # Batches are small: threads of DuckDB would cost more than they save.
        self._connection = connect(threads=1)
        self._lock = threading.Lock()
        self._watch = _Watch()

    def tables(self, source: SourceInfo) -> "BatchTables":
        """Return tables for batches of a source's rows; close them."""
        with self._lock:
            return BatchTables(self, self._connection.cursor(), source, self._watch)

    def ensure_functions(self, sql: str) -> None:
        """Register the functions that a query calls."""
        ensure_functions(self._connection, sql)

    def close(self) -> None:
        self._watch.close()
        self._connection.close()


class BatchTables:
    """Tables with one batch of rows; used from one thread at a time."""

    def __init__(
        self,
        database: BatchDatabase,
        cursor: DuckDBPyConnection,
        source: SourceInfo,
        watch: "_Watch",
    ) -> None:
        self._database = database
        self._cursor = cursor
        self._limit = limit_of(cursor)
        self._watch = watch
        self._loaded: Sequence[Row] = ()
        """The rows of `RECORDS`."""
        columns = source_columns(source)
        self._tables = {
            name: DuckTable(cursor, name, columns, temporary=True) for name in (RECORDS, LEFT)
        }

    def load(self, rows: Sequence[Row], name: str = RECORDS) -> None:
        """Replace the rows of a table."""
        if name == RECORDS:
            self._loaded = rows
        self._fill(rows, name)

    def _fill(self, rows: Sequence[Row], name: str) -> None:
        self._tables[name].clear()
        if rows:
            self._tables[name].add(range(len(rows)), rows)

    def answer(self, query: Query) -> list[tuple[object, ...]]:
        """Return the result of a query over the tables.

        Raises:
            SqlError: a value cannot be computed.
            EvaluationTooSlow: it took too long.
            TooManyRows: the result has more than `ROWS_MAX` rows.
        """
        if _SERIES not in query.sql or len(self._loaded) <= _WITH_SERIES_AT_ONCE:
            return self._answer(query, ROWS_MAX)
        found: list[tuple[object, ...]] = []
        loaded = self._loaded
        try:
            for start in range(0, len(loaded), _WITH_SERIES_AT_ONCE):
                self._fill(loaded[start : start + _WITH_SERIES_AT_ONCE], RECORDS)
                found += self._answer(query, ROWS_MAX - len(found))
        finally:
            self._fill(loaded, RECORDS)
        return found

    def _answer(self, query: Query, most: int) -> list[tuple[object, ...]]:
        self._database.ensure_functions(query.sql)
        interrupted = False
        try:
            self._limit.begin()
            with self._watch.watching(self._cursor, self._limit) as watched:
                try:
                    rows = _fetched(self._cursor.execute(query.sql), most)
                finally:
                    interrupted = watched.interrupted
        except duckdb.Error as error:
            if interrupted:
                raise EvaluationTooSlow(
                    f"the query took longer than {_BATCH_S_MAX:.0f} s for one batch of records",
                    hint="Use a persistent query, and select from its result.",
                ) from error
            raise sql_error(error) from error
        readers = [reader(column.type) for column in query.columns]
        if not any(readers):
            return rows
        return [
            tuple(
                value if read is None else read(value)
                for read, value in zip(readers, row, strict=True)
            )
            for row in rows
        ]

    def close(self) -> None:
        self._cursor.close()


def _fetched(result: DuckDBPyConnection, most: int) -> list[tuple[object, ...]]:
    """Return all rows of a result.

    Raises:
        TooManyRows: there are more than `most`.
    """
    rows: list[tuple[object, ...]] = []
    while some := result.fetchmany(_ROWS_AT_ONCE):
        rows += some
        if len(rows) > most:
            raise TooManyRows(ROWS_MAX)
    return rows


class _Watched:
    """A running evaluation, as a context manager."""

    def __init__(self, watch: "_Watch", cursor: DuckDBPyConnection, limit: CallLimit) -> None:
        self._watch = watch
        self.cursor = cursor
        self.limit = limit
        self.interrupted = False

    def __enter__(self) -> "_Watched":
        self._watch.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.remove(self)


class _Watch:
    """Interrupts evaluations that take too long: one thread for all of them.

    The thread starts with the first evaluation. It wakes up once per time limit, so an evaluation
    is interrupted after one to two times the limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[_Watched, int] = {}
        self._round = 0
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def watching(self, cursor: DuckDBPyConnection, limit: CallLimit) -> _Watched:
        return _Watched(self, cursor, limit)

    def add(self, one: _Watched) -> None:
        with self._lock:
            self._running[one] = self._round
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="duolog-push-watch", daemon=True
                )
                self._thread.start()

    def remove(self, one: _Watched) -> None:
        with self._lock:
            del self._running[one]

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(_BATCH_S_MAX):
            self.interrupt_late()

    def interrupt_late(self) -> None:
        """Interrupt evaluations that have run for a whole round; start the next round."""
        with self._lock:
            for one, since in self._running.items():
                if since < self._round:
                    one.interrupted = True
                    one.limit.stop()
                    one.cursor.interrupt()
            self._round += 1
