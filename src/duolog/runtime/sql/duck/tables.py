"""Tables of DuckDB with the rows of sources.

t3(id, c0, c1, …)     the columns of `queries.source_columns`; rows are deleted by id
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from duolog.runtime.sql.duck.queries import SourceColumn
from duolog.runtime.sql.duck.types import duck_type, giver, taken
from duolog.serde.row import Row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ROWS_AT_ONCE: Final = 50_000
_CLEARED_MAX: Final = 10_000
"""Deleted rows of a table after which `clear` creates it again."""
_REMOVED_MAX: Final = 50_000
"""Deleted rows of a table from which on it is bloated, if they are more than the others."""


class DuckTable:
    """A table with the rows of a source; used from one thread at a time.

    DuckDB keeps the space of deleted rows in memory, and reads over it: a table of 20 rows that are
    replaced each second would grow forever. So a table is made again from time to time.

    If it is temporary, only its connection sees it.
    """

    def __init__(
        self,
        connection: "DuckDBPyConnection",
        name: str,
        columns: Sequence[SourceColumn],
        *,
        temporary: bool = False,
    ) -> None:
        self.name = name
        self._connection = connection
        types = [column.type for column in columns]
        self._givers = [giver(of) for of in types]
        listed = ", ".join(f"c{at} {duck_type(of)}" for at, of in enumerate(types))
        kind = "TEMPORARY TABLE" if temporary else "TABLE"
        self._creation = f"CREATE OR REPLACE {kind} {name} (id BIGINT, {listed})"
        self._rows = 0
        self._deleted = 0
        """Number of rows whose space is not free."""
        connection.execute(self._creation)
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
        self._rows += len(rows)

    def remove(self, ids: Sequence[int]) -> None:
        """Delete rows by id."""
        if ids:
            self._connection.execute(
                f"DELETE FROM {self.name} WHERE id IN (SELECT unnest(?::BIGINT[]))",  # noqa: S608
                [list(ids)],
            )
            self._rows -= len(ids)
            self._deleted += len(ids)

    def clear(self) -> None:
        """Delete all rows."""
        self._deleted += self._rows
        self._rows = 0
        if self._deleted > _CLEARED_MAX:
            self._connection.execute(self._creation)
            self._deleted = 0
        else:
            self._connection.execute(f"DELETE FROM {self.name}")  # noqa: S608

    @property
    def is_bloated(self) -> bool:
        """True if the table should be cleared and filled again, to free memory."""
        return self._deleted > max(_REMOVED_MAX, self._rows)

    def drop(self) -> None:
        self._connection.execute(f"DROP TABLE IF EXISTS {self.name}")
