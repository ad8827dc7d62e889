"""The bytes of a push query whose rows wake the event loop, so that no thread waits for them.

    header ─▶ rows of a batch, in pieces ─▶ token, at most each second ─▶ … ─▶ end

Tokens are sent if the client sets `ksql.query.push.v2.continuation.tokens.enabled`. Such a client
gets an error when the server stops, which shows that its query has not ended.

Thread: that of the event loop. Rows are encoded there, in pieces between which other clients have
their turn.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final, Self

from duolog.core.errors import DuologError
from duolog.runtime.sql.fanout.errors import ReadersClosed
from duolog.runtime.sql.reply.async_rows import AsyncRows
from duolog.runtime.sql.reply.row_source import PushedRows
from duolog.server.failures import failure_of
from duolog.server.queries.row_forms import RowForm
from duolog.server.queries.started import StartedQuery

TOKENS_ENABLED: Final = "ksql.query.push.v2.continuation.tokens.enabled"
_ROWS_AT_ONCE: Final = 200


class LiveRows:
    """The response of one push query.

    Args:
        query: the query, whose rows can be waited for without a thread.
        rows: the rows of the query.
        form: writes the rows.
        tokens: True if the client wants continuation tokens.
    """

    def __init__(
        self, query: StartedQuery, rows: PushedRows, form: RowForm, *, tokens: bool
    ) -> None:
        self._query = query
        self._rows = rows
        self._form = form
        self._tokens = tokens

    @classmethod
    def of(cls, query: StartedQuery, form: RowForm, *, tokens: bool) -> Self | None:
        """Create it; None if the rows of the query do not wake the event loop."""
        rows = query.rows.rows
        if not isinstance(rows, PushedRows) or not rows.waits_without_thread:
            return None
        return cls(query, rows, form, tokens=tokens)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the response; stop the query at its end, or if the client leaves."""
        yield self._form.begin()
        async with AsyncRows(self._rows, tokens=self._tokens) as batches:
            try:
                async for batch in batches:
                    for start in range(0, len(batch.rows), _ROWS_AT_ONCE):
                        some = batch.rows[start : start + _ROWS_AT_ONCE]
                        self._query.sent += len(some)
                        yield b"".join(map(self._form.row, some))
                        await asyncio.sleep(0)
                    if batch.token is not None:
                        yield self._form.token(batch.token)
            except DuologError as error:
                if self._tokens and (token := batches.token) is not None:
                    yield self._form.token(token)
                yield self._form.failed(failure_of(error))
                return
        if self._tokens and self._query.is_interrupted:
            yield self._form.failed(failure_of(ReadersClosed()))
            return
        yield self._form.end(self._query.final_message)
