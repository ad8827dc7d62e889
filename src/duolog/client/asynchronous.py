"""The client for asyncio: the same statements, with `await` and `async for`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from duolog.client.errors import InterfaceError, OperationalError
from duolog.client.parameters import bound
from duolog.client.requests import (
    SUBSTITUTION,
    Entities,
    Header,
    Request,
    Token,
    decoded,
    refused,
    request_of,
)
from duolog.client.rows import Row
from duolog.client.subscription import Resuming
from duolog.client.transport import (
    Address,
    lines_async,
    open_async_client,
    unreachable,
    without_timeout,
)

if TYPE_CHECKING:
    import httpx2

    from duolog.plan.types import Column


class AsyncConnection:
    """A client of one server, for one event loop; see `Connection`."""

    def __init__(
        self,
        address: Address,
        properties: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self.properties = dict(properties or {})
        self.variables = dict(variables or {})
        self._client: httpx2.AsyncClient | None = open_async_client(address)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<connection to {self.address.url}>"

    async def execute(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        *,
        properties: Mapping[str, object] | None = None,
    ) -> "AsyncCursor":
        """Run a statement, and return a cursor over its rows; see `Cursor.execute`."""
        given = {**self.properties, **(properties or {})}
        if parameters:
            statement = bound(statement, parameters)
            given[SUBSTITUTION] = "false"
        request = request_of(statement, given, self.variables)
        if "sql" in request.body:
            return AsyncCursor(stream=await AsyncStream.open(self, request))
        async with self.sent(request) as response:
            body = b"".join([piece async for piece in pieces_of(self, response)])
        return AsyncCursor(answer=Entities.of(body))

    async def subscribe(
        self,
        query: str,
        parameters: Sequence[object] = (),
        *,
        properties: Mapping[str, object] | None = None,
        token: str | None = None,
    ) -> AsyncGenerator[Row]:
        """Yield the rows of a query with EMIT CHANGES as they arrive; see `Subscription`."""
        given = {**self.properties, **(properties or {})}
        resuming = Resuming(query, parameters, given, variables=self.variables, token=token)
        while True:
            try:
                async with await AsyncStream.open(self, resuming.request()) as stream:
                    resuming.opened()
                    async for one in stream:
                        if (row := resuming.came(one)) is not None:
                            yield row
                        if resuming.is_complete:
                            return
            except OperationalError as error:
                await asyncio.sleep(resuming.pause_after(error))
            else:
                return

    async def server_info(self) -> dict[str, Any]:
        """Return version, cluster and service of the server."""
        async with self.sent(Request("/info", {}, "*/*"), "GET") as response:
            body = b"".join([piece async for piece in pieces_of(self, response)])
        info: dict[str, Any] = decoded(body)["KsqlServerInfo"]
        return info

    async def close(self) -> None:
        """Close the connection; running queries end."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def sent(
        self, request: Request, method: str = "POST", **options: Any
    ) -> AbstractAsyncContextManager["httpx2.Response"]:
        """Return a context manager that sends a request, and closes the response."""
        if self._client is None:
            raise InterfaceError("the connection is closed")
        body = None if method == "GET" else request.body
        return _Answer(
            self,
            self._client.stream(
                method, request.path, json=body, headers={"Accept": request.accept}, **options
            ),
        )


class _Answer(AbstractAsyncContextManager["httpx2.Response"]):
    """A response whose failures are errors of the client."""

    def __init__(
        self,
        connection: AsyncConnection,
        request: AbstractAsyncContextManager["httpx2.Response"],
    ) -> None:
        self._connection = connection
        self._request = request

    async def __aenter__(self) -> "httpx2.Response":
        import httpx2  # noqa: PLC0415 - loaded by the client

        try:
            response = await self._request.__aenter__()
            if response.status_code >= 300:
                body = await response.aread()
                await self._request.__aexit__(None, None, None)
                raise refused(response.status_code, body)
        except httpx2.RequestError as error:
            raise unreachable(self._connection.address, error) from error
        return response

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._request.__aexit__(kind, error, trace)


async def pieces_of(
    connection: AsyncConnection, response: "httpx2.Response"
) -> AsyncIterator[bytes]:
    """Yield a body as it arrives.

    Raises:
        OperationalError: the connection was lost.
    """
    import httpx2  # noqa: PLC0415 - loaded by the client

    try:
        async for piece in response.aiter_bytes():
            yield piece
    except (httpx2.RequestError, httpx2.StreamError) as error:
        raise unreachable(connection.address, error) from error


class AsyncStream(AsyncIterator[Row | Token]):
    """The header of a query, and then its rows and tokens; a context manager that ends it."""

    def __init__(
        self,
        answer: AbstractAsyncContextManager["httpx2.Response"],
        found: AsyncIterator[bytes],
        header: Header,
    ) -> None:
        self.header = header
        self._answer = answer
        self._lines = found
        self._open = True

    @classmethod
    async def open(cls, connection: AsyncConnection, request: Request) -> "AsyncStream":
        """Send a query, and return its rows as soon as its header is there."""
        options: dict[str, Any] = dict(without_timeout())
        answer = connection.sent(request, **options)
        response = await answer.__aenter__()
        try:
            found = lines_async(pieces_of(connection, response))
            return cls(answer, found, Header.of(await anext(found, None)))
        except BaseException:
            await answer.__aexit__(None, None, None)
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def __anext__(self) -> Row | Token:
        if not self._open:
            raise StopAsyncIteration
        try:
            return self.header.row(await anext(self._lines))
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the query. Does nothing if it has ended."""
        if self._open:
            self._open = False
            await self._answer.__aexit__(None, None, None)


class AsyncCursor(AsyncIterator[Row]):
    """The rows of one statement, or what the server says of it; see `Cursor`."""

    def __init__(
        self, *, stream: AsyncStream | None = None, answer: Entities | None = None
    ) -> None:
        self._stream = stream
        self._kept = iter(answer.rows if answer is not None else ())
        self.columns: tuple[Column, ...] = ()
        self.message = ""
        self.entities: list[dict[str, Any]] = []
        self.query_id = ""
        if stream is not None:
            self.columns, self.query_id = stream.header.columns, stream.header.query_id
        if answer is not None:
            self.columns, self.message = answer.columns, answer.message
            self.entities = answer.found

    async def __anext__(self) -> Row:
        if self._stream is None:
            for row in self._kept:
                return row
            raise StopAsyncIteration
        while isinstance(one := await anext(self._stream), Token):
            continue
        return one

    async def fetchone(self) -> Row | None:
        """Return the next row; None after the last one."""
        return await anext(self, None)

    async def fetchall(self) -> list[Row]:
        """Return all further rows; a query with EMIT CHANGES needs a LIMIT."""
        return [row async for row in self]

    async def close(self) -> None:
        """End the query, if it runs."""
        if self._stream is not None:
            await self._stream.close()


def connect_async(
    url: str,
    *,
    user: str = "",
    password: str = "",
    token: str = "",
    authorities: Path | str | None = None,
    timeout_s: float | None = None,
    properties: Mapping[str, object] | None = None,
    variables: Mapping[str, str] | None = None,
) -> AsyncConnection:
    """Return a connection for asyncio; arguments as of `connect`.

    Example:
        async with duolog.connect_async("http://127.0.0.1:8088") as connection:
            async for change in connection.subscribe("SELECT * FROM orders EMIT CHANGES"):
                ...
    """
    file = None if authorities is None else Path(authorities)
    return AsyncConnection(
        Address(url, user, password, token, file, timeout_s), properties, variables
    )
