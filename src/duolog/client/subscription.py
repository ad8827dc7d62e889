"""Rows of a query with EMIT CHANGES, which continues after a lost connection.

    rows ─▶ lost ─▶ wait ─▶ a new request with the last token ─▶ rows after it

The server sends a token before the first row, and then about each second. After a lost connection,
rows that came after the last token come again: each row comes at least once. Without a token, for
instance from a query with a join, a lost connection is an error if rows could be missing. When the
server stops, it ends the query with an error, from which the subscription continues, too.
"""

import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from duolog.client.errors import OperationalError
from duolog.client.parameters import bound
from duolog.client.requests import (
    OFFSET_RESET,
    SUBSTITUTION,
    TOKEN,
    TOKENS,
    Request,
    Token,
    request_of,
)
from duolog.client.rows import Row

if TYPE_CHECKING:
    from duolog.client.needs import Connected
    from duolog.client.stream import Stream
    from duolog.plan.types import Column

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 10.0
GIVE_UP_S: Final = 300.0
_LIMIT: Final = re.compile(r"\bLIMIT\s+(\d+)[\s;]*\Z", re.IGNORECASE)


class Resuming:
    """The position of a subscription, and its attempts to continue; without I/O.

    Args:
        give_up_s: the error is raised after this time without a connection.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        query: str,
        parameters: Sequence[object],
        properties: Mapping[str, object],
        *,
        variables: Mapping[str, str],
        token: str | None = None,
        give_up_s: float = GIVE_UP_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.token = token
        """The last token; give it to `subscribe` to continue later."""
        self._given = {**properties, TOKENS: "true"}
        if parameters:
            query = bound(query, parameters)
            self._given[SUBSTITUTION] = "false"
        self._query = query
        found = _LIMIT.search(query)
        self._limit = int(found[1]) if found else sys.maxsize
        self._count = self._count_at_token = 0
        self._variables = variables
        self._from_first_record = properties.get(OFFSET_RESET) == "earliest"
        self._would_miss_rows = False
        """True if rows would be missing, or would come twice, after a start without a token."""
        self._opened_at: float | None = None
        self._give_up_s = give_up_s
        self._clock = clock
        self._lost_at: float | None = None
        self._attempts = 0

    def request(self) -> Request:
        """Return the request that starts, or continues."""
        given = self._given if self.token is None else {**self._given, TOKEN: self.token}
        return request_of(self._query, given, self._variables)

    def opened(self) -> None:
        """Note that the server has accepted a request."""
        self._opened_at = self._clock()
        self._would_miss_rows |= not self._from_first_record

    def came(self, row: Row | Token) -> Row | None:
        """Note what has come; return it if it is a row."""
        if isinstance(row, Token):
            self.token, self._count_at_token = row.text, self._count
            return None
        self._attempts = 0
        self._count += 1
        self._would_miss_rows = True
        return row

    @property
    def is_complete(self) -> bool:
        """True after as many rows as the LIMIT of the query.

        The server counts the rows of one connection only. Rows that come twice count once.
        """
        return self._count >= self._limit

    def pause_after(self, error: OperationalError) -> float:
        """Return how long to wait before the next request, in seconds.

        Raises:
            OperationalError: the subscription cannot continue.
        """
        if error.code // 100 in {401, 403}:
            raise error
        if self._would_miss_rows and self.token is None:
            error.hint = "This query cannot be continued; subscribe again for what comes from now."
            raise error
        self._count = self._count_at_token
        now, opened_at, self._opened_at = self._clock(), self._opened_at, None
        if opened_at is not None:
            self._lost_at = None
            if now - opened_at > LONGEST_PAUSE_S:
                self._attempts = 0
        self._lost_at = now if self._lost_at is None else self._lost_at
        if now - self._lost_at > self._give_up_s:
            raise error
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self._attempts, 30))
        self._attempts += 1
        # Many clients of a server that starts again should not come all at once.
        return pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


class Subscription(Iterator[Row]):
    """Iterates over rows until the query ends, or until `close`; a context manager.

    Args:
        connection: the server.
        query: a SELECT with EMIT CHANGES.
        token: the `token` of an earlier subscription of the same query, to continue after it.
    """

    def __init__(
        self,
        connection: "Connected",
        query: str,
        parameters: Sequence[object],
        properties: Mapping[str, object],
        token: str | None = None,
    ) -> None:
        self._connection = connection
        self._resuming = Resuming(
            query, parameters, properties, variables=connection.variables, token=token
        )
        self._stream: Stream | None = None
        self._closed = False
        self.columns: tuple[Column, ...] = ()
        """Columns of the rows; empty before the first row was asked for."""

    @property
    def token(self) -> str | None:
        """The text with which a new subscription continues; None if there is none yet."""
        return self._resuming.token

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __next__(self) -> Row:
        if self._resuming.is_complete:
            self.close()
        while not self._closed:
            try:
                if self._stream is None:
                    self._stream = self._connection.stream(self._resuming.request())
                    self._resuming.opened()
                    self.columns = self._stream.header.columns
                row = self._resuming.came(next(self._stream))
            except StopIteration:
                self.close()
            except OperationalError as error:
                self._drop()
                time.sleep(self._resuming.pause_after(error))
            else:
                if row is not None:
                    return row
        raise StopIteration

    def close(self) -> None:
        """End the query."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
