"""Answers of the server while they arrive: bytes, or the rows of a query."""

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from duolog.client.requests import Header, Token, refused
from duolog.client.rows import Row
from duolog.client.transport import Address, lines, unreachable

if TYPE_CHECKING:
    import httpx2


class Answer:
    """A response; a context manager that closes it and turns failures into errors."""

    def __init__(
        self,
        client: "httpx2.Client",
        address: Address,
        method: str,
        path: str,
        options: dict[str, Any],
    ) -> None:
        self._address = address
        self._request = client.stream(method, path, **options)
        self._response: httpx2.Response | None = None

    def __enter__(self) -> Self:
        import httpx2  # noqa: PLC0415 - loaded by the client

        try:
            self._response = self._request.__enter__()
            if self._response.status_code >= 300:
                body = self._response.read()
                self._request.__exit__(None, None, None)
                raise refused(self._response.status_code, body)
        except httpx2.RequestError as error:
            raise unreachable(self._address, error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._request.__exit__(kind, error, trace)

    def read(self) -> bytes:
        """Return the whole body."""
        return b"".join(self.iter_bytes())

    def iter_bytes(self) -> Iterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            OperationalError: the connection was lost.
        """
        import httpx2  # noqa: PLC0415 - loaded by the client

        assert self._response is not None
        try:
            yield from self._response.iter_bytes()
        except (httpx2.RequestError, httpx2.StreamError) as error:
            raise unreachable(self._address, error) from error


class Stream(Iterator[Row | Token]):
    """The header of a query, and then its rows and tokens until it ends."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._open = True
        answer.__enter__()
        self._lines = lines(answer.iter_bytes())
        try:
            self.header = Header.of(next(self._lines, None))
        except BaseException:
            self.close()
            raise

    def __next__(self) -> Row | Token:
        if not self._open:
            raise StopIteration
        try:
            return self.header.row(next(self._lines))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the query. Does nothing if it has ended."""
        if self._open:
            self._open = False
            self._answer.__exit__(None, None, None)
