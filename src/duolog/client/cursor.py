"""A cursor of DB-API 2.0: runs statements, and returns rows, messages and frames."""

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from duolog.client.errors import InterfaceError, ProgrammingError
from duolog.client.framed_values import Convert, framed, shown
from duolog.client.parameters import bound
from duolog.client.requests import SUBSTITUTION, Entities, Header, Token, request_of
from duolog.client.rows import Row
from duolog.dsl.handles.html import table_html
from duolog.ksql.syntax.types import sql_name
from duolog.plan.types import Column
from duolog.runtime.frames import Framed

if TYPE_CHECKING:
    from duolog.client.needs import Connected
    from duolog.client.stream import Stream

Description = tuple[str, str, None, None, None, None, None]
_SHOWN_MAX = 20


class Cursor(Framed):
    """Runs statements of one connection, one after the other.

    Attributes:
        description: a tuple per column of the rows, with name and type (`BIGINT`) first; None
            before a statement with rows.
        rowcount: the number of rows read or inserted so far; -1 if it is not known.
        arraysize: how many rows `fetchmany` returns by default.
        message: what the server says of a statement without rows.
        entities: the answer of a statement that is not a query, as the server sent it.
        query_id: the server's id of a query.
    """

    def __init__(self, connection: "Connected") -> None:
        self.connection = connection
        self.description: tuple[Description, ...] | None = None
        self.rowcount = -1
        self.arraysize = 1
        self.message = ""
        self.entities: list[dict[str, Any]] = []
        self.query_id = ""
        self._columns: tuple[Column, ...] = ()
        self._rows: Iterator[Row] | None = None
        self._stream: Stream | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def execute(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        *,
        properties: Mapping[str, object] | None = None,
    ) -> Self:
        """Run a statement, or several that are not queries; return this cursor.

        Args:
            statement: SQL; a `?` stands for a parameter. The last `;` is optional.
            parameters: values for the question marks.
            properties: properties for this statement, on top of those of the connection.

        Raises:
            ProgrammingError: the statement cannot be executed.
            OperationalError: the server cannot be reached, or refuses the login.
        """
        self._ensure_open()
        self._end()
        given = {**self.connection.properties, **(properties or {})}
        if parameters:
            statement = bound(statement, parameters)
            given[SUBSTITUTION] = "false"
        request = request_of(statement, given, self.connection.variables)
        if "sql" in request.body:
            self._stream = self.connection.stream(request)
            self._begin(self._stream.header)
            self._rows = self._counted(self._stream)
        else:
            self._take(Entities.of(self.connection.post(request)))
        return self

    def executemany(self, statement: str, parameters: Sequence[Sequence[object]]) -> Self:
        """Run a statement for each row of parameters; `Connection.insert` is faster."""
        self._ensure_open()
        self._end()
        count = 0
        for row in parameters:
            self.execute(statement, row)
            if self.description is not None:
                self._end()
                raise ProgrammingError(
                    "executemany is for statements without rows", statement=statement
                )
            count += 1
        self.rowcount = count
        return self

    def fetchone(self) -> Row | None:
        """Return the next row; None after the last one."""
        return next(self._reading(), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Return the next `size` rows, by default `arraysize`; fewer at the end."""
        rows = self._reading()
        return [
            row
            for _, row in zip(range(self.arraysize if size is None else size), rows, strict=False)
        ]

    def fetchall(self) -> list[Row]:
        """Return all further rows; a query with EMIT CHANGES needs a LIMIT."""
        return list(self._reading())

    def __iter__(self) -> Iterator[Row]:
        return self._reading()

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the rows, with types."""
        return self._columns

    def rows(self) -> list[tuple[Any, ...]]:
        """Return all further rows in the form of frames: see `framed_values`."""
        convert = shown if self._stream is None else framed
        converters = [(at, convert(column.type)) for at, column in enumerate(self._columns)]
        needed = [(at, one) for at, one in converters if one is not None]
        if not needed:
            return list(self._reading())
        return [_converted(row, needed) for row in self._reading()]

    def fetch_df(self) -> Any:
        """Return all further rows as a pandas DataFrame."""
        return self.to_pandas()

    def fetch_arrow(self) -> Any:
        """Return all further rows as a pyarrow Table."""
        return self.to_arrow()

    def fetch_polars(self) -> Any:
        """Return all further rows as a polars DataFrame."""
        return self.to_polars()

    def close(self) -> None:
        """End the query, if one runs, and this cursor."""
        self._end()
        self._closed = True

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Do nothing; DB-API requires the method."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing; DB-API requires the method."""

    def __repr__(self) -> str:
        if self._columns:
            return f"<rows of {', '.join(column.name for column in self._columns)}>"
        return self.message or "<cursor>"

    def _repr_html_(self) -> str:
        """Return the next rows as HTML, for a notebook; they are read by this."""
        names = [column.name for column in self._columns] or ["message"]
        if not self._columns:
            return table_html(names, [(self.message,)], "")
        rows = self.fetchmany(_SHOWN_MAX)
        return table_html(names, rows, f"the next {len(rows)} rows" if rows else "no rows")

    def _reading(self) -> Iterator[Row]:
        self._ensure_open()
        if self._rows is None:
            raise InterfaceError(
                "there are no rows to fetch", hint="Call execute with a statement that has rows."
            )
        return self._rows

    def _counted(self, stream: "Stream") -> Iterator[Row]:
        self.rowcount = 0
        for row in stream:
            if not isinstance(row, Token):
                self.rowcount += 1
                yield row

    def _begin(self, header: Header) -> None:
        self.query_id = header.query_id
        self._describe(header.columns)

    def _take(self, answer: Entities) -> None:
        self.entities, self.message = answer.found, answer.message
        if answer.columns:
            self._describe(answer.columns)
            self._rows = iter(answer.rows)
            self.rowcount = len(answer.rows)

    def _describe(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self.description = tuple(
            (column.name, sql_name(column.type), None, None, None, None, None) for column in columns
        )

    def _end(self) -> None:
        stream, self._stream = self._stream, None
        self._rows = None
        self._columns, self.description = (), None
        self.rowcount, self.message, self.query_id, self.entities = -1, "", "", []
        if stream is not None:
            stream.close()

    def _ensure_open(self) -> None:
        self.connection.ensure_open()
        if self._closed:
            raise InterfaceError("the cursor is closed")


def _converted(row: Row, converters: Sequence[tuple[int, Convert]]) -> tuple[Any, ...]:
    values = list(row)
    for at, convert in converters:
        values[at] = convert(values[at])
    return tuple(values)
