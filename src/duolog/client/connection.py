"""A connection of DB-API 2.0 to one SQL server."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from duolog.client.cursor import Cursor
from duolog.client.errors import DataError, InterfaceError, NotSupportedError, OperationalError
from duolog.client.requests import (
    CLOSE,
    INSERTS,
    ROWS_PER_REQUEST,
    Request,
    decoded,
    insert_lines,
    target_line,
)
from duolog.client.stream import Answer, Stream
from duolog.client.subscription import Subscription
from duolog.client.transport import Address, lines, open_client, without_timeout

if TYPE_CHECKING:
    import httpx2


class Connection:
    """A client of one server, for one thread at a time.

    Args:
        address: the server.
        properties: properties of all statements, as with SET.
        variables: variables of all statements, as with DEFINE.
    """

    def __init__(
        self,
        address: Address,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self.properties = dict(properties or {})
        self.variables = dict(variables or {})
        self._client: httpx2.Client | None = open_client(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<connection to {self.address.url}>"

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        self.ensure_open()
        return Cursor(self)

    def execute(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        *,
        properties: Mapping[str, object] | None = None,
    ) -> Cursor:
        """Run a statement on a new cursor; see `Cursor.execute`."""
        return self.cursor().execute(statement, parameters, properties=properties)

    def executemany(self, statement: str, parameters: Sequence[Sequence[object]]) -> Cursor:
        """Run a statement for each row of parameters; see `Cursor.executemany`."""
        return self.cursor().executemany(statement, parameters)

    def subscribe(
        self,
        query: str,
        parameters: Sequence[object] = (),
        *,
        properties: Mapping[str, object] | None = None,
        token: str | None = None,
    ) -> Subscription:
        """Return the rows of a query with EMIT CHANGES as they arrive; see `Subscription`."""
        given = {**self.properties, **(properties or {})}
        return Subscription(self, query, parameters, given, token)

    def insert(self, target: str, rows: Iterable[Mapping[str, object]]) -> int:
        """Insert rows into a stream; return their number when all are durable.

        Args:
            target: the name; in backquotes to keep its case.
            rows: values by name of column. They are sent as they are produced.

        Raises:
            DataError: a row is refused, or a value cannot be sent; the rows before it are written.
            OperationalError: the server cannot be reached, or ended before it acknowledged all
                rows; some of them may be written.
        """
        lines_of_rows = insert_lines(rows)
        done = 0
        while True:
            sent = _Sent(lines_of_rows)
            acknowledged = self._insert(target, sent, done)
            done += acknowledged
            if acknowledged < sent.count:
                raise OperationalError(
                    "the server ended before it acknowledged all rows",
                    detail=f"It acknowledged {done} of {done - acknowledged + sent.count}.",
                    hint="The next ones may be written or not: check before you insert them again.",
                )
            if sent.count < ROWS_PER_REQUEST:
                return done

    def _insert(self, target: str, rows: Iterable[bytes], before: int) -> int:
        """Insert rows with one request; return the number of acknowledged ones."""
        count = 0
        content = chain([target_line(target)], rows)
        with self._sent(INSERTS, content=content) as response:
            for line in lines(response.iter_bytes()):
                answer = decoded(line)
                if answer.get("status") != "ok":
                    raise DataError(
                        str(answer.get("message") or "a row is refused"),
                        detail=f"Rows written before it: {before + count}.",
                        code=int(answer.get("error_code") or 0),
                    )
                count += 1
        return count

    def server_info(self) -> dict[str, Any]:
        """Return version, cluster and service of the server."""
        info: dict[str, Any] = decoded(self._get("/info"))["KsqlServerInfo"]
        return info

    def commit(self) -> None:
        """Do nothing: each statement takes effect when `execute` returns."""
        self.ensure_open()

    def rollback(self) -> None:
        """Raise NotSupportedError: streams have no transactions over statements."""
        raise NotSupportedError("statements cannot be rolled back")

    def close(self) -> None:
        """Close the connection; running queries end."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def ensure_open(self) -> "httpx2.Client":
        """Return the HTTP client.

        Raises:
            InterfaceError: the connection is closed.
        """
        if self._client is None:
            raise InterfaceError("the connection is closed")
        return self._client

    def post(self, request: Request) -> bytes:
        """Send a request and return the body of the answer.

        Raises:
            Error: the server refuses it, or cannot be reached.
        """
        headers = {"Accept": request.accept}
        with self._sent(request.path, json=request.body, headers=headers) as response:
            return response.read()

    def stream(self, request: Request) -> Stream:
        """Send a query, and return its rows as soon as its header is there; raises as `post`."""
        headers = {"Accept": request.accept}
        options: dict[str, Any] = dict(without_timeout())
        return Stream(self._sent(request.path, json=request.body, headers=headers, **options))

    def close_query(self, query_id: str) -> None:
        """End a query of any connection of this user.

        Raises:
            Error: there is no such query.
        """
        self.post(Request(CLOSE, {"queryId": query_id}, "*/*"))

    def _get(self, path: str) -> bytes:
        with self._sent(path, method="GET") as response:
            return response.read()

    def _sent(self, path: str, *, method: str = "POST", **options: Any) -> Answer:
        return Answer(self.ensure_open(), self.address, method, path, options)


class _Sent(Iterator[bytes]):
    """The lines of the rows of one request; counts them."""

    def __init__(self, rows: Iterator[bytes]) -> None:
        self._rows = islice(rows, ROWS_PER_REQUEST)
        self.count = 0

    def __next__(self) -> bytes:
        line = next(self._rows)
        self.count += 1
        return line


def connect(
    url: str,
    *,
    user: str = "",
    password: str = "",
    token: str = "",
    authorities: Path | str | None = None,
    timeout_s: float | None = None,
    properties: Mapping[str, object] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Connection:
    """Return a connection to a SQL server; nothing is sent before the first statement.

    Args:
        url: `http://HOST:PORT` or `https://HOST:PORT`, with the base path if there is one.
        user: the name of a user.
        password: the user's password.
        token: a bearer token instead.
        authorities: a PEM file of authorities to trust, for https; default: those of the system.
        timeout_s: for the answer to a statement that is not a query; by default it may take any
            time.
        properties: properties of all statements, such as `{"auto.offset.reset": "earliest"}`.
        variables: values of `${name}` in statements.

    Raises:
        InterfaceError: an argument cannot be used.

    Example:
        with duolog.connect("http://127.0.0.1:8088") as connection:
            connection.execute("SELECT * FROM totals").fetch_df()
    """
    file = None if authorities is None else Path(authorities)
    return Connection(Address(url, user, password, token, file, timeout_s), properties, variables)
